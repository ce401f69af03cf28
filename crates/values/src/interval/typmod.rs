//! Which fields an interval's type keeps, and how many digits of seconds.

use super::Interval;
use crate::calendar::{HOUR, MINUTE};
use crate::error::{Result, ValueError};
use crate::precision;

/// Bits of fields, in the upper half of a typmod.
pub(super) const MONTH: i32 = 1 << 1;
pub(super) const YEAR: i32 = 1 << 2;
pub(super) const DAY_FIELD: i32 = 1 << 3;
pub(super) const HOUR_FIELD: i32 = 1 << 10;
pub(super) const MINUTE_FIELD: i32 = 1 << 11;
pub(super) const SECOND_FIELD: i32 = 1 << 12;
/// Every field.
pub(super) const ALL: i32 = 0x7fff;
/// Every digit.
const FULL_PRECISION: i32 = 0xffff;

/// The fields of a typmod, -1 for all.
pub(super) fn fields(typmod: i32) -> i32 {
    if typmod < 0 { ALL } else { typmod >> 16 & ALL }
}

/// An interval with the fields and digits that a typmod keeps.
///
/// # Errors
/// 22023 for a typmod that is none.
pub fn scale(span: &Interval, typmod: i32) -> Result<Interval> {
    const YEAR_TO_MONTH: i32 = YEAR | MONTH;
    const DAY_TO_HOUR: i32 = DAY_FIELD | HOUR_FIELD;
    const DAY_TO_MINUTE: i32 = DAY_TO_HOUR | MINUTE_FIELD;
    const DAY_TO_SECOND: i32 = DAY_TO_MINUTE | SECOND_FIELD;
    const HOUR_TO_MINUTE: i32 = HOUR_FIELD | MINUTE_FIELD;
    const HOUR_TO_SECOND: i32 = HOUR_TO_MINUTE | SECOND_FIELD;
    const MINUTE_TO_SECOND: i32 = MINUTE_FIELD | SECOND_FIELD;
    if typmod < 0 {
        return Ok(*span);
    }
    let mut kept = *span;
    match fields(typmod) {
        YEAR => kept = Interval { months: span.months / 12 * 12, ..Interval::default() },
        MONTH | YEAR_TO_MONTH => kept = Interval { months: span.months, ..Interval::default() },
        DAY_FIELD => kept.micros = 0,
        HOUR_FIELD | DAY_TO_HOUR => kept.micros = span.micros / HOUR * HOUR,
        MINUTE_FIELD | DAY_TO_MINUTE | HOUR_TO_MINUTE => {
            kept.micros = span.micros / MINUTE * MINUTE;
        }
        ALL | SECOND_FIELD | DAY_TO_SECOND | HOUR_TO_SECOND | MINUTE_TO_SECOND => {}
        _ => {
            return Err(ValueError::new(
                "XX000",
                format!("unrecognized interval typmod: {typmod}"),
            ));
        }
    }
    match typmod & FULL_PRECISION {
        FULL_PRECISION => {}
        digits if precision::is_outside(digits) => {
            return Err(precision::fault("interval", digits));
        }
        digits => kept.micros = precision::round(kept.micros, digits),
    }
    Ok(kept)
}
