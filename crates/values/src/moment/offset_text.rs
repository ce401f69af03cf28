//! Zone displacements in text: `+05`, `-08:00`, `+0530`, `+05:53:28`.

use super::Fault;
use super::number::leading_i32;

/// Hours of a displacement are at most this.
const MOST_HOURS: i32 = 15;

/// Seconds east.
pub(crate) fn read_offset(text: &str) -> Result<i32, Fault> {
    let is_west = match text.bytes().next() {
        Some(b'+') => false,
        Some(b'-') => true,
        _ => return Err(Fault::Format),
    };
    let number = |text| leading_i32(text).map_err(|_| Fault::Displacement);
    let (mut hours, mut rest) = number(&text[1..])?;
    let (mut minutes, mut seconds) = (0, 0);
    if let Some(after) = rest.strip_prefix(':') {
        (minutes, rest) = number(after)?;
        if let Some(after) = rest.strip_prefix(':') {
            (seconds, rest) = number(after)?;
        }
    } else if rest.is_empty() && text.len() > 3 {
        (hours, minutes) = (hours / 100, hours % 100);
    }
    let is_inside = |number: i32, most: i32| (0..=most).contains(&number);
    if !is_inside(hours, MOST_HOURS) || !is_inside(minutes, 59) || !is_inside(seconds, 59) {
        return Err(Fault::Displacement);
    }
    if !rest.is_empty() {
        return Err(Fault::Format);
    }
    let offset = (hours * 60 + minutes) * 60 + seconds;
    Ok(if is_west { -offset } else { offset })
}

/// Appends seconds east, with no more parts than it has.
pub(crate) fn write_offset(out: &mut String, offset: i32) {
    use std::fmt::Write;
    let rest = offset.abs();
    let (hours, minutes, seconds) = (rest / 3600, rest / 60 % 60, rest % 60);
    let sign = if offset < 0 { '-' } else { '+' };
    let _ = match (minutes, seconds) {
        (0, 0) => write!(out, "{sign}{hours:02}"),
        (_, 0) => write!(out, "{sign}{hours:02}:{minutes:02}"),
        _ => write!(out, "{sign}{hours:02}:{minutes:02}:{seconds:02}"),
    };
}
