//! Digits of seconds after the point: the typmod of times, timestamps and intervals.

/// Digits at most.
const MOST: i32 = 6;

/// Microseconds rounded to a precision, halves away from zero; a precision that is none leaves them.
pub(crate) fn round(micros: i64, precision: i32) -> i64 {
    if !(0..MOST).contains(&precision) {
        return micros;
    }
    let unit = 10i64.pow((MOST - precision) as u32);
    // PostgreSQL's sum wraps beyond 64 bits.
    let rounded = |micros: i64| micros.wrapping_add(unit / 2) / unit * unit;
    if micros < 0 { -rounded(micros.wrapping_neg()) } else { rounded(micros) }
}

/// The message of a precision that is none, for example `TIMESTAMP(9)`.
pub(crate) fn fault(type_name: &str, precision: i32) -> crate::error::ValueError {
    let message = format!("{type_name}({precision}) precision must be between 0 and {MOST}");
    crate::error::ValueError::new("22023", message)
}

/// Whether a number of digits is none.
pub(crate) fn is_outside(precision: i32) -> bool {
    !(0..=MOST).contains(&precision)
}
