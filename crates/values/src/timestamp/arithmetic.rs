//! Timestamps and intervals.

use super::{is_finite, out_of_range};
use crate::calendar::{DAY, days_in_month};
use crate::error::{Result, ValueError};
use crate::interval::{self, Interval};
use crate::moment::{Moment, is_timestamp};

/// Moves parts by months; the day stays, or is the last of the month.
pub(crate) fn add_months(parts: &mut Moment, months: i32) -> Result<()> {
    let months = i64::from(parts.year) * 12 + i64::from(parts.month) - 1 + i64::from(months);
    parts.year = i32::try_from(months.div_euclid(12)).map_err(|_| out_of_range())?;
    parts.month = months.rem_euclid(12) as i32 + 1;
    parts.day = parts.day.min(days_in_month(parts.year, parts.month));
    Ok(())
}

/// A timestamp some months, then days, then microseconds later.
///
/// # Errors
/// 22008 outside the range of timestamps.
pub fn plus_interval(timestamp: i64, span: &Interval) -> Result<i64> {
    if !is_finite(timestamp) {
        return Ok(timestamp);
    }
    let mut moved = timestamp;
    if span.months != 0 {
        let mut parts = Moment::of_timestamp(moved);
        add_months(&mut parts, span.months)?;
        moved = parts.timestamp(0).ok_or_else(out_of_range)?;
    }
    let days = i64::from(span.days).checked_mul(DAY);
    moved = days
        .and_then(|days| moved.checked_add(days))
        .filter(|moved| span.days == 0 || is_timestamp(*moved))
        .ok_or_else(out_of_range)?;
    let moved = moved.checked_add(span.micros).filter(|moved| is_timestamp(*moved));
    moved.ok_or_else(out_of_range)
}

/// A timestamp some interval earlier.
///
/// # Errors
/// 22008 outside the range of timestamps.
pub fn minus_interval(timestamp: i64, span: &Interval) -> Result<i64> {
    plus_interval(timestamp, &span.wrapping_negative())
}

/// The interval from `from` to `to` in days and hours.
///
/// # Errors
/// 22008 where one is infinite.
pub fn between(to: i64, from: i64) -> Result<Interval> {
    if !is_finite(to) || !is_finite(from) {
        return Err(ValueError::new("22008", "cannot subtract infinite timestamps"));
    }
    // PostgreSQL's difference wraps beyond 64 bits.
    let micros = to.wrapping_sub(from);
    interval::justify_hours(&Interval { months: 0, days: 0, micros })
}

/// The error of a frame that would begin after it ends.
pub(crate) fn negative_frame() -> ValueError {
    ValueError::new("22013", "invalid preceding or following size in window function")
}
