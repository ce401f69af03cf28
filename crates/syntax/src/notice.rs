//! What the parser says of a text without refusing it.

use crate::SyntaxError;

/// PostgreSQL's severity of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// NOTICE: an identifier was cut to 63 bytes (42622).
    Notice,
    /// WARNING: the text uses something deprecated.
    Warning,
}

/// A message that is sent beside an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// NOTICE or WARNING.
    pub severity: Severity,
    /// Its fields, which are those of an error.
    pub error: SyntaxError,
}
