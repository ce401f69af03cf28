//! Why a value could not be read, converted or computed: what the client is told.

use std::borrow::Cow;
use std::fmt;

/// A failure that is the user's, as PostgreSQL reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    /// Five characters, for example `22003`.
    pub sqlstate: &'static str,
    /// What went wrong, in PostgreSQL's words.
    pub message: Cow<'static, str>,
    /// More about it.
    pub detail: Option<Cow<'static, str>>,
    /// What may help.
    pub hint: Option<Cow<'static, str>>,
}

impl ValueError {
    /// A failure without detail and hint.
    pub fn new(sqlstate: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { sqlstate, message: message.into(), detail: None, hint: None }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ValueError {}

/// What computes a value, or fails as PostgreSQL does.
pub type Result<T> = std::result::Result<T, ValueError>;

/// The failure of a binary form that is not as long as its type.
pub(crate) fn wrong_length() -> ValueError {
    ValueError::new("22P03", "incorrect binary data format")
}
