//! `date_bin`.

use super::{is_finite, out_of_range};
use crate::calendar::DAY;
use crate::error::{Result, ValueError};
use crate::interval::{self, Interval};
use crate::moment::is_timestamp;

/// The beginning of the bin in which a timestamp is, of bins of a width from an origin.
///
/// # Errors
/// 0A000 for a width in months; 22008 for one that is not positive, for an infinite origin, and outside the range of timestamps.
pub fn bin(width: &Interval, timestamp: i64, origin: i64) -> Result<i64> {
    if !is_finite(timestamp) {
        return Ok(timestamp);
    }
    if !is_finite(origin) {
        return Err(ValueError::new("22008", "origin out of range"));
    }
    if width.months != 0 {
        let message = "timestamps cannot be binned into intervals containing months or years";
        return Err(ValueError::new("0A000", message));
    }
    let days = i64::from(width.days).checked_mul(DAY);
    let width = days.and_then(|days| days.checked_add(width.micros));
    let width = width.ok_or_else(interval::out_of_range)?;
    if width <= 0 {
        return Err(ValueError::new("22008", "stride must be greater than zero"));
    }
    let since = timestamp.checked_sub(origin).ok_or_else(interval::out_of_range)?;
    let start = timestamp.checked_sub(since.rem_euclid(width));
    start.filter(|start| is_timestamp(*start)).ok_or_else(out_of_range)
}
