//! Casts between `numeric`, whole numbers and binary floating point.

use super::{Decimal, Integer, Numeric, parse};
use crate::error::{Result, ValueError};
use crate::float;

/// A whole number.
pub fn from_i64(value: i64) -> Numeric {
    Numeric::whole(i128::from(value))
}

/// The 15 significant digits that PostgreSQL takes of a double precision.
///
/// # Errors
/// None that a double precision reaches.
pub fn from_f64(value: f64) -> Result<Numeric> {
    from_float(value, 15)
}

/// The 6 significant digits that PostgreSQL takes of a real.
///
/// # Errors
/// None that a real reaches.
pub fn from_f32(value: f32) -> Result<Numeric> {
    from_float(f64::from(value), 6)
}

fn from_float(value: f64, digits: usize) -> Result<Numeric> {
    if value.is_nan() {
        return Ok(Numeric::NaN);
    }
    if value.is_infinite() {
        return Ok(Numeric::infinity(if value > 0.0 { 1 } else { -1 }));
    }
    let rounded = parse(&format!("{value:.0$e}", digits - 1))?;
    // As C's `%g` does: zeros at the end are not written.
    Ok(super::trim_scale(&rounded))
}

/// The nearest double precision.
///
/// # Errors
/// 22003 where it is out of range.
pub fn to_f64(value: &Numeric) -> Result<f64> {
    match value {
        Numeric::Finite(decimal) => float::parse_f64(&decimal.to_string()),
        Numeric::NaN => Ok(f64::NAN),
        other => Ok(f64::from(other.signum()) * f64::INFINITY),
    }
}

/// The nearest real.
///
/// # Errors
/// 22003 where it is out of range.
pub fn to_f32(value: &Numeric) -> Result<f32> {
    match value {
        Numeric::Finite(decimal) => float::parse_f32(&decimal.to_string()),
        Numeric::NaN => Ok(f32::NAN),
        other => Ok(other.signum() as f32 * f32::INFINITY),
    }
}

/// The nearest bigint, halves away from zero.
///
/// # Errors
/// 22003 out of range; 0A000 for NaN and infinities.
pub fn to_i64(value: &Numeric) -> Result<i64> {
    rounded(value, "bigint")
}

/// The nearest integer, halves away from zero.
///
/// # Errors
/// 22003 out of range; 0A000 for NaN and infinities.
pub fn to_i32(value: &Numeric) -> Result<i32> {
    rounded(value, "integer")
}

/// The nearest smallint, halves away from zero.
///
/// # Errors
/// 22003 out of range; 0A000 for NaN and infinities.
pub fn to_i16(value: &Numeric) -> Result<i16> {
    rounded(value, "smallint")
}

fn rounded<T: TryFrom<i64>>(value: &Numeric, name: &str) -> Result<T> {
    let unsupported =
        |what: &str| Err(ValueError::new("0A000", format!("cannot convert {what} to {name}")));
    match value {
        Numeric::Finite(decimal) => {
            let whole = decimal.rounded(0).coefficient.to_i64();
            let fitting = whole.and_then(|whole| T::try_from(whole).ok());
            fitting.ok_or_else(|| ValueError::new("22003", format!("{name} out of range")))
        }
        Numeric::NaN => unsupported("NaN"),
        _ => unsupported("infinity"),
    }
}

impl Decimal {
    /// The nearest double precision; infinite or zero beyond its range.
    pub(crate) fn approximate(&self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    pub(crate) fn one() -> Self {
        Self::new(Integer::Small(1), 0)
    }
}
