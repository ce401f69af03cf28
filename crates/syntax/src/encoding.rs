//! Bytes of a client become a text that the C parser may see.

use std::ffi::CString;

use crate::SyntaxError;

/// Refuses what is not UTF-8, with PostgreSQL's words (22021).
pub fn utf8(bytes: &[u8]) -> Result<&str, SyntaxError> {
    std::str::from_utf8(bytes).map_err(|fault| invalid(&bytes[fault.valid_up_to()..]))
}

/// A copy that ends with NUL; a NUL within the text is refused (22021).
pub fn terminated(text: &str) -> Result<CString, SyntaxError> {
    CString::new(text).map_err(|_| invalid(b"\0"))
}

/// PostgreSQL names the bytes that the first one announces, as far as they are there.
fn invalid(rest: &[u8]) -> SyntaxError {
    let announced = match rest[0] {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        _ => 1,
    };
    let named: Vec<String> =
        rest.iter().take(announced).map(|byte| format!("0x{byte:02x}")).collect();
    let message = format!("invalid byte sequence for encoding \"UTF8\": {}", named.join(" "));
    SyntaxError::new(b"22021", message)
}
