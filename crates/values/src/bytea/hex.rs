//! Bytes as hexadecimal digits.

use crate::error::{Result, ValueError};

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Appends `\x` and two digits a byte: the text form.
pub fn write(bytes: &[u8], out: &mut String) {
    out.push_str("\\x");
    out.push_str(&encode(bytes));
}

/// Two digits a byte.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Reads pairs of digits, with white space between them.
///
/// # Errors
/// 22023 for other characters, and for half a pair.
pub(super) fn decode(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut letters = text.chars();
    while let Some(first) = letters.next() {
        if matches!(first, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let high = digit(first)?;
        let second = letters.next().ok_or_else(|| {
            ValueError::new("22023", "invalid hexadecimal data: odd number of digits")
        })?;
        bytes.push(high << 4 | digit(second)?);
    }
    Ok(bytes)
}

fn digit(letter: char) -> Result<u8> {
    let invalid = || ValueError::new("22023", format!("invalid hexadecimal digit: \"{letter}\""));
    letter.to_digit(16).map(|digit| digit as u8).ok_or_else(invalid)
}
