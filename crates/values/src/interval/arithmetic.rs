//! Intervals added, subtracted, multiplied and divided, part by part; fractions of months and days spill into the smaller parts.

use super::{Interval, out_of_range};
use crate::calendar::{MONTH_DAYS, SECOND};
use crate::error::{Result, ValueError};

/// The sum, part by part.
///
/// # Errors
/// 22008 where a part is outside its range.
pub fn add(left: &Interval, right: &Interval) -> Result<Interval> {
    let sum = || {
        Some(Interval {
            months: left.months.checked_add(right.months)?,
            days: left.days.checked_add(right.days)?,
            micros: left.micros.checked_add(right.micros)?,
        })
    };
    sum().ok_or_else(out_of_range)
}

/// The difference, part by part.
///
/// # Errors
/// 22008 where a part is outside its range.
pub fn subtract(left: &Interval, right: &Interval) -> Result<Interval> {
    let difference = || {
        Some(Interval {
            months: left.months.checked_sub(right.months)?,
            days: left.days.checked_sub(right.days)?,
            micros: left.micros.checked_sub(right.micros)?,
        })
    };
    difference().ok_or_else(out_of_range)
}

/// Each part with its sign changed.
///
/// # Errors
/// 22008 where a part is the least of its type.
pub fn negate(span: &Interval) -> Result<Interval> {
    subtract(&Interval::default(), span)
}

/// An interval times a factor.
///
/// # Errors
/// 22008 where a part is outside its range.
pub fn multiply(span: &Interval, factor: f64) -> Result<Interval> {
    scaled(span, |part| part * factor)
}

/// An interval divided by a number.
///
/// # Errors
/// 22012 for zero, 22008 where a part is outside its range.
pub fn divide(span: &Interval, divisor: f64) -> Result<Interval> {
    if divisor == 0.0 {
        return Err(ValueError::new("22012", "division by zero"));
    }
    scaled(span, |part| part / divisor)
}

/// Rounded to microseconds, so that what is whole but for the last bits becomes whole.
fn rounded(number: f64) -> f64 {
    (number * 1e6).round_ties_even() / 1e6
}

fn scaled(span: &Interval, scale: impl Fn(f64) -> f64) -> Result<Interval> {
    const DAY_SECONDS: f64 = 86_400.0;
    let (months, days) = (scale(span.months.into()), scale(span.days.into()));
    let (whole_months, whole_days) = (whole(months)?, whole(days)?);
    let spilled_days = rounded((months - f64::from(whole_months)) * f64::from(MONTH_DAYS));
    let part_of_day = days - f64::from(whole_days) + spilled_days - spilled_days.trunc();
    let mut seconds = rounded(part_of_day * DAY_SECONDS);
    let mut carried = 0;
    if seconds.abs() >= DAY_SECONDS {
        carried = (seconds / DAY_SECONDS) as i32;
        seconds -= f64::from(carried) * DAY_SECONDS;
    }
    let days = whole_days.checked_add(carried).and_then(|d| d.checked_add(spilled_days as i32));
    let micros = (scale(span.micros as f64) + seconds * SECOND as f64).round_ties_even();
    let is_inside = (i64::MIN as f64..-(i64::MIN as f64)).contains(&micros);
    match days {
        Some(days) if is_inside => {
            Ok(Interval { months: whole_months, days, micros: micros as i64 })
        }
        _ => Err(out_of_range()),
    }
}

fn whole(number: f64) -> Result<i32> {
    if !(f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number) {
        return Err(out_of_range());
    }
    Ok(number as i32)
}
