//! Intervals whose parts are moved into the larger ones, with one sign where that can be.

use super::{Interval, out_of_range};
use crate::calendar::{DAY, MONTH_DAYS};
use crate::error::Result;

/// 24 hours become a day.
///
/// # Errors
/// 22008 where there are too many days.
pub fn justify_hours(span: &Interval) -> Result<Interval> {
    let days = i32::try_from(span.micros / DAY).expect("a day is large");
    let days = span.days.checked_add(days).ok_or_else(out_of_range)?;
    Ok(one_sign_of_days(Interval { days, micros: span.micros % DAY, ..*span }))
}

/// 30 days become a month.
///
/// # Errors
/// 22008 where there are too many months.
pub fn justify_days(span: &Interval) -> Result<Interval> {
    let Interval { mut months, mut days, micros } = carry_days(span)?;
    if months > 0 && days < 0 {
        (months, days) = (months - 1, days + MONTH_DAYS);
    } else if months < 0 && days > 0 {
        (months, days) = (months + 1, days - MONTH_DAYS);
    }
    Ok(Interval { months, days, micros })
}

/// 24 hours become a day, 30 days a month, and all parts have one sign.
///
/// # Errors
/// 22008 where there are too many months.
pub fn justify_interval(span: &Interval) -> Result<Interval> {
    let mut moved = *span;
    // First the days that are there, where adding might be too much.
    if (span.days > 0 && span.micros > 0) || (span.days < 0 && span.micros < 0) {
        moved = carry_days(&moved)?;
    }
    let days = i32::try_from(moved.micros / DAY).expect("a day is large");
    let days = moved.days.checked_add(days).ok_or_else(out_of_range)?;
    moved = carry_days(&Interval { days, micros: moved.micros % DAY, ..moved })?;
    let Interval { months, days, micros } = moved;
    if months > 0 && (days < 0 || (days == 0 && micros < 0)) {
        moved = Interval { months: months - 1, days: days + MONTH_DAYS, micros };
    } else if months < 0 && (days > 0 || (days == 0 && micros > 0)) {
        moved = Interval { months: months + 1, days: days - MONTH_DAYS, micros };
    }
    Ok(one_sign_of_days(moved))
}

fn carry_days(span: &Interval) -> Result<Interval> {
    let months = span.months.checked_add(span.days / MONTH_DAYS).ok_or_else(out_of_range)?;
    Ok(Interval { months, days: span.days % MONTH_DAYS, ..*span })
}

/// Days and microseconds (less than a day) of one sign.
fn one_sign_of_days(span: Interval) -> Interval {
    let Interval { days, micros, .. } = span;
    if days > 0 && micros < 0 {
        return Interval { days: days - 1, micros: micros + DAY, ..span };
    }
    if days < 0 && micros > 0 {
        return Interval { days: days + 1, micros: micros - DAY, ..span };
    }
    span
}
