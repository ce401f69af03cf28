//! Why a statement has no meaning: what the client is told.

use std::fmt;

use values::error::ValueError;

/// A fault of the statement, as PostgreSQL reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnalysisError {
    /// Five characters, for example `42703`.
    pub sqlstate: &'static str,
    /// What is wrong, in PostgreSQL's words.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What may help.
    pub hint: Option<String>,
    /// Where in the text: in characters from 1, as the protocol's field `P` wants it. While analysis runs, in bytes from 0.
    pub position: Option<usize>,
}

/// What analysis returns. Errors are rare and large, results neither.
pub type Result<T> = std::result::Result<T, Box<AnalysisError>>;

/// A place in the text in bytes; negative where there is none.
pub type Location = i32;

/// No place.
pub const NOWHERE: Location = -1;

/// The place that a node of the raw tree tells.
pub(crate) fn location(place: Option<usize>) -> Location {
    place.map_or(NOWHERE, |place| i32::try_from(place).unwrap_or(NOWHERE))
}

/// The first of two places in the text.
pub(crate) fn leftmost(a: Location, b: Location) -> Location {
    match (a < 0, b < 0) {
        (true, _) => b,
        (_, true) => a,
        _ => a.min(b),
    }
}

/// A fault at a place.
pub(crate) fn fault(
    sqlstate: &'static str,
    at: Location,
    message: impl Into<String>,
) -> Box<AnalysisError> {
    let position = usize::try_from(at).ok();
    Box::new(AnalysisError {
        sqlstate,
        message: message.into(),
        detail: None,
        hint: None,
        position,
    })
}

impl AnalysisError {
    pub(crate) fn hint(mut self: Box<Self>, hint: impl Into<String>) -> Box<Self> {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn detail(mut self: Box<Self>, detail: impl Into<String>) -> Box<Self> {
        self.detail = Some(detail.into());
        self
    }

    /// With the position in characters from 1.
    pub(crate) fn in_characters(mut self: Box<Self>, text: &str) -> Box<Self> {
        let characters = |bytes: usize| text.get(..bytes).map(|before| before.chars().count() + 1);
        self.position = self.position.and_then(characters);
        self
    }
}

/// The fault of a literal that its type's input function refuses.
pub(crate) fn of_value(error: ValueError, at: Location) -> Box<AnalysisError> {
    let ValueError { sqlstate, message, detail, hint } = error;
    let mut fault = fault(sqlstate, at, message);
    fault.detail = detail.map(Into::into);
    fault.hint = hint.map(Into::into);
    fault
}

impl fmt::Display for AnalysisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.sqlstate, self.message)?;
        self.position.map_or(Ok(()), |position| write!(f, " (at character {position})"))
    }
}

impl std::error::Error for AnalysisError {}
