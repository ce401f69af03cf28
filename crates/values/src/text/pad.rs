//! Filling up and repeating.

use super::{MAX_BYTES, length, part, too_long};
use crate::error::Result;

/// The text cut to `count` characters, and what fills it up.
fn filled<'a>(text: &'a str, count: i32, fill: &str) -> Result<(&'a str, String)> {
    let count = usize::try_from(count).unwrap_or(0);
    let kept = length(text).min(count);
    let missing = if fill.is_empty() { 0 } else { count - kept };
    // As PostgreSQL reckons: every character might take four bytes.
    if 4 * (kept + missing) > MAX_BYTES {
        return Err(too_long());
    }
    let filling = fill.chars().cycle().take(missing).collect();
    Ok((part::left(text, kept as i32), filling))
}

/// Cut or filled up at the start to `count` characters.
///
/// # Errors
/// 54000 for what is too long.
pub(super) fn start(text: &str, count: i32, fill: &str) -> Result<String> {
    let (text, filling) = filled(text, count, fill)?;
    Ok(filling + text)
}

/// Cut or filled up at the end to `count` characters.
///
/// # Errors
/// 54000 for what is too long.
pub(super) fn end(text: &str, count: i32, fill: &str) -> Result<String> {
    let (text, filling) = filled(text, count, fill)?;
    Ok(text.to_owned() + &filling)
}

/// So many times.
///
/// # Errors
/// 54000 for what is too long.
pub(super) fn repeated(text: &str, count: i32) -> Result<String> {
    let count = usize::try_from(count).unwrap_or(0);
    match text.len().checked_mul(count) {
        Some(bytes) if bytes <= MAX_BYTES => Ok(text.repeat(count)),
        _ => Err(too_long()),
    }
}
