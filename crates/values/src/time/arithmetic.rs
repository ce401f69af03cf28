//! Times and intervals. What goes beyond a day wraps, as does, in PostgreSQL, what goes beyond 64 bits.

use crate::calendar::DAY;
use crate::interval::Interval;

/// A time some interval later; its months and days do not count.
pub fn plus_interval(time: i64, span: &Interval) -> i64 {
    time.wrapping_add(span.micros).rem_euclid(DAY)
}

/// A time some interval earlier; its months and days do not count.
pub fn minus_interval(time: i64, span: &Interval) -> i64 {
    time.wrapping_sub(span.micros).rem_euclid(DAY)
}

/// The interval from `from` to `to`.
pub fn between(to: i64, from: i64) -> Interval {
    Interval { months: 0, days: 0, micros: to - from }
}

/// The time of day that the hours, minutes and seconds of an interval reach.
pub fn of_interval(span: &Interval) -> i64 {
    span.micros.rem_euclid(DAY)
}
