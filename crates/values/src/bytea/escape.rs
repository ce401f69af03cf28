//! Bytes as text with escapes in octal digits.

use crate::error::{Result, ValueError};

fn invalid() -> ValueError {
    ValueError::new("22P02", "invalid input syntax for type bytea")
}

/// Zero bytes, and those beyond ASCII, as `\ooo`; a backslash twice.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            0 | 0x80.. => out.push_str(&format!("\\{byte:03o}")),
            b'\\' => out.push_str("\\\\"),
            _ => out.push(char::from(*byte)),
        }
    }
    out
}

/// Reads `\\` and `\ooo` among bytes that stand for themselves.
///
/// # Errors
/// 22P02 for a backslash in front of anything else.
pub(super) fn parse(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = match (first, behind) {
            (b'\\', [b'\\', rest @ ..]) => {
                bytes.push(b'\\');
                rest
            }
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', rest @ ..]) => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest
            }
            (b'\\', _) => return Err(invalid()),
            (byte, rest) => {
                bytes.push(*byte);
                rest
            }
        };
    }
    Ok(bytes)
}
