//! `bytea` as text: hex (`\x6869`) and the older escape format (`hi\000`).

use engine::types::{Error, Result, SqlState};

pub(super) fn parse_bytea(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(digits) => parse_hex(digits),
        None => parse_escape(text.as_bytes()),
    }
}

fn parse_hex(digits: &str) -> Result<Vec<u8>> {
    let digits: Vec<u8> = digits.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    // A wrong digit is told before a missing one.
    let values = digits.into_iter().map(hex_digit).collect::<Result<Vec<u8>>>()?;
    if !values.len().is_multiple_of(2) {
        return Err(refuse_hex("invalid hexadecimal data: odd number of digits"));
    }
    Ok(values.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn hex_digit(byte: u8) -> Result<u8> {
    let digit = (byte as char).to_digit(16);
    digit
        .map(|digit| digit as u8)
        .ok_or_else(|| refuse_hex(format!("invalid hexadecimal digit: \"{}\"", byte as char)))
}

fn parse_escape(text: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (b'\\', [b'\\', after @ ..]) => {
                bytes.push(b'\\');
                rest = after;
            }
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            (b'\\', _) => return Err(refuse("invalid input syntax for type bytea")),
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    Ok(bytes)
}

fn refuse_hex(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}

fn refuse(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidTextRepresentation, message)
}

pub(super) fn write_bytea(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"\\x");
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_come_in() {
        assert_eq!(parse_bytea("\\x6869"), Ok(b"hi".to_vec()));
        assert_eq!(parse_bytea("h\\151\\\\"), Ok(b"hi\\".to_vec()));
        assert!(parse_bytea("\\x1").is_err());
        assert!(parse_bytea("\\9").is_err());
    }
}
