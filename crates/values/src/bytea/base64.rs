//! Base64 of MIME, in lines of 76 characters.

use crate::error::{Result, ValueError};

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const LINE: usize = 76;

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + 4);
    let mut in_line = 0;
    for chunk in bytes.chunks(3) {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4 {
            let index = (bits >> (18 - 6 * i)) & 63;
            out.push(if i <= chunk.len() { char::from(LETTERS[index as usize]) } else { '=' });
        }
        in_line += 4;
        if in_line >= LINE && chunk.len() == 3 {
            out.push('\n');
            in_line = 0;
        }
    }
    out
}

fn invalid(message: String) -> ValueError {
    ValueError::new("22023", message)
}

/// Reads it, with white space anywhere.
///
/// # Errors
/// 22023 for other characters, and for an incomplete end.
pub(super) fn decode(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    // Sextets of the group that is read, how many, and how many of them are padding.
    let (mut bits, mut count, mut padding) = (0_u32, 0, 0);
    for letter in text.chars() {
        let sextet = match letter {
            ' ' | '\t' | '\n' | '\r' => continue,
            '=' if padding == 0 && count != 2 && count != 3 => {
                return Err(invalid("unexpected \"=\" while decoding base64 sequence".into()));
            }
            '=' => {
                padding = if padding == 0 && count == 2 { 2 } else { padding.max(1) };
                0
            }
            _ => sextet(letter)?,
        };
        bits = bits << 6 | sextet;
        count += 1;
        if count == 4 {
            bytes.push((bits >> 16) as u8);
            if padding < 2 {
                bytes.push((bits >> 8) as u8);
            }
            if padding < 1 {
                bytes.push(bits as u8);
            }
            (bits, count) = (0, 0);
        }
    }
    if count != 0 {
        let hint = "Input data is missing padding, is truncated, or is otherwise corrupted.";
        return Err(ValueError {
            hint: Some(hint.into()),
            ..invalid("invalid base64 end sequence".into())
        });
    }
    Ok(bytes)
}

fn sextet(letter: char) -> Result<u32> {
    let index = u8::try_from(letter)
        .ok()
        .and_then(|letter| LETTERS.iter().position(|candidate| *candidate == letter));
    index.map(|index| index as u32).ok_or_else(|| {
        invalid(format!("invalid symbol \"{letter}\" found while decoding base64 sequence"))
    })
}
