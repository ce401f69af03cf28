//! Casts of floating point.

use super::{overflow, underflow};
use crate::error::{Result, ValueError};
use crate::int::Int;

/// The nearest whole number, halves to even ones.
///
/// # Errors
/// 22003 where the type does not hold it, as it does not NaN.
pub fn to_int<T: Int>(value: f64) -> Result<T> {
    let rounded = value.round_ties_even();
    let bound = -T::LEAST_AS_FLOAT;
    if !(-bound..bound).contains(&rounded) {
        return Err(ValueError::new("22003", format!("{} out of range", T::NAME)));
    }
    Ok(T::from_i64(rounded as i64))
}

/// The nearest real.
///
/// # Errors
/// 22003 where a finite number is beyond the largest or another than zero below the smallest.
pub fn to_f32(value: f64) -> Result<f32> {
    let narrow = value as f32;
    if narrow.is_infinite() && !value.is_infinite() {
        Err(overflow())
    } else if narrow == 0.0 && value != 0.0 {
        Err(underflow())
    } else {
        Ok(narrow)
    }
}
