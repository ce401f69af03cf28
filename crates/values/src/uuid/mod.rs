//! `uuid`: sixteen bytes, ordered as they stand.

mod kernels;

pub(crate) use kernels::KERNELS;

use crate::error::{Result, ValueError};

/// A value.
pub type Uuid = [u8; 16];

/// Reads 32 hexadecimal digits, in braces or not; a hyphen may follow each group of four.
///
/// # Errors
/// 22P02 for anything else.
pub fn parse(text: &str) -> Result<Uuid> {
    read(text.as_bytes()).ok_or_else(|| {
        ValueError::new("22P02", format!("invalid input syntax for type uuid: \"{text}\""))
    })
}

fn read(text: &[u8]) -> Option<Uuid> {
    let mut rest = match text {
        [b'{', inner @ .., b'}'] => inner,
        other => other,
    };
    let mut uuid = [0; 16];
    for (i, byte) in uuid.iter_mut().enumerate() {
        let digit = |at: usize| char::from(*rest.get(at)?).to_digit(16);
        *byte = (digit(0)? * 16 + digit(1)?) as u8;
        rest = &rest[2..];
        if let [b'-', behind @ ..] = rest
            && i % 2 == 1
            && i < 15
        {
            rest = behind;
        }
    }
    rest.is_empty().then_some(uuid)
}

/// Appends the text form: digits in groups of 8, 4, 4, 4 and 12.
pub fn write(uuid: &Uuid, out: &mut String) {
    for (i, byte) in uuid.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        for digit in [byte >> 4, byte & 15] {
            out.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
    }
}
