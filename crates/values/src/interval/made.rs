//! Intervals from numbers.

use super::{Interval, out_of_range};
use crate::calendar::{HOUR, MINUTE, SECOND};
use crate::error::Result;

/// The interval of whole units and seconds. Sums wrap, as PostgreSQL's do.
///
/// # Errors
/// 22008 where seconds are infinite or no number.
pub fn make(
    [years, months, weeks, days, hours, minutes]: [i32; 6],
    seconds: f64,
) -> Result<Interval> {
    if !seconds.is_finite() {
        return Err(out_of_range());
    }
    let micros = (seconds * SECOND as f64).round_ties_even();
    // What is beyond 64 bits is the least number, as processors convert it.
    let is_inside = (i64::MIN as f64..-(i64::MIN as f64)).contains(&micros);
    let micros = if is_inside { micros as i64 } else { i64::MIN };
    let of_clock = i64::from(hours) * HOUR + i64::from(minutes) * MINUTE;
    Ok(Interval {
        months: years.wrapping_mul(12).wrapping_add(months),
        days: weeks.wrapping_mul(7).wrapping_add(days),
        micros: of_clock.wrapping_add(micros),
    })
}
