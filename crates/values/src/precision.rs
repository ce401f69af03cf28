//! Digits of seconds after the point: the typmod of times, timestamps and intervals.

/// Digits at most.
const MOST: i32 = 6;

/// Microseconds rounded to a precision, halves away from zero; a precision that is none leaves them.
pub(crate) fn round(micros: i64, precision: i32) -> i64 {
    if !(0..MOST).contains(&precision) {
        return micros;
    }
    let unit = 10i64.pow((MOST - precision) as u32);
    let rounded = (i128::from(micros.unsigned_abs()) + i128::from(unit / 2)) / i128::from(unit);
    let rounded = (rounded * i128::from(unit)) as i64;
    if micros < 0 { -rounded } else { rounded }
}

/// The message of a precision that is none, for example `TIMESTAMP(9)`.
pub(crate) fn fault(type_name: &str, precision: i32) -> crate::error::ValueError {
    let message = format!("{type_name}({precision}) precision must be between 0 and {MOST}");
    crate::error::ValueError::new("22023", message)
}

/// Whether a typmod is a precision that is too large.
pub(crate) fn is_too_large(precision: i32) -> bool {
    precision > MOST
}
