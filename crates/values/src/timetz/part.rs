//! `extract` from times with zones.

use super::TimeTz;
use crate::decimal::Decimal;
use crate::error::Result;
use crate::moment::{Moment, Unit};
use crate::unit::{Asked, as_double, offset_part, time_part};

/// A part of a time by its name.
///
/// # Errors
/// 22023 for an unknown unit, 0A000 for one that times do not have.
pub fn extract(name: &str, time: TimeTz) -> Result<Decimal> {
    let asked = Asked::new(name, "time with time zone");
    match asked.part()? {
        Unit::Epoch => Ok(Decimal::new(time.instant().into(), 6)),
        Unit::Reserved => Err(asked.unknown()),
        unit => offset_part(unit, -time.west)
            .or_else(|| time_part(unit, &Moment::of_time(time.time)))
            .ok_or_else(|| asked.unsupported()),
    }
}

/// As [`extract`], in doubles, as `date_part` returns it.
///
/// # Errors
/// Those of [`extract`].
pub fn date_part(name: &str, time: TimeTz) -> Result<f64> {
    let part = extract(name, time)?;
    if Asked::new(name, "time with time zone").part()? == Unit::Epoch {
        return Ok(time.time as f64 / 1_000_000.0 + f64::from(time.west));
    }
    Ok(as_double(name, part))
}
