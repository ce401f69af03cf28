//! The text form of whole numbers.

use super::Int;
use crate::error::{Result, ValueError};
use crate::spaces::trimmed;

/// Reads decimal digits with a sign, and spaces around.
///
/// # Errors
/// 22P02 for anything else; 22003 out of range.
pub fn parse<T: Int>(text: &str) -> Result<T> {
    let number = trimmed(text);
    let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let message = format!("invalid input syntax for type {}: \"{text}\"", T::NAME);
        return Err(ValueError::new("22P02", message));
    }
    let value = number.parse::<i64>().ok().and_then(|value| T::try_from(value).ok());
    value.ok_or_else(|| {
        let message = format!("value \"{text}\" is out of range for type {}", T::NAME);
        ValueError::new("22003", message)
    })
}
