//! Intervals from numbers.

use super::{Interval, out_of_range};
use crate::calendar::{HOUR, MINUTE, SECOND};
use crate::error::Result;

/// The interval of whole units and seconds.
///
/// # Errors
/// 22008 where seconds are no number, or a part is outside its range.
pub fn make(
    [years, months, weeks, days, hours, minutes]: [i32; 6],
    seconds: f64,
) -> Result<Interval> {
    let micros = (seconds * SECOND as f64).round_ties_even();
    if !(i64::MIN as f64..-(i64::MIN as f64)).contains(&micros) {
        return Err(out_of_range());
    }
    let made = || {
        let of_clock = i64::from(hours) * HOUR + i64::from(minutes) * MINUTE;
        Some(Interval {
            months: years.checked_mul(12)?.checked_add(months)?,
            days: weeks.checked_mul(7)?.checked_add(days)?,
            micros: of_clock.checked_add(micros as i64)?,
        })
    };
    made().ok_or_else(out_of_range)
}
