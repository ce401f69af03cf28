//! Instants and intervals: months and days are counted in a zone, where days need not have 24 hours.

use super::{local, of_parts};
use crate::calendar::{DAY, EPOCH_DAY, SECOND, civil};
use crate::error::Result;
use crate::interval::Interval;
use crate::moment::{FIRST_TIMESTAMP, Moment, is_timestamp};
use crate::timestamp::{self, is_finite, out_of_range};
use crate::zone::Zone;

/// An instant some months, then days, then microseconds later.
///
/// # Errors
/// 22008 outside the range of timestamps.
pub fn plus_interval(timestamp: i64, span: &Interval, zone: &Zone) -> Result<i64> {
    if !is_finite(timestamp) {
        return Ok(timestamp);
    }
    let mut moved = timestamp;
    if span.months != 0 {
        let (mut parts, _) = local(moved, zone);
        timestamp::add_months(&mut parts, span.months)?;
        moved = of_parts(&parts, zone)?;
    }
    if span.days != 0 {
        let (parts, _) = local(moved, zone);
        let (year, month, day) = civil(parts.julian_day() + i64::from(span.days));
        moved = of_parts(&Moment { year, month, day, ..parts }, zone)?;
    }
    let moved = moved.checked_add(span.micros).filter(|moved| is_timestamp(*moved));
    moved.ok_or_else(out_of_range)
}

/// An instant some interval earlier.
///
/// # Errors
/// 22008 outside the range of timestamps.
pub fn minus_interval(timestamp: i64, span: &Interval, zone: &Zone) -> Result<i64> {
    plus_interval(timestamp, &span.wrapping_negative(), zone)
}

/// From `from` to `to` in years, months, days and time, as they are in a zone.
///
/// # Errors
/// 22008 before the first timestamp.
pub fn age(to: i64, from: i64, zone: &Zone) -> Result<Interval> {
    if to < FIRST_TIMESTAMP || from < FIRST_TIMESTAMP {
        return Err(out_of_range());
    }
    let parts = |timestamp| unbounded_local(timestamp, zone);
    timestamp::symbolic_difference(to, &parts(to), from, &parts(from))
}

/// The local parts of an instant after the last timestamp, too, as infinity is.
fn unbounded_local(timestamp: i64, zone: &Zone) -> Moment {
    let offset = i64::from(zone.offset_at(super::unix_seconds(timestamp))) * SECOND;
    let of_day = timestamp.rem_euclid(DAY) + offset;
    let day = timestamp.div_euclid(DAY) + of_day.div_euclid(DAY) + i64::from(EPOCH_DAY);
    let (year, month, day) = civil(day);
    Moment { year, month, day, ..Moment::of_time(of_day.rem_euclid(DAY)) }
}
