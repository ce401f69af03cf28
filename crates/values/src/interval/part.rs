//! `extract` from and `date_trunc` of intervals.

use super::{Interval, Parts};
use crate::calendar::{DAY, HOUR, MINUTE, SECOND};
use crate::decimal::Decimal;
use crate::error::Result;
use crate::moment::Unit;
use crate::unit::{Asked, as_double, clock_part};

/// A part of an interval by its name.
///
/// # Errors
/// 22023 for an unknown unit, 0A000 for one that intervals do not have.
pub fn extract(name: &str, span: &Interval) -> Result<Decimal> {
    let asked = Asked::new(name, "interval");
    let parts = Parts::of(span);
    let number = match asked.part()? {
        Unit::Day => parts.days,
        Unit::Month => parts.months,
        Unit::Quarter => parts.months / 3 + 1,
        Unit::Year => parts.years,
        Unit::Decade => parts.years / 10,
        Unit::Century => parts.years / 100,
        Unit::Millennium => parts.years / 1000,
        Unit::Epoch => return Ok(epoch(span)),
        Unit::Reserved => return Err(asked.unknown()),
        unit => {
            let micros = i64::from(parts.seconds) * SECOND + i64::from(parts.micros);
            let part = clock_part(unit, parts.hours, parts.minutes.into(), micros);
            return part.ok_or_else(|| asked.unsupported());
        }
    };
    Ok(Decimal::whole(number.into()))
}

/// As [`extract`], in doubles, as `date_part` returns it.
///
/// # Errors
/// Those of [`extract`].
pub fn date_part(name: &str, span: &Interval) -> Result<f64> {
    let part = extract(name, span)?;
    if Asked::new(name, "interval").part()? != Unit::Epoch {
        return Ok(as_double(name, part));
    }
    let days = |count: i32, length: f64| length * 86_400.0 * f64::from(count);
    let seconds = span.micros as f64 / SECOND as f64 + days(span.months / 12, 365.25);
    Ok(seconds + days(span.months % 12, 30.0) + days(span.days, 1.0))
}

/// Seconds, by years of 365.25 days and other months of 30.
fn epoch(span: &Interval) -> Decimal {
    let (years, months) = (i128::from(span.months / 12), i128::from(span.months % 12));
    let quarter_days = years * 1461 + (months * 30 + i128::from(span.days)) * 4;
    Decimal::new(quarter_days * i128::from(DAY / 4) + i128::from(span.micros), 6)
}

/// An interval cut to a unit by its name.
///
/// # Errors
/// 22023 for an unknown unit, 0A000 for one that intervals are not cut to.
pub fn truncate(name: &str, span: &Interval) -> Result<Interval> {
    let asked = Asked::new(name, "interval");
    let months = |unit: i32| Interval { months: span.months / unit * unit, ..Interval::default() };
    let micros = |unit: i64| Interval { micros: span.micros / unit * unit, ..*span };
    Ok(match asked.truncation()? {
        Unit::Millennium => months(12_000),
        Unit::Century => months(1_200),
        Unit::Decade => months(120),
        Unit::Year => months(12),
        Unit::Quarter => months(3),
        Unit::Month => months(1),
        Unit::Day => Interval { micros: 0, ..*span },
        Unit::Hour => micros(HOUR),
        Unit::Minute => micros(MINUTE),
        Unit::Second => micros(SECOND),
        Unit::Millisecond => micros(1000),
        Unit::Microsecond => *span,
        Unit::Week => {
            let detail = "Months usually have fractional weeks.";
            let fault = asked.unsupported();
            return Err(crate::error::ValueError { detail: Some(detail.into()), ..fault });
        }
        _ => return Err(asked.unsupported()),
    })
}
