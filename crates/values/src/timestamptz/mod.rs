//! `timestamp with time zone`: an instant, in microseconds since 2000-01-01 00:00 UTC.

mod arithmetic;
mod kernels;
mod made;
mod part;
mod zone_name;
mod zoned;

pub use arithmetic::{age, minus_interval, plus_interval};
pub use made::{make, make_at_zone, of_unix_seconds};
pub use part::{date_part, extract, truncate, truncate_in_zone};
pub use zone_name::{ZoneName, zone_by_name};
pub use zoned::{at_offset, at_zone};

pub(crate) use kernels::KERNELS;
pub(crate) use zone_name::offset_of_interval;

use crate::calendar::SECOND;
use crate::error::Result;
use crate::kernel::Context;
use crate::moment::{self, Moment, Read, ZoneText, is_timestamp};
use crate::timestamp::{
    self, UNIX_EPOCH, infinity_text, is_finite, of_special, out_of_range, out_of_range_text,
};
use crate::zone::Zone;

/// Whole seconds since 1970 of microseconds since 2000.
pub(crate) fn unix_seconds(micros: i64) -> i64 {
    micros.div_euclid(SECOND) - UNIX_EPOCH / SECOND
}

/// The local parts of a finite instant, and the offset in seconds east.
pub fn local(timestamp: i64, zone: &Zone) -> (Moment, i32) {
    let offset = zone.offset_at(unix_seconds(timestamp));
    (Moment::of_timestamp(timestamp + i64::from(offset) * SECOND), offset)
}

/// The local time of an instant, in microseconds since 2000 began locally, and the offset; infinities stay.
pub(crate) fn local_or_infinite(timestamp: i64, zone: &Zone) -> (i64, i32) {
    if !is_finite(timestamp) {
        return (timestamp, 0);
    }
    let offset = zone.offset_at(unix_seconds(timestamp));
    (timestamp + i64::from(offset) * SECOND, offset)
}

/// The local time of an instant in a zone; infinities stay.
///
/// # Errors
/// 22008 outside the range of timestamps.
pub fn to_local(timestamp: i64, zone: &Zone) -> Result<i64> {
    let (local, _) = local_or_infinite(timestamp, zone);
    if !is_finite(local) || is_timestamp(local) { Ok(local) } else { Err(out_of_range()) }
}

/// The instant of a local time in a zone.
///
/// # Errors
/// 22008 outside the range of timestamps.
pub fn of_local(local: i64, zone: &Zone) -> Result<i64> {
    if !is_finite(local) {
        return Ok(local);
    }
    let offset = zone.offset_at_local(unix_seconds(local));
    let timestamp = local.checked_sub(i64::from(offset) * SECOND);
    timestamp.filter(|timestamp| is_timestamp(*timestamp)).ok_or_else(out_of_range)
}

/// The instant of local parts in a zone.
///
/// # Errors
/// 22008 outside the range of timestamps.
pub(crate) fn of_parts(parts: &Moment, zone: &Zone) -> Result<i64> {
    let offset = parts.local_seconds().map_or(0, |seconds| zone.offset_at_local(seconds));
    parts.timestamp(offset).ok_or_else(out_of_range)
}

/// A timestamp in any form that PostgreSQL takes, rounded to a precision where the typmod gives one; without a zone the session's holds.
///
/// # Errors
/// 22007 where the text is no timestamp; 22008 where a part, or the timestamp, is outside its range; 22009 where the displacement is;
/// 22023 for an unknown zone.
pub fn from_text(context: &Context, text: &str, typmod: i32) -> Result<i64> {
    let read = moment::read_moment(context, text)
        .map_err(|fault| fault.told(text, "timestamp with time zone"))?;
    let timestamp = match read {
        Read::Special(special) => of_special(special),
        Read::Moment(parts, offset) => {
            parts.timestamp(offset).ok_or_else(|| out_of_range_text(text))?
        }
    };
    timestamp::scale(timestamp, typmod)
}

/// As `DateStyle` and `TimeZone` say.
pub fn to_text(context: &Context, timestamp: i64) -> String {
    if let Some(text) = infinity_text(timestamp) {
        return text.to_owned();
    }
    let at = context.zone.at(unix_seconds(timestamp));
    let parts = Moment::of_timestamp(timestamp + i64::from(at.seconds) * SECOND);
    let zone = ZoneText { offset: at.seconds, abbreviation: &at.abbreviation };
    moment::write_moment(&parts, context.date_style, Some(zone))
}
