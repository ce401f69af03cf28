//! `time`: microseconds since midnight, 00:00:00 to 24:00:00.

mod arithmetic;
mod kernels;
mod part;

pub use arithmetic::{between, minus_interval, of_interval, plus_interval};
pub use part::extract;

pub(crate) use kernels::KERNELS;

use crate::calendar::{DAY, SECOND};
use crate::error::{Result, ValueError};
use crate::kernel::Context;
use crate::moment::{self, Moment};
use crate::precision;

/// A time in any form that PostgreSQL takes, rounded to a precision where the typmod gives one.
///
/// # Errors
/// 22007 where the text is no time; 22008 where a part is outside its range.
pub fn from_text(context: &Context, text: &str, typmod: i32) -> Result<i64> {
    let (parts, _) =
        moment::read_time_of_day(context, text).map_err(|fault| fault.told(text, "time"))?;
    Ok(precision::round(parts.time(), typmod))
}

/// `hh:mm:ss`, with a fraction where there is one.
pub fn to_text(time: i64) -> String {
    moment::write_time(&Moment::of_time(time), None)
}

/// Eight bytes, microseconds since midnight.
pub fn to_binary(time: i64) -> [u8; 8] {
    time.to_be_bytes()
}

/// What [`to_binary`] wrote.
///
/// # Errors
/// 22008 outside a day; 22P03 where there are not eight bytes.
pub fn from_binary(bytes: &[u8], typmod: i32) -> Result<i64> {
    let bytes = bytes.try_into().map_err(|_| crate::error::wrong_length())?;
    let time = i64::from_be_bytes(bytes);
    if !(0..=DAY).contains(&time) {
        return Err(ValueError::new("22008", "time out of range"));
    }
    Ok(precision::round(time, typmod))
}

/// Canonical key: equal times have equal keys, which compare as they do.
pub fn to_key(time: i64) -> [u8; 8] {
    crate::key::of_i64(time)
}

/// The time of an hour, minute and second.
///
/// # Errors
/// 22008 where there is no such time.
pub fn make(hour: i32, minute: i32, second: f64) -> Result<i64> {
    of_parts(hour, minute, second).ok_or_else(|| {
        let shown = shown_parts(hour, minute, second);
        ValueError::new("22008", format!("time field value out of range: {shown}"))
    })
}

/// As messages show a time that is none.
pub(crate) fn shown_parts(hour: i32, minute: i32, second: f64) -> String {
    let second = crate::number_text::six_digits(second);
    format!("{hour}:{minute:02}:{second:0>2}")
}

/// Microseconds of an hour, minute and second; `None` where there is no such time.
pub(crate) fn of_parts(hour: i32, minute: i32, second: f64) -> Option<i64> {
    let micros = (second * SECOND as f64).round_ties_even();
    let is_time = (0..=24).contains(&hour)
        && (0..60).contains(&minute)
        && (0.0..=60.0 * SECOND as f64).contains(&micros);
    if !is_time {
        return None;
    }
    let time = i64::from(hour * 60 + minute) * 60 * SECOND + micros as i64;
    (time <= DAY).then_some(time)
}
