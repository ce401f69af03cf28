//! Quoting for use in statements.

use crate::facts;

/// As an identifier: in double quotes unless it reads back without them.
pub(super) fn identifier(text: &str) -> String {
    let is_plain = |(i, byte): (usize, u8)| {
        matches!(byte, b'a'..=b'z' | b'_') || (i > 0 && byte.is_ascii_digit())
    };
    let is_safe = !text.is_empty()
        && text.bytes().enumerate().all(is_plain)
        && !facts::is_reserved_in_some_place(text);
    if is_safe { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

/// As a literal: in single quotes, with `E` in front where there are backslashes.
pub(super) fn literal(text: &str) -> String {
    let start = if text.contains('\\') { "E'" } else { "'" };
    let doubled = text.replace('\\', "\\\\").replace('\'', "''");
    format!("{start}{doubled}'")
}
