//! `extract` from times.

use crate::decimal::Decimal;
use crate::error::Result;
use crate::moment::{Moment, Unit};
use crate::unit::{Asked, time_part};

/// A part of a time by its name.
///
/// # Errors
/// 22023 for an unknown unit, 0A000 for one that times do not have.
pub fn extract(name: &str, time: i64) -> Result<Decimal> {
    let asked = Asked::new(name, "time without time zone");
    match asked.part()? {
        Unit::Epoch => Ok(Decimal::new(time.into(), 6)),
        Unit::Reserved => Err(asked.unknown()),
        unit => time_part(unit, &Moment::of_time(time)).ok_or_else(|| asked.unsupported()),
    }
}
