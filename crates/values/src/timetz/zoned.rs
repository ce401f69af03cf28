//! Times with zones in other zones, as of now.

use super::{TimeTz, moved};
use crate::error::Result;
use crate::interval::Interval;
use crate::kernel::Context;
use crate::moment::Moment;
use crate::timestamptz::{self, ZoneName};

/// A time with the session's zone, as of today.
pub fn of_time(context: &Context, time: i64) -> TimeTz {
    let (today, _) = context.now_here();
    let Moment { year, month, day, .. } = today;
    let parts = Moment { year, month, day, ..Moment::of_time(time) };
    let offset = parts.local_seconds().map_or(0, |at| context.zone.offset_at_local(at));
    TimeTz { time, west: -offset }
}

/// The local time of day of an instant; NULL for infinity.
pub fn of_timestamptz(context: &Context, timestamp: i64) -> Option<TimeTz> {
    let (local, offset) = timestamptz::local_or_infinite(timestamp, &context.zone);
    crate::timestamp::time_of_day(local).map(|time| TimeTz { time, west: -offset })
}

/// The same instant of the day in a zone by name, with the offset that holds there now.
///
/// # Errors
/// 22023 for an unknown zone.
pub fn at_zone(context: &Context, name: &str, time: TimeTz) -> Result<TimeTz> {
    let now = timestamptz::unix_seconds(context.transaction_began());
    let offset = match timestamptz::zone_by_name(name)? {
        ZoneName::Fixed(offset) => offset,
        ZoneName::Abbreviated(zone) => {
            zone.abbreviation_at(name, now).map_or_else(|| zone.offset_at(now), |found| found.0)
        }
        ZoneName::Zone(zone) => zone.offset_at(now),
    };
    Ok(moved(time, -offset))
}

/// The same instant of the day at an offset that an interval gives.
///
/// # Errors
/// 22023 where the interval has months or days.
pub fn at_offset(context: &Context, offset: &Interval, time: TimeTz) -> Result<TimeTz> {
    Ok(moved(time, timestamptz::offset_of_interval(context, offset)?.wrapping_neg()))
}
