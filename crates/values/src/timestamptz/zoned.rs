//! `AT TIME ZONE` of instants: the local time there.

use super::{ZoneName, unix_seconds, zone_by_name};
use crate::error::Result;
use crate::interval::Interval;
use crate::kernel::Context;
use crate::timestamp::{is_finite, shifted};

/// The local time of an instant in a zone by name, abbreviation or POSIX rule.
///
/// # Errors
/// 22023 for an unknown zone, 22008 outside the range of timestamps.
pub fn at_zone(name: &str, timestamp: i64) -> Result<i64> {
    if !is_finite(timestamp) {
        return Ok(timestamp);
    }
    let seconds = unix_seconds(timestamp);
    let offset = match zone_by_name(name)? {
        ZoneName::Fixed(offset) => offset,
        ZoneName::Abbreviated(zone) => match zone.abbreviation_at(name, seconds) {
            Some((offset, _)) => offset,
            None => zone.offset_at(seconds),
        },
        ZoneName::Zone(zone) => zone.offset_at(seconds),
    };
    shifted(timestamp, offset)
}

/// The local time of an instant at an offset that an interval gives.
///
/// # Errors
/// 22023 where the interval has months or days, 22008 outside the range of timestamps.
pub fn at_offset(context: &Context, offset: &Interval, timestamp: i64) -> Result<i64> {
    if !is_finite(timestamp) {
        return Ok(timestamp);
    }
    shifted(timestamp, super::offset_of_interval(context, offset)?)
}
