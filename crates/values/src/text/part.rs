//! Parts of a text by position and length, of bytes as of characters.

use crate::error::{Result, ValueError};

/// Elements from `start`, counted from 0, up to `end`; to the last one without `end`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub start: usize,
    pub end: Option<usize>,
}

fn negative_length() -> ValueError {
    ValueError::new("22011", "negative substring length not allowed")
}

/// What SQL's `substring(.. from start for length)` means; without `length` all from there.
///
/// # Errors
/// 22011 for a negative length.
pub(crate) fn span(start: i32, length: Option<i32>) -> Result<Span> {
    let first = i64::from(start).max(1) - 1;
    let end = match length {
        Some(..0) => return Err(negative_length()),
        Some(length) => start.checked_add(length).map(|end| (i64::from(end) - 1).max(0) as usize),
        None => None,
    };
    Ok(Span { start: first as usize, end })
}

/// The part of a text.
pub(super) fn of_text(text: &str, span: Span) -> &str {
    let at = |position: usize| {
        text.char_indices().nth(position).map_or(text.len(), |(offset, _)| offset)
    };
    let start = at(span.start);
    let end = span.end.map_or(text.len(), at);
    text.get(start..end).unwrap_or_default()
}

/// The spans before and behind what `overlay(.. placing .. from start for length)` replaces.
///
/// # Errors
/// 22011 for a start before the first element; 22003 where the end is no integer.
pub(crate) fn around(start: i32, length: i32) -> Result<(Span, Span)> {
    if start <= 0 {
        return Err(negative_length());
    }
    let behind = start.checked_add(length);
    let behind = behind.ok_or_else(|| ValueError::new("22003", "integer out of range"))?;
    Ok((span(1, Some(start - 1))?, span(behind, None)?))
}

/// `text` with `replacement` in place of `length` characters from `start`.
///
/// # Errors
/// As [`around`].
pub(super) fn overlaid(text: &str, replacement: &str, start: i32, length: i32) -> Result<String> {
    let (before, behind) = around(start, length)?;
    Ok([of_text(text, before), replacement, of_text(text, behind)].concat())
}

/// The first `count` characters, or all but the last ones for a negative count.
pub(super) fn left(text: &str, count: i32) -> &str {
    let end = from_left(text, count);
    of_text(text, Span { start: 0, end: Some(end) })
}

/// The last `count` characters, or all but the first ones for a negative count.
pub(super) fn right(text: &str, count: i32) -> &str {
    let start = match usize::try_from(count) {
        Ok(count) => super::length(text).saturating_sub(count),
        // The least integer has no counterpart, and PostgreSQL leaves out nothing.
        Err(_) => count.checked_neg().unwrap_or(0) as usize,
    };
    of_text(text, Span { start, end: None })
}

/// How many characters a count from the left takes, negative ones counted from the end.
fn from_left(text: &str, count: i32) -> usize {
    match usize::try_from(count) {
        Ok(count) => count,
        Err(_) => super::length(text).saturating_sub(count.unsigned_abs() as usize),
    }
}

/// Where `part` begins in `text`, counted in characters from 1; 0 where it does not occur.
pub(super) fn position(text: &str, part: &str) -> i32 {
    text.find(part).map_or(0, |offset| super::length(&text[..offset]) as i32 + 1)
}
