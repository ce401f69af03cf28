//! What `extract`, `date_part` and `date_trunc` have in common: the unit's name, its errors, and parts of a date.

use crate::calendar::{day_of_week, day_of_year, iso_week};
use crate::decimal::Decimal;
use crate::error::{Result, ValueError};
use crate::moment::{self, Moment, Unit};

/// Names are cut to this.
const LONGEST_NAME: usize = 63;

/// A unit as it was asked of a type.
pub(crate) struct Asked<'t> {
    /// In lower case.
    name: String,
    type_name: &'t str,
}

impl<'t> Asked<'t> {
    pub(crate) fn new(name: &str, type_name: &'t str) -> Self {
        let mut name = name.to_ascii_lowercase();
        let mut length = name.len().min(LONGEST_NAME);
        while !name.is_char_boundary(length) {
            length -= 1;
        }
        name.truncate(length);
        Self { name, type_name }
    }

    /// The unit that `extract` and `date_part` take.
    pub(crate) fn part(&self) -> Result<Unit> {
        moment::unit_or_word(&self.name).ok_or_else(|| self.unknown())
    }

    /// The unit that `date_trunc` takes.
    pub(crate) fn truncation(&self) -> Result<Unit> {
        let unit = moment::interval_unit(&self.name).filter(|unit| *unit != Unit::Ago);
        unit.ok_or_else(|| self.unknown())
    }

    pub(crate) fn unknown(&self) -> ValueError {
        let Asked { name, type_name } = self;
        ValueError::new("22023", format!("unit \"{name}\" not recognized for type {type_name}"))
    }

    pub(crate) fn unsupported(&self) -> ValueError {
        let Asked { name, type_name } = self;
        ValueError::new("0A000", format!("unit \"{name}\" not supported for type {type_name}"))
    }
}

/// A part of an infinite date or timestamp: years and the like are infinite, days and the like NULL; `None` for what is no part of one.
pub(crate) fn infinite_part(unit: Unit, is_negative: bool) -> Option<Option<Decimal>> {
    let infinity = if is_negative { Decimal::MinusInfinity } else { Decimal::Infinity };
    Some(match unit {
        Unit::Year
        | Unit::Decade
        | Unit::Century
        | Unit::Millennium
        | Unit::Julian
        | Unit::IsoYear
        | Unit::Epoch => Some(infinity),
        Unit::Ago | Unit::Reserved => return None,
        _ => None,
    })
}

/// A part of a date; `None` for what is no part of one.
pub(crate) fn date_part(unit: Unit, moment: &Moment) -> Option<i64> {
    let Moment { year, month, day, .. } = *moment;
    let julian_day = moment.julian_day();
    Some(i64::from(match unit {
        Unit::Day => day,
        Unit::Month => month,
        Unit::Quarter => (month - 1) / 3 + 1,
        Unit::Week => iso_week(julian_day).1,
        // There is no year 0 between 1 BC and 1 AD.
        Unit::Year => without_zero(year),
        Unit::IsoYear => without_zero(iso_week(julian_day).0),
        Unit::Decade if year >= 0 => year / 10,
        Unit::Decade => -((8 - (year - 1)) / 10),
        Unit::Century => span_of_years(year, 100),
        Unit::Millennium => span_of_years(year, 1000),
        Unit::Weekday => day_of_week(julian_day),
        Unit::IsoWeekday => iso_week(julian_day).2,
        Unit::DayOfYear => day_of_year(year, month, day),
        _ => return None,
    }))
}

fn without_zero(year: i32) -> i32 {
    if year > 0 { year } else { year - 1 }
}

/// Which century or millennium a year is in, counted from 1 AD both ways.
pub(crate) fn span_of_years(year: i32, length: i32) -> i32 {
    if year > 0 { (year + length - 1) / length } else { -((length - 1 - (year - 1)) / length) }
}

/// A part of a time of day; `None` for what is no part of one.
pub(crate) fn time_part(unit: Unit, moment: &Moment) -> Option<Decimal> {
    let micros = i64::from(moment.second) * 1_000_000 + i64::from(moment.micros);
    clock_part(unit, moment.hour.into(), moment.minute.into(), micros)
}

/// A part of hours, minutes and microseconds.
pub(crate) fn clock_part(unit: Unit, hours: i64, minutes: i64, micros: i64) -> Option<Decimal> {
    Some(match unit {
        Unit::Microsecond => Decimal::whole(micros),
        Unit::Millisecond => Decimal::new(micros.into(), 3),
        Unit::Second => Decimal::new(micros.into(), 6),
        Unit::Minute => Decimal::whole(minutes),
        Unit::Hour => Decimal::whole(hours),
        _ => return None,
    })
}

/// A part of an offset in seconds east; `None` for what is no part of one.
pub(crate) fn offset_part(unit: Unit, offset: i32) -> Option<Decimal> {
    Some(Decimal::whole(i64::from(match unit {
        Unit::Zone => offset,
        Unit::ZoneHour => offset / 3600,
        Unit::ZoneMinute => offset / 60 % 60,
        _ => return None,
    })))
}

/// What `date_part` returns for what `extract` found by a name. Seconds and their fraction become doubles apart, as in PostgreSQL, which
/// may differ in the last bit from their sum's double.
pub(crate) fn as_double(name: &str, part: Decimal) -> f64 {
    let (coefficient, scale) = match part {
        Decimal::Infinity => return f64::INFINITY,
        Decimal::MinusInfinity => return f64::NEG_INFINITY,
        Decimal::Finite { coefficient, scale } => (coefficient, scale),
    };
    let (seconds, micros) = ((coefficient / 1_000_000) as f64, (coefficient % 1_000_000) as f64);
    match moment::unit_or_word(&name.to_ascii_lowercase()) {
        Some(Unit::Second) => seconds + micros / 1_000_000.0,
        Some(Unit::Millisecond) => seconds * 1000.0 + micros / 1000.0,
        _ => coefficient as f64 / 10f64.powi(scale.into()),
    }
}

/// What `date_part` returns for the Julian day of a local time.
pub(crate) fn julian_as_double(local: &Moment) -> f64 {
    let seconds = (local.hour * 60 + local.minute) * 60 + local.second;
    let seconds = f64::from(seconds) + f64::from(local.micros) / 1_000_000.0;
    local.julian_day() as f64 + seconds / 86_400.0
}

/// Whether a name is that of the Julian day.
pub(crate) fn is_julian(name: &str) -> bool {
    moment::unit_or_word(&name.to_ascii_lowercase()) == Some(Unit::Julian)
}
