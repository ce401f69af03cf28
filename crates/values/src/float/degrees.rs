//! Trigonometric functions of degrees, exact at the multiples of 30 and 45 where an exact result exists.
//!
//! Everything is reduced to the first quadrant, and scaled by what the C library gives at 30, 45 or 60 degrees, so that its error there
//! cancels out.

use std::hint::black_box;

use super::trigonometry::{DEGREE, of_finite, of_unit};
use crate::error::Result;

/// # Errors
/// 22003 for infinite angles.
pub(super) fn sine(angle: f64) -> Result<f64> {
    of_finite(angle, |angle| {
        let (angle, sign) = halved(angle);
        sign * sine_in_quadrant(if angle > 90.0 { 180.0 - angle } else { angle })
    })
}

/// # Errors
/// 22003 for infinite angles.
pub(super) fn cosine(angle: f64) -> Result<f64> {
    of_finite(angle, |angle| {
        let (angle, _) = halved(angle);
        if angle > 90.0 { -cosine_in_quadrant(180.0 - angle) } else { cosine_in_quadrant(angle) }
    })
}

/// # Errors
/// 22003 for infinite angles.
pub(super) fn tangent(angle: f64) -> Result<f64> {
    of_finite(angle, |angle| ratio(angle, sine_in_quadrant, cosine_in_quadrant))
}

/// # Errors
/// 22003 for infinite angles.
pub(super) fn cotangent(angle: f64) -> Result<f64> {
    of_finite(angle, |angle| ratio(angle, cosine_in_quadrant, sine_in_quadrant))
}

/// # Errors
/// 22003 for arguments beyond -1 and 1.
pub(super) fn arc_sine(value: f64) -> Result<f64> {
    of_unit(value, |value| {
        if value >= 0.0 { arc_sine_of_positive(value) } else { -arc_sine_of_positive(-value) }
    })
}

/// # Errors
/// 22003 for arguments beyond -1 and 1.
pub(super) fn arc_cosine(value: f64) -> Result<f64> {
    of_unit(value, |value| {
        if value.is_nan() {
            value
        } else if value >= 0.0 {
            arc_cosine_of_positive(value)
        } else {
            90.0 + arc_sine_of_positive(-value)
        }
    })
}

pub(super) fn arc_tangent(value: f64) -> f64 {
    value.atan() / known(1.0).atan() * 45.0
}

pub(super) fn arc_tangent_of_two(y: f64, x: f64) -> f64 {
    y.atan2(x) / known(1.0).atan() * 45.0
}

/// Hidden from the compiler, so that the library computes what the arguments are scaled by, as it does the arguments.
fn known(value: f64) -> f64 {
    black_box(value)
}

/// An angle between 0 and 180 degrees, and the sign of its sine.
fn halved(angle: f64) -> (f64, f64) {
    let angle = angle % 360.0;
    let (angle, sign) = if angle < 0.0 { (-angle, -1.0) } else { (angle, 1.0) };
    if angle > 180.0 { (360.0 - angle, -sign) } else { (angle, sign) }
}

fn ratio(angle: f64, over: fn(f64) -> f64, under: fn(f64) -> f64) -> f64 {
    let (angle, sign) = halved(angle);
    let (angle, sign) = if angle > 90.0 { (180.0 - angle, -sign) } else { (angle, sign) };
    let at_45 = over(known(45.0)) / under(known(45.0));
    let result = sign * (over(angle) / under(angle) / at_45);
    // Never -0.
    if result == 0.0 { 0.0 } else { result }
}

fn sine_in_quadrant(angle: f64) -> f64 {
    if angle <= 30.0 { small_sine(angle) } else { small_cosine(90.0 - angle) }
}

fn cosine_in_quadrant(angle: f64) -> f64 {
    if angle <= 60.0 { small_cosine(angle) } else { small_sine(90.0 - angle) }
}

/// Up to 30 degrees.
fn small_sine(angle: f64) -> f64 {
    (angle * DEGREE).sin() / (known(30.0) * DEGREE).sin() / 2.0
}

/// Up to 60 degrees.
fn small_cosine(angle: f64) -> f64 {
    let rest = |angle: f64| 1.0 - (angle * DEGREE).cos();
    1.0 - rest(angle) / rest(known(60.0)) / 2.0
}

fn arc_sine_of_positive(value: f64) -> f64 {
    if value <= 0.5 {
        value.asin() / known(0.5).asin() * 30.0
    } else {
        90.0 - value.acos() / known(0.5).acos() * 60.0
    }
}

fn arc_cosine_of_positive(value: f64) -> f64 {
    if value <= 0.5 {
        90.0 - value.asin() / known(0.5).asin() * 30.0
    } else {
        value.acos() / known(0.5).acos() * 60.0
    }
}
