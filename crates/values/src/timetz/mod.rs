//! `time with time zone`: a time of day and an offset.

mod kernels;
mod part;
mod zoned;

pub use part::{date_part, extract};
pub use zoned::{at_offset, at_zone, of_time, of_timestamptz};

pub(crate) use kernels::KERNELS;

use std::cmp::Ordering;

use crate::calendar::{DAY, SECOND};
use crate::error::{Result, ValueError};
use crate::interval::Interval;
use crate::kernel::Context;
use crate::moment::{self, Moment};
use crate::{precision, time};

/// A time of day with its offset. Equal ones have the same offset, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeTz {
    /// Microseconds since midnight there.
    pub time: i64,
    /// Seconds west of Greenwich, as the binary form has it.
    pub west: i32,
}

impl TimeTz {
    /// Microseconds since midnight at Greenwich; outside a day where it is another day there.
    fn instant(&self) -> i64 {
        self.time.wrapping_add(i64::from(self.west) * SECOND)
    }

    /// What orders times with zones: the instant, then the offset, eastern ones first. Equal keys are equal times.
    pub fn key(&self) -> (i64, i32) {
        (self.instant(), self.west)
    }
}

impl PartialOrd for TimeTz {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TimeTz {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// A time in any form that PostgreSQL takes, rounded to a precision where the typmod gives one; without a zone the session's holds.
///
/// # Errors
/// 22007 where the text is no time; 22008 where a part is outside its range; 22009 where the displacement is; 22023 for an unknown zone.
pub fn from_text(context: &Context, text: &str, typmod: i32) -> Result<TimeTz> {
    let (parts, offset) = moment::read_time_of_day(context, text)
        .map_err(|fault| fault.told(text, "time with time zone"))?;
    Ok(TimeTz { time: precision::round(parts.time(), typmod), west: -offset })
}

/// `hh:mm:ss+zz`.
pub fn to_text(time: TimeTz) -> String {
    moment::write_time(&Moment::of_time(time.time), Some(-time.west))
}

/// Twelve bytes: microseconds since midnight, seconds west.
pub fn to_binary(time: TimeTz) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&time.time.to_be_bytes());
    bytes[8..].copy_from_slice(&time.west.to_be_bytes());
    bytes
}

/// What [`to_binary`] wrote.
///
/// # Errors
/// 22008 outside a day; 22009 where the offset is 16 hours or more; 22P03 where there are not twelve bytes.
pub fn from_binary(bytes: &[u8], typmod: i32) -> Result<TimeTz> {
    let bytes: &[u8; 12] = bytes.try_into().map_err(|_| crate::error::wrong_length())?;
    let (of_time, of_zone) = bytes.split_at(8);
    let time = time::from_binary(of_time, typmod)?;
    let west = i32::from_be_bytes(of_zone.try_into().expect("four bytes"));
    if west.unsigned_abs() >= 16 * 3600 {
        return Err(ValueError::new("22009", "time zone displacement out of range"));
    }
    Ok(TimeTz { time, west })
}

/// Canonical key: equal times have equal keys, which compare as they do.
pub fn to_key(time: TimeTz) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&crate::key::of_i64(time.instant()));
    key[8..].copy_from_slice(&crate::key::of_i32(time.west));
    key
}

/// A time some interval later; its months and days do not count.
pub fn plus_interval(time: TimeTz, span: &Interval) -> TimeTz {
    TimeTz { time: time::plus_interval(time.time, span), ..time }
}

/// A time some interval earlier; its months and days do not count.
pub fn minus_interval(time: TimeTz, span: &Interval) -> TimeTz {
    TimeTz { time: time::minus_interval(time.time, span), ..time }
}

/// The instant of a date and a time.
///
/// # Errors
/// 22008 outside the range of timestamps.
pub fn on_date(date: i32, time: TimeTz) -> Result<i64> {
    if !crate::date::is_finite(date) {
        return crate::date::to_timestamp(date);
    }
    let instant = crate::date::to_timestamp(date)?.checked_add(time.instant());
    let instant = instant.filter(|instant| moment::is_timestamp(*instant));
    instant.ok_or_else(|| ValueError::new("22008", "date out of range for timestamp"))
}

/// The same instant of the day at another offset, in seconds west.
fn moved(time: TimeTz, west: i32) -> TimeTz {
    TimeTz { time: (time.instant() - i64::from(west) * SECOND).rem_euclid(DAY), west }
}
