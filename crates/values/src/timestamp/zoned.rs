//! `AT TIME ZONE` of timestamps without a zone: the instant at which it is that time there.

use super::{is_finite, out_of_range};
use crate::calendar::SECOND;
use crate::error::Result;
use crate::interval::Interval;
use crate::kernel::Context;
use crate::moment::is_timestamp;
use crate::timestamptz::{self, ZoneName};

/// The instant of a local time in a zone by name, abbreviation or POSIX rule.
///
/// # Errors
/// 22023 for an unknown zone, 22008 outside the range of timestamps.
pub fn at_zone(name: &str, timestamp: i64) -> Result<i64> {
    if !is_finite(timestamp) {
        return Ok(timestamp);
    }
    match timestamptz::zone_by_name(name)? {
        ZoneName::Fixed(offset) => shifted(timestamp, -offset),
        ZoneName::Abbreviated(zone) => {
            let seconds = timestamptz::unix_seconds(timestamp);
            shifted(timestamp, -zone.abbreviation_at_local(name, seconds).0)
        }
        ZoneName::Zone(zone) => timestamptz::of_local(timestamp, &zone),
    }
}

/// The instant of a local time at an offset that an interval gives.
///
/// # Errors
/// 22023 where the interval has months or days, 22008 outside the range of timestamps.
pub fn at_offset(context: &Context, offset: &Interval, timestamp: i64) -> Result<i64> {
    if !is_finite(timestamp) {
        return Ok(timestamp);
    }
    shifted(timestamp, timestamptz::offset_of_interval(context, offset)?.wrapping_neg())
}

/// A timestamp moved by seconds.
pub(crate) fn shifted(timestamp: i64, seconds: i32) -> Result<i64> {
    let moved = timestamp.checked_add(i64::from(seconds) * SECOND);
    moved.filter(|moved| is_timestamp(*moved)).ok_or_else(out_of_range)
}
