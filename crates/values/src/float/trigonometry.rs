//! Trigonometric functions of radians, and the hyperbolic ones.

use super::out_of_range;
use crate::error::Result;

/// Radians of a degree.
pub(super) const DEGREE: f64 = 0.017_453_292_519_943_295;

/// The C library's, which the standard library computes in its own way.
mod c {
    // SAFETY: pure functions of C's standard, over any numbers.
    unsafe extern "C" {
        pub safe fn asinh(value: f64) -> f64;
        pub safe fn acosh(value: f64) -> f64;
        pub safe fn atanh(value: f64) -> f64;
    }
}

/// What a function gives for arguments that are not infinite.
///
/// # Errors
/// 22003 for infinite arguments.
pub(super) fn of_finite(value: f64, function: impl Fn(f64) -> f64) -> Result<f64> {
    if value.is_infinite() { Err(out_of_range()) } else { Ok(function(value)) }
}

/// What a function gives for arguments between -1 and 1.
///
/// # Errors
/// 22003 for arguments beyond them.
pub(super) fn of_unit(value: f64, function: impl Fn(f64) -> f64) -> Result<f64> {
    if value.abs() > 1.0 { Err(out_of_range()) } else { Ok(function(value)) }
}

pub(super) fn cotangent(value: f64) -> f64 {
    1.0 / value.tan()
}

pub(super) fn area_sine(value: f64) -> f64 {
    c::asinh(value)
}

/// # Errors
/// 22003 for arguments below 1.
pub(super) fn area_cosine(value: f64) -> Result<f64> {
    if value < 1.0 { Err(out_of_range()) } else { Ok(c::acosh(value)) }
}

/// # Errors
/// 22003 for arguments beyond -1 and 1.
pub(super) fn area_tangent(value: f64) -> Result<f64> {
    of_unit(value, |value| if value.abs() == 1.0 { value * f64::INFINITY } else { c::atanh(value) })
}
