//! Rounding, roots, powers, exponential and logarithms.

use super::{overflow, underflow};
use crate::error::{Result, ValueError};

/// -1, 0 or 1; 0 of NaN.
pub fn sign(value: f64) -> f64 {
    if value > 0.0 {
        1.0
    } else if value < 0.0 {
        -1.0
    } else {
        0.0
    }
}

/// The square root.
///
/// # Errors
/// 2201F for negative numbers.
pub fn square_root(value: f64) -> Result<f64> {
    if value < 0.0 {
        return Err(ValueError::new("2201F", "cannot take square root of a negative number"));
    }
    Ok(value.sqrt())
}

/// `base ^ exponent`.
///
/// # Errors
/// 2201F for zero to a negative power and negative numbers to one that is not whole; 22003 out of range.
pub fn power(base: f64, exponent: f64) -> Result<f64> {
    if base.is_nan() || exponent.is_nan() {
        return Ok(if exponent == 0.0 || base == 1.0 { 1.0 } else { f64::NAN });
    }
    let undefined = |message| Err(ValueError::new("2201F", message));
    if base == 0.0 && exponent < 0.0 {
        return undefined("zero raised to a negative power is undefined");
    }
    if base < 0.0 && exponent.floor() != exponent {
        return undefined(
            "a negative number raised to a non-integer power yields a complex result",
        );
    }
    let result = base.powf(exponent);
    if base.is_infinite() || exponent.is_infinite() {
        return Ok(result);
    }
    bounded(result, base == 0.0)
}

/// e to the power of `value`.
///
/// # Errors
/// 22003 out of range.
pub fn exp(value: f64) -> Result<f64> {
    if value.is_infinite() { Ok(value.exp()) } else { bounded(value.exp(), false) }
}

/// The natural logarithm.
///
/// # Errors
/// 2201E for zero and negative numbers.
pub fn ln(value: f64) -> Result<f64> {
    reject_sign(value).map(f64::ln)
}

/// The decimal logarithm.
///
/// # Errors
/// 2201E for zero and negative numbers.
pub fn log10(value: f64) -> Result<f64> {
    reject_sign(value).map(f64::log10)
}

fn reject_sign(value: f64) -> Result<f64> {
    if value == 0.0 {
        return Err(ValueError::new("2201E", "cannot take logarithm of zero"));
    }
    if value < 0.0 {
        return Err(ValueError::new("2201E", "cannot take logarithm of a negative number"));
    }
    Ok(value)
}

fn bounded(result: f64, may_be_zero: bool) -> Result<f64> {
    if result.is_infinite() {
        Err(overflow())
    } else if result == 0.0 && !may_be_zero {
        Err(underflow())
    } else {
        Ok(result)
    }
}
