//! Intervals as Arrow keeps them, by nanoseconds, and as `values` computes with them, by microseconds.

use datafusion::arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalUnit};
use engine::types::{Error, SqlState};
use values::interval::Interval;

use crate::text::of_values;

/// `interval`.
pub const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);

/// As `values` has it.
pub fn interval(kept: IntervalMonthDayNano) -> Interval {
    Interval { months: kept.months, days: kept.days, micros: micros(kept) }
}

/// As Arrow keeps it; 22008 for more time than nanoseconds count.
pub fn kept(interval: Interval) -> Result<IntervalMonthDayNano, Error> {
    of_parts(interval.months, interval.days, interval.micros)
}

/// The same of its parts.
pub fn of_parts(months: i32, days: i32, micros: i64) -> Result<IntervalMonthDayNano, Error> {
    let nanos = micros.checked_mul(1_000).ok_or_else(out_of_range)?;
    Ok(IntervalMonthDayNano::new(months, days, nanos))
}

/// Its hours, minutes and seconds in microseconds.
pub fn micros(interval: IntervalMonthDayNano) -> i64 {
    interval.nanoseconds / 1_000
}

/// What an interval amounts to in microseconds, with months of 30 days and days of 24 hours: by this PostgreSQL compares.
pub fn span(kept: IntervalMonthDayNano) -> i128 {
    interval(kept).key()
}

/// An interval by a number.
pub fn divided(dividend: IntervalMonthDayNano, by: f64) -> Result<IntervalMonthDayNano, Error> {
    values::interval::divide(&interval(dividend), by).map_err(of_values).and_then(kept)
}

/// 22008 for an interval that is too long.
pub fn out_of_range() -> Error {
    Error::new(SqlState::DatetimeOverflow, "interval out of range")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_as_long_as_postgresql_says() {
        let day = 86_400_000_000;
        assert_eq!(span(IntervalMonthDayNano::new(1, 0, 0)), 30 * day);
        assert_eq!(span(IntervalMonthDayNano::new(-1, 31, -1_000)), day - 1);
        assert_eq!(
            span(IntervalMonthDayNano::new(i32::MAX, 0, 0)),
            i128::from(i32::MAX) * 30 * day
        );
    }

    #[test]
    fn what_nanoseconds_do_not_count_is_refused() {
        assert!(kept(Interval { months: 1, days: 2, micros: i64::MAX / 1_000 }).is_ok());
        let fault = kept(Interval { micros: i64::MAX, ..Interval::default() });
        assert_eq!(fault.expect_err("too long").state, SqlState::DatetimeOverflow);
    }
}
