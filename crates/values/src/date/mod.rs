//! `date`: days since 2000-01-01, from 4713 BC to 5874897 AD, and both infinities.

mod arithmetic;
mod compared;
mod kernels;
mod part;

pub use arithmetic::{add_days, days_between, minus_interval, plus_interval, subtract_days};
pub use compared::{compare_with_timestamp, compare_with_timestamptz};
pub(crate) use part::Part;
pub use part::extract;

pub(crate) use kernels::KERNELS;

use crate::calendar::{DAY, EPOCH_DAY, UNIX_EPOCH_DAY};
use crate::error::{Result, ValueError};
use crate::kernel::Context;
use crate::moment::{self, Moment, Read, Special};
use crate::zone::Zone;

/// Above every date.
pub const INFINITY: i32 = i32::MAX;
/// Below every date.
pub const MINUS_INFINITY: i32 = i32::MIN;
/// First date: 4714-11-24 BC.
const FIRST: i32 = -EPOCH_DAY;
/// After the last date: 5874898-01-01.
const END: i32 = 2_147_483_494 - EPOCH_DAY;
/// After the last date that is a timestamp too: 294277-01-01.
const TIMESTAMP_END: i32 = 109_203_528 - EPOCH_DAY;

/// Whether a date is neither infinity.
pub fn is_finite(date: i32) -> bool {
    date != INFINITY && date != MINUS_INFINITY
}

fn is_date(days: i64) -> bool {
    (i64::from(FIRST)..i64::from(END)).contains(&days)
}

/// The parts of a finite date.
pub(crate) fn parts(date: i32) -> Moment {
    let (year, month, day) = crate::calendar::civil(i64::from(date) + i64::from(EPOCH_DAY));
    Moment { year, month, day, ..Moment::default() }
}

/// The date of parts that are one; `None` outside the range of dates.
pub(crate) fn of_parts(parts: &Moment) -> Option<i32> {
    if !moment::is_julian(parts.year, parts.month) {
        return None;
    }
    let days = parts.julian_day() - i64::from(EPOCH_DAY);
    is_date(days).then_some(days as i32)
}

/// A date in any form that PostgreSQL takes.
///
/// # Errors
/// 22007 where the text is no date; 22008 where a part, or the date, is outside its range.
pub fn from_text(context: &Context, text: &str) -> Result<i32> {
    match moment::read_moment(context, text).map_err(|fault| fault.told(text, "date"))? {
        Read::Special(Special::Epoch) => Ok(UNIX_EPOCH_DAY - EPOCH_DAY),
        Read::Special(Special::Infinity) => Ok(INFINITY),
        Read::Special(Special::MinusInfinity) => Ok(MINUS_INFINITY),
        Read::Moment(parts, _) => of_parts(&parts)
            .ok_or_else(|| ValueError::new("22008", format!("date out of range: \"{text}\""))),
    }
}

/// As `DateStyle` says.
pub fn to_text(context: &Context, date: i32) -> String {
    match date {
        INFINITY => "infinity".to_owned(),
        MINUS_INFINITY => "-infinity".to_owned(),
        _ => moment::write_date(&parts(date), context.date_style),
    }
}

/// Four bytes, days since 2000-01-01.
pub fn to_binary(date: i32) -> [u8; 4] {
    date.to_be_bytes()
}

/// What [`to_binary`] wrote.
///
/// # Errors
/// 22008 outside the range of dates; 22P03 where there are not four bytes.
pub fn from_binary(bytes: &[u8]) -> Result<i32> {
    let bytes = bytes.try_into().map_err(|_| crate::error::wrong_length())?;
    let date = i32::from_be_bytes(bytes);
    if is_finite(date) && !is_date(date.into()) { Err(out_of_range()) } else { Ok(date) }
}

/// Canonical key: equal dates have equal keys, which compare as they do.
pub fn to_key(date: i32) -> [u8; 4] {
    crate::key::of_i32(date)
}

/// The date of a year (negative for BC), month and day.
///
/// # Errors
/// 22008 where there is no such date.
pub fn make(year: i32, month: i32, day: i32) -> Result<i32> {
    // PostgreSQL tells the year as it counts it, 0 for 1 BC.
    let shown = if year < 0 && year != i32::MIN { year + 1 } else { year };
    let told = |what| told_parts(what, shown, month, day);
    let parts = checked_parts(year, month, day).ok_or_else(|| told(FIELD_OUT_OF_RANGE))?;
    of_parts(&parts).ok_or_else(|| told("date out of range"))
}

/// What is wrong with a month or day.
pub(crate) const FIELD_OUT_OF_RANGE: &str = "date field value out of range";

/// The parts of a date of a year (negative for BC), month and day; `None` where there is no such date.
pub(crate) fn checked_parts(year: i32, month: i32, day: i32) -> Option<Moment> {
    let astronomical = if year < 0 { year.checked_add(1)? } else { year };
    let is_date = !matches!(year, 0 | i32::MIN)
        && (1..=12).contains(&month)
        && (1..=crate::calendar::days_in_month(astronomical, month)).contains(&day);
    is_date.then_some(Moment { year: astronomical, month, day, ..Moment::default() })
}

/// What is wrong with a year, month and day.
pub(crate) fn told_parts(what: &str, year: i32, month: i32, day: i32) -> ValueError {
    ValueError::new("22008", format!("{what}: {year}-{month:02}-{day:02}"))
}

fn out_of_range() -> ValueError {
    ValueError::new("22008", "date out of range")
}

fn out_of_range_for_timestamp() -> ValueError {
    ValueError::new("22008", "date out of range for timestamp")
}

/// The timestamp at the beginning of a date.
///
/// # Errors
/// 22008 after the last timestamp.
pub fn to_timestamp(date: i32) -> Result<i64> {
    match date {
        INFINITY => Ok(i64::MAX),
        MINUS_INFINITY => Ok(i64::MIN),
        TIMESTAMP_END.. => Err(out_of_range_for_timestamp()),
        _ => Ok(i64::from(date) * DAY),
    }
}

/// The instant at which a date begins in a zone.
///
/// # Errors
/// 22008 outside the range of timestamps.
pub fn to_timestamptz(date: i32, zone: &Zone) -> Result<i64> {
    let local = to_timestamp(date)?;
    if !is_finite(date) {
        return Ok(local);
    }
    crate::timestamptz::of_local(local, zone).map_err(|_| out_of_range_for_timestamp())
}
