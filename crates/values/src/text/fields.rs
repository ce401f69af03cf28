//! Replacing, and fields between separators.

use crate::error::{Result, ValueError};

/// With `to` in place of every `from`.
pub(super) fn replaced(text: &str, from: &str, to: &str) -> String {
    if from.is_empty() { text.to_owned() } else { text.replace(from, to) }
}

/// Each character of `from` replaced by that of `to` in its place, or left out where there is none.
pub(super) fn translated(text: &str, from: &str, to: &str) -> String {
    let letter = |c: char| match from.chars().position(|from| from == c) {
        Some(place) => to.chars().nth(place),
        None => Some(c),
    };
    text.chars().filter_map(letter).collect()
}

/// The field in a place counted from 1, or from the end by negative numbers; empty beyond the last one.
///
/// # Errors
/// 22023 for place 0.
pub(super) fn field<'a>(text: &'a str, separator: &str, place: i32) -> Result<&'a str> {
    if place == 0 {
        return Err(ValueError::new("22023", "field position must not be zero"));
    }
    if separator.is_empty() {
        return Ok(if place == 1 || place == -1 { text } else { "" });
    }
    let from_start = match usize::try_from(place) {
        Ok(place) => Some(place - 1),
        Err(_) => text.split(separator).count().checked_sub(place.unsigned_abs() as usize),
    };
    let field = from_start.and_then(|place| text.split(separator).nth(place));
    Ok(field.unwrap_or_default())
}
