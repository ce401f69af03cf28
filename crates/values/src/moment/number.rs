//! Numbers at the beginning of a text.

use super::Fault;

/// A sign and digits at the beginning of a text, and what follows; 0 without digits.
pub(crate) fn leading_i64(text: &str) -> Result<(i64, &str), Fault> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    if length == 0 {
        return Ok((0, text));
    }
    let (number, rest) = text.split_at(text.len() - digits.len() + length);
    number.parse().map(|number| (number, rest)).map_err(|_| Fault::Field)
}

/// As [`leading_i64`], within 32 bits.
pub(crate) fn leading_i32(text: &str) -> Result<(i32, &str), Fault> {
    let (number, rest) = leading_i64(text)?;
    i32::try_from(number).map(|number| (number, rest)).map_err(|_| Fault::Field)
}

/// What a point and digits mean, at most 1; a point alone is 0.
pub(crate) fn fraction(text: &str) -> Result<f64, Fault> {
    assert!(text.starts_with('.'), "a fraction begins with its point");
    if text.len() == 1 {
        return Ok(0.0);
    }
    if !text[1..].bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::Format);
    }
    text.parse().map_err(|_| Fault::Format)
}

/// [`fraction`] of a second in microseconds, rounded.
pub(crate) fn fraction_micros(text: &str) -> Result<i32, Fault> {
    Ok((fraction(text)? * 1_000_000.0).round_ties_even() as i32)
}

/// Digits as C's `atoi` takes them, which wraps; 0 for none.
pub(super) fn wrapping(digits: &str) -> i32 {
    if digits.is_empty() {
        return 0;
    }
    digits.parse::<i64>().unwrap_or(i64::MAX) as i32
}
