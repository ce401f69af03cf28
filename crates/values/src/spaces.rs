//! What PostgreSQL takes for a space around a value's text.

/// Whether C's `isspace` says so in locale C.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// A text without the spaces around it.
pub(crate) fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8))
}

/// A text without the spaces before it.
pub(crate) fn start_trimmed(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8))
}
