//! `extract` from times with zones.

use super::TimeTz;
use crate::decimal::Decimal;
use crate::error::Result;
use crate::moment::{Moment, Unit};
use crate::unit::{Asked, offset_part, time_part};

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
