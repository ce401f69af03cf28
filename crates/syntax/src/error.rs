//! Why a text has no tree.

use std::fmt;

use crate::notice::Notice;

/// What PostgreSQL would send for the text: fields of its error message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Five ASCII characters.
    pub(crate) sqlstate: [u8; 5],
    /// The primary message.
    pub message: String,
    /// DETAIL, if there is one.
    pub detail: Option<String>,
    /// HINT, if there is one.
    pub hint: Option<String>,
    /// Where in the text, in characters from 1, as the protocol's field `P` wants it.
    pub position: Option<usize>,
    /// What PostgreSQL sends before the error.
    pub notices: Vec<Notice>,
}

impl SyntaxError {
    /// An error without DETAIL, HINT and position.
    pub(crate) fn new(sqlstate: &[u8; 5], message: impl Into<String>) -> SyntaxError {
        SyntaxError {
            sqlstate: *sqlstate,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            notices: Vec::new(),
        }
    }

    /// The SQLSTATE, as `42601`.
    pub fn sqlstate(&self) -> &str {
        std::str::from_utf8(&self.sqlstate).expect("an SQLSTATE is ASCII")
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.sqlstate(), self.message)?;
        self.position.map_or(Ok(()), |position| write!(f, " (at character {position})"))
    }
}

impl std::error::Error for SyntaxError {}
