//! `extract` from timestamps.

use super::{UNIX_EPOCH, is_finite};
use crate::calendar::DAY;
use crate::decimal::Decimal;
use crate::error::Result;
use crate::moment::{Moment, Unit};
use crate::unit::{self, Asked};

/// A part of a timestamp by its name; NULL where infinity has none.
///
/// # Errors
/// 22023 for an unknown unit, 0A000 for one that timestamps do not have.
pub fn extract(name: &str, timestamp: i64) -> Result<Option<Decimal>> {
    let asked = Asked::new(name, "timestamp without time zone");
    let unit = asked.part()?;
    if !is_finite(timestamp) {
        return unit::infinite_part(unit, timestamp < 0).ok_or_else(|| asked.unsupported());
    }
    let part = common_part(unit, timestamp, &Moment::of_timestamp(timestamp));
    part.map(Some).ok_or_else(|| asked.unsupported())
}

/// As [`extract`], in doubles, as `date_part` returns it.
///
/// # Errors
/// Those of [`extract`].
pub fn date_part(name: &str, timestamp: i64) -> Result<Option<f64>> {
    if is_finite(timestamp) && unit::is_julian(name) {
        return Ok(Some(unit::julian_as_double(&Moment::of_timestamp(timestamp))));
    }
    Ok(extract(name, timestamp)?.map(|part| unit::as_double(name, part)))
}

/// A part of a finite timestamp whose local parts are told, but for those of its offset.
pub(crate) fn common_part(unit: Unit, timestamp: i64, local: &Moment) -> Option<Decimal> {
    match unit {
        Unit::Epoch => Some(epoch(timestamp)),
        Unit::Julian => Some(julian(local)),
        _ => unit::date_part(unit, local)
            .map(Decimal::whole)
            .or_else(|| unit::time_part(unit, local)),
    }
}

/// Seconds since 1970. Beyond 64 bits of microseconds PostgreSQL divides numerics, which leaves four digits.
fn epoch(timestamp: i64) -> Decimal {
    let micros = i128::from(timestamp) - i128::from(UNIX_EPOCH);
    let is_wide = timestamp >= i64::MAX + UNIX_EPOCH;
    Decimal::new(if is_wide { (micros + 50) / 100 * 100 } else { micros }, 6)
}

/// Julian day with the fraction of the day, in the digits that a division of numerics gives.
fn julian(local: &Moment) -> Decimal {
    let (micros, day) = (i128::from(local.time()), i128::from(DAY));
    let scale = quotient_scale(local.time());
    let unit = 10i128.pow(scale);
    let fraction = (micros * unit + day / 2) / day;
    Decimal::new(i128::from(local.julian_day()) * unit + fraction, scale as u16)
}

/// Digits after the point of microseconds divided by those of a day, as numeric tells them: of each number the digits by base 10,000
/// count, and which first digit is larger.
fn quotient_scale(micros: i64) -> u32 {
    let digits = |mut number: i64| {
        let mut weight = 0;
        while number >= 10_000 {
            number /= 10_000;
            weight += 1;
        }
        (weight, number)
    };
    let (weight, first) = digits(micros);
    let (day_weight, day_first) = digits(DAY);
    let difference: i32 = weight - day_weight - i32::from(first <= day_first);
    (16 - 4 * difference).max(0) as u32
}
