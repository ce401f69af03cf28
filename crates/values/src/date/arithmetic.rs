//! Dates and days, dates and intervals.

use super::{is_date, is_finite, out_of_range, to_timestamp};
use crate::error::{Result, ValueError};
use crate::interval::Interval;
use crate::timestamp;

/// A date some days later.
///
/// # Errors
/// 22008 outside the range of dates.
pub fn add_days(date: i32, days: i32) -> Result<i32> {
    moved(date, i64::from(days))
}

/// A date some days earlier.
///
/// # Errors
/// 22008 outside the range of dates.
pub fn subtract_days(date: i32, days: i32) -> Result<i32> {
    moved(date, -i64::from(days))
}

fn moved(date: i32, days: i64) -> Result<i32> {
    if !is_finite(date) {
        return Ok(date);
    }
    let moved = i64::from(date) + days;
    if is_date(moved) { Ok(moved as i32) } else { Err(out_of_range()) }
}

/// Days from `from` to `to`.
///
/// # Errors
/// 22008 where one is infinite.
pub fn days_between(to: i32, from: i32) -> Result<i32> {
    if !is_finite(to) || !is_finite(from) {
        return Err(ValueError::new("22008", "cannot subtract infinite dates"));
    }
    // The range of dates is less than 32 bits wide.
    Ok(to - from)
}

/// A date and an interval: a timestamp.
///
/// # Errors
/// 22008 outside the range of timestamps.
pub fn plus_interval(date: i32, span: &Interval) -> Result<i64> {
    timestamp::plus_interval(to_timestamp(date)?, span)
}

/// A date less an interval: a timestamp.
///
/// # Errors
/// 22008 outside the range of timestamps.
pub fn minus_interval(date: i32, span: &Interval) -> Result<i64> {
    timestamp::minus_interval(to_timestamp(date)?, span)
}
