//! `timestamp`: microseconds since 2000-01-01 00:00, from 4713 BC to 294276 AD, and both infinities.

mod age;
mod arithmetic;
mod bin;
mod kernels;
mod part;
mod truncated;
mod zoned;

pub use age::age;
pub use arithmetic::{between, minus_interval, plus_interval};
pub use bin::bin;
pub use part::{date_part, extract};
pub use truncated::truncate;
pub use zoned::{at_offset, at_zone};

pub(crate) use age::symbolic_difference;
pub(crate) use arithmetic::{add_months, negative_frame};
pub(crate) use kernels::KERNELS;
pub(crate) use part::common_part;
pub(crate) use truncated::truncate_parts;
pub(crate) use zoned::shifted;

use crate::calendar::{DAY, EPOCH_DAY, UNIX_EPOCH_DAY};
use crate::date;
use crate::error::{Result, ValueError};
use crate::kernel::Context;
use crate::moment::{self, Moment, Read, Special, is_timestamp};
use crate::{precision, time};

/// Above every timestamp.
pub const INFINITY: i64 = i64::MAX;
/// Below every timestamp.
pub const MINUS_INFINITY: i64 = i64::MIN;
/// 1970-01-01 00:00.
pub const UNIX_EPOCH: i64 = (UNIX_EPOCH_DAY - EPOCH_DAY) as i64 * DAY;

/// Whether a timestamp is neither infinity.
pub fn is_finite(timestamp: i64) -> bool {
    timestamp != INFINITY && timestamp != MINUS_INFINITY
}

pub(crate) fn out_of_range() -> ValueError {
    ValueError::new("22008", "timestamp out of range")
}

pub(crate) fn out_of_range_text(text: &str) -> ValueError {
    ValueError::new("22008", format!("timestamp out of range: \"{text}\""))
}

/// What of a special word is a timestamp.
pub(crate) fn of_special(special: Special) -> i64 {
    match special {
        Special::Epoch => UNIX_EPOCH,
        Special::Infinity => INFINITY,
        Special::MinusInfinity => MINUS_INFINITY,
    }
}

/// A timestamp in any form that PostgreSQL takes, rounded to a precision where the typmod gives one; a zone in it is ignored.
///
/// # Errors
/// 22007 where the text is no timestamp; 22008 where a part, or the timestamp, is outside its range.
pub fn from_text(context: &Context, text: &str, typmod: i32) -> Result<i64> {
    let read = moment::read_moment(context, text).map_err(|fault| fault.told(text, "timestamp"))?;
    let timestamp = match read {
        Read::Special(special) => of_special(special),
        Read::Moment(parts, _) => parts.timestamp(0).ok_or_else(|| out_of_range_text(text))?,
    };
    scale(timestamp, typmod)
}

/// A timestamp rounded to a precision, -1 for none; infinities stay.
///
/// # Errors
/// 22023 where the typmod is no precision.
pub fn scale(timestamp: i64, typmod: i32) -> Result<i64> {
    if !is_finite(timestamp) || typmod == -1 {
        return Ok(timestamp);
    }
    if precision::is_outside(typmod) {
        return Err(precision::fault("timestamp", typmod));
    }
    Ok(precision::round(timestamp, typmod))
}

/// As `DateStyle` says.
pub fn to_text(context: &Context, timestamp: i64) -> String {
    infinity_text(timestamp).map_or_else(
        || moment::write_moment(&Moment::of_timestamp(timestamp), context.date_style, None),
        str::to_owned,
    )
}

/// How an infinity is written.
pub(crate) fn infinity_text(timestamp: i64) -> Option<&'static str> {
    match timestamp {
        INFINITY => Some("infinity"),
        MINUS_INFINITY => Some("-infinity"),
        _ => None,
    }
}

/// Eight bytes, microseconds since 2000.
pub fn to_binary(timestamp: i64) -> [u8; 8] {
    timestamp.to_be_bytes()
}

/// What [`to_binary`] wrote.
///
/// # Errors
/// 22008 outside the range of timestamps; 22P03 where there are not eight bytes.
pub fn from_binary(bytes: &[u8], typmod: i32) -> Result<i64> {
    let bytes = bytes.try_into().map_err(|_| crate::error::wrong_length())?;
    let timestamp = i64::from_be_bytes(bytes);
    if is_finite(timestamp) && !is_timestamp(timestamp) {
        return Err(out_of_range());
    }
    scale(timestamp, typmod)
}

/// Canonical key: equal timestamps have equal keys, which compare as they do.
pub fn to_key(timestamp: i64) -> [u8; 8] {
    crate::key::of_i64(timestamp)
}

/// The date of a timestamp.
pub fn to_date(timestamp: i64) -> i32 {
    match timestamp {
        INFINITY => date::INFINITY,
        MINUS_INFINITY => date::MINUS_INFINITY,
        _ => timestamp.div_euclid(DAY) as i32,
    }
}

/// The time of day of a timestamp; NULL for infinity.
pub fn time_of_day(timestamp: i64) -> Option<i64> {
    is_finite(timestamp).then(|| timestamp.rem_euclid(DAY))
}

/// The timestamp of a date and a time.
///
/// # Errors
/// 22008 outside the range of timestamps.
pub fn on_date(day: i32, time: i64) -> Result<i64> {
    let begins = date::to_timestamp(day)?;
    if !date::is_finite(day) {
        return Ok(begins);
    }
    let timestamp = begins + time;
    if is_timestamp(timestamp) { Ok(timestamp) } else { Err(out_of_range()) }
}

/// The timestamp of a year (negative for BC), month, day, hour, minute and second.
///
/// # Errors
/// 22008 where there is no such date, time or timestamp.
pub fn make(ymd: [i32; 3], hour: i32, minute: i32, second: f64) -> Result<i64> {
    let [year, month, day] = ymd;
    let told = |what| date::told_parts(what, year, month, day);
    let parts = date::checked_parts(year, month, day);
    let parts = parts.ok_or_else(|| told(date::FIELD_OUT_OF_RANGE))?;
    if !moment::is_julian(parts.year, parts.month) {
        return Err(told("date out of range"));
    }
    let time = time::make(hour, minute, second)?;
    let days = parts.julian_day() - i64::from(EPOCH_DAY);
    let timestamp = days.checked_mul(DAY).and_then(|midnight| midnight.checked_add(time));
    timestamp.filter(|timestamp| is_timestamp(*timestamp)).ok_or_else(|| {
        let clock = time::shown_parts(hour, minute, second);
        let told = told("timestamp out of range");
        ValueError { message: format!("{} {clock}", told.message).into(), ..told }
    })
}
