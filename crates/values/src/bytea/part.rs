//! Parts of bytes by position, and bytes cut off the ends.

use crate::error::Result;
use crate::text::{Span, around};

/// The part of a string of bytes.
pub(super) fn of_bytes(bytes: &[u8], span: Span) -> &[u8] {
    let end = span.end.map_or(bytes.len(), |end| end.min(bytes.len()));
    bytes.get(span.start..end).unwrap_or_default()
}

/// `bytes` with `replacement` in place of `length` ones from `start`.
///
/// # Errors
/// 22011 for a start before the first byte; 22003 where the end is no integer.
pub(super) fn overlaid(
    bytes: &[u8],
    replacement: &[u8],
    start: i32,
    length: i32,
) -> Result<Vec<u8>> {
    let (before, behind) = around(start, length)?;
    Ok([of_bytes(bytes, before), replacement, of_bytes(bytes, behind)].concat())
}

/// Where `part` begins, counted from 1; 0 where it does not occur.
pub(super) fn position(bytes: &[u8], part: &[u8]) -> i32 {
    if part.is_empty() {
        return 1;
    }
    let offset = bytes.windows(part.len()).position(|window| window == part);
    offset.map_or(0, |offset| offset as i32 + 1)
}

/// Without the bytes of `set` at the start.
pub(super) fn without_start<'a>(bytes: &'a [u8], set: &[u8]) -> &'a [u8] {
    let kept = bytes.iter().position(|byte| !set.contains(byte)).unwrap_or(bytes.len());
    &bytes[kept..]
}

/// Without the bytes of `set` at the end.
pub(super) fn without_end<'a>(bytes: &'a [u8], set: &[u8]) -> &'a [u8] {
    let kept = bytes.iter().rposition(|byte| !set.contains(byte)).map_or(0, |last| last + 1);
    &bytes[..kept]
}
