//! The difference of two timestamps in years, months and days.

use super::out_of_range;
use crate::calendar::days_in_month;
use crate::error::Result;
use crate::interval::{self, Interval};
use crate::moment::{FIRST_TIMESTAMP, Moment};

/// From `from` to `to` in years, months, days and time.
///
/// # Errors
/// 22008 before the first timestamp.
pub fn age(to: i64, from: i64) -> Result<Interval> {
    if to < FIRST_TIMESTAMP || from < FIRST_TIMESTAMP {
        return Err(out_of_range());
    }
    symbolic_difference(to, &Moment::of_timestamp(to), from, &Moment::of_timestamp(from))
}

/// As [`age`], of two timestamps whose parts are told.
pub(crate) fn symbolic_difference(
    to: i64,
    to_parts: &Moment,
    from: i64,
    from_parts: &Moment,
) -> Result<Interval> {
    let (later, earlier) = if to < from { (from_parts, to_parts) } else { (to_parts, from_parts) };
    let mut micros = later.time() - earlier.time();
    let mut days = later.day - earlier.day;
    let mut months = (i64::from(later.year) - i64::from(earlier.year)) * 12
        + i64::from(later.month - earlier.month);
    while micros < 0 {
        micros += crate::calendar::DAY;
        days -= 1;
    }
    // What is missing is lent by the month in which the earlier one is.
    let lent = days_in_month(earlier.year, earlier.month);
    while days < 0 {
        days += lent;
        months -= 1;
    }
    let months = i32::try_from(months).map_err(|_| interval::out_of_range())?;
    let span = Interval { months, days, micros };
    Ok(if to < from { span.wrapping_negative() } else { span })
}
