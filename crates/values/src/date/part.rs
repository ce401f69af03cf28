//! `extract` from dates.

use super::{MINUS_INFINITY, is_finite, parts};
use crate::calendar::{EPOCH_DAY, UNIX_EPOCH_DAY};
use crate::decimal::Decimal;
use crate::error::Result;
use crate::moment::Unit;
use crate::unit::{Asked, date_part};

/// A part of a date by its name; NULL where infinity has none.
///
/// # Errors
/// 22023 for an unknown unit, 0A000 for one that dates do not have.
pub fn extract(name: &str, date: i32) -> Result<Option<Decimal>> {
    Part::of_name(name)?.of(date)
}

/// A part that dates may have.
pub(crate) struct Part {
    asked: Asked<'static>,
    unit: Unit,
}

impl Part {
    /// # Errors
    /// 22023 for an unknown unit.
    pub(crate) fn of_name(name: &str) -> Result<Self> {
        let asked = Asked::new(name, "date");
        let unit = asked.part()?;
        Ok(Self { asked, unit })
    }

    /// The part of a date; NULL where infinity has none.
    ///
    /// # Errors
    /// 0A000 where dates do not have it.
    pub(crate) fn of(&self, date: i32) -> Result<Option<Decimal>> {
        if !is_finite(date) {
            return infinite(self.unit, date).ok_or_else(|| self.asked.unsupported());
        }
        let days = i64::from(date) + i64::from(EPOCH_DAY);
        let number = match self.unit {
            Unit::Julian => Some(days),
            Unit::Epoch => Some((days - i64::from(UNIX_EPOCH_DAY)) * 86_400),
            unit => date_part(unit, &parts(date)),
        };
        number.map(|number| Some(Decimal::whole(number))).ok_or_else(|| self.asked.unsupported())
    }
}

fn infinite(unit: Unit, date: i32) -> Option<Option<Decimal>> {
    let is_of_time = matches!(
        unit,
        Unit::Microsecond
            | Unit::Millisecond
            | Unit::Second
            | Unit::Minute
            | Unit::Hour
            | Unit::Zone
            | Unit::ZoneHour
            | Unit::ZoneMinute
    );
    if is_of_time {
        return None;
    }
    crate::unit::infinite_part(unit, date == MINUS_INFINITY)
}
