//! Characters and their numbers.

use crate::error::{Result, ValueError};

/// The number of the first character; 0 of an empty text.
pub(super) fn first_code(text: &str) -> i32 {
    text.chars().next().map_or(0, |first| first as i32)
}

/// The character of a number.
///
/// # Errors
/// 22023 for negative numbers; 54000 for 0 and numbers that no character has.
pub(super) fn of_code(code: i32) -> Result<String> {
    if code < 0 {
        return Err(ValueError::new("22023", "character number must be positive"));
    }
    if code == 0 {
        return Err(ValueError::new("54000", "null character not permitted"));
    }
    let invalid = |why: &str| {
        let message = format!("requested character {why} for encoding: {}", code as u32);
        ValueError::new("54000", message)
    };
    match u32::try_from(code) {
        Ok(code @ ..=0x10_FFFF) => {
            char::from_u32(code).map(String::from).ok_or_else(|| invalid("not valid"))
        }
        _ => Err(invalid("too large")),
    }
}

/// `to_ascii`, which knows no letters of UTF-8.
///
/// # Errors
/// 0A000 always.
pub(super) fn no_ascii() -> Result<String> {
    Err(ValueError::new("0A000", "encoding conversion from UTF8 to ASCII not supported"))
}

/// With what `\XXXX`, `\+XXXXXX`, `\uXXXX` and `\UXXXXXXXX` stand for.
///
/// # Errors
/// 42601 for other escapes; 22023 for numbers that no character has.
pub(super) fn unescaped(text: &str) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(behind) = rest.strip_prefix("\\\\") {
            out.push('\\');
            rest = behind;
            continue;
        }
        let (unit, length) = unit(rest)?;
        rest = &rest[length..];
        let code = if (0xD800..0xDC00).contains(&unit) {
            let (low, length) = unit_behind(rest)?;
            rest = &rest[length..];
            0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
        } else {
            unit
        };
        out.push(char::from_u32(code).ok_or_else(|| invalid_pair(unit))?);
    }
    out.push_str(rest);
    Ok(out)
}

fn invalid_pair(unit: u32) -> ValueError {
    if (0xD800..0xE000).contains(&unit) {
        return ValueError::new("42601", "invalid Unicode surrogate pair");
    }
    ValueError::new("22023", format!("invalid Unicode code point: {unit:04X}"))
}

/// The second half of a pair of surrogates.
fn unit_behind(text: &str) -> Result<(u32, usize)> {
    if !text.starts_with('\\') {
        return Err(invalid_pair(0xD800));
    }
    let (low, length) = unit(text)?;
    if (0xDC00..0xE000).contains(&low) { Ok((low, length)) } else { Err(invalid_pair(0xD800)) }
}

/// The number behind a backslash, and how many bytes are read with it.
fn unit(text: &str) -> Result<(u32, usize)> {
    let forms = [("\\u", 4), ("\\U", 8), ("\\+", 6), ("\\", 4)];
    let read = forms.iter().find_map(|(start, count)| {
        let digits = text.strip_prefix(start)?.get(..*count)?;
        let are_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u32::from_str_radix(digits, 16).ok().filter(|_| are_hex)?;
        Some((number, start.len() + count))
    });
    read.ok_or_else(|| ValueError {
        hint: Some(r"Unicode escapes must be \XXXX, \+XXXXXX, \uXXXX, or \UXXXXXXXX.".into()),
        ..ValueError::new("42601", "invalid Unicode escape")
    })
}
