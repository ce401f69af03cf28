//! `date_trunc` of timestamps.

use super::{is_finite, out_of_range};
use crate::calendar::civil;
use crate::error::Result;
use crate::moment::{Moment, Unit};
use crate::unit::{Asked, span_of_years};

/// A timestamp cut to a unit by its name.
///
/// # Errors
/// 22023 for an unknown unit, 0A000 for one that timestamps are not cut to, 22008 outside the range of timestamps.
pub fn truncate(name: &str, timestamp: i64) -> Result<i64> {
    if !is_finite(timestamp) {
        return Ok(timestamp);
    }
    let asked = Asked::new(name, "timestamp without time zone");
    let parts = truncate_parts(asked.truncation()?, &Moment::of_timestamp(timestamp));
    let parts = parts.ok_or_else(|| asked.unsupported())?;
    parts.timestamp(0).ok_or_else(out_of_range)
}

/// Parts cut to a unit; `None` for what they are not cut to.
pub(crate) fn truncate_parts(unit: Unit, parts: &Moment) -> Option<Moment> {
    let Moment { year, month, day, hour, minute, second, micros } = *parts;
    let date = |year, month, day| Moment { year, month, day, ..Moment::default() };
    let cut = Moment { micros: 0, ..*parts };
    Some(match unit {
        Unit::Microsecond => *parts,
        Unit::Millisecond => Moment { micros: micros / 1000 * 1000, ..*parts },
        Unit::Second => Moment { second, ..cut },
        Unit::Minute => Moment { minute, second: 0, ..cut },
        Unit::Hour => Moment { hour, minute: 0, second: 0, ..cut },
        Unit::Day => date(year, month, day),
        Unit::Week => {
            let julian_day = parts.julian_day();
            let (year, month, day) = civil(julian_day - julian_day.rem_euclid(7));
            date(year, month, day)
        }
        Unit::Month => date(year, month, 1),
        Unit::Quarter => date(year, (month - 1) / 3 * 3 + 1, 1),
        Unit::Year => date(year, 1, 1),
        Unit::Decade if year > 0 => date(year / 10 * 10, 1, 1),
        Unit::Decade => date(-((8 - (year - 1)) / 10) * 10, 1, 1),
        Unit::Century => date(first_year(year, 100), 1, 1),
        Unit::Millennium => date(first_year(year, 1000), 1, 1),
        _ => return None,
    })
}

/// The first year of the century or millennium in which a year is.
fn first_year(year: i32, length: i32) -> i32 {
    let span = span_of_years(year, length);
    if span > 0 { span * length - (length - 1) } else { span * length + 1 }
}
