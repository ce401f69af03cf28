//! Rounding, cutting and the scales of declared columns.

use super::{Decimal, Integer, MAX_SCALE, MAX_WHOLE_DIGITS, Numeric};
use crate::error::{Result, ValueError};

/// One place beyond the longest number.
const FARTHEST_BEFORE_POINT: i32 = MAX_WHOLE_DIGITS as i32 + 1;
/// What PostgreSQL adds to a type modifier.
const TYPMOD_OFFSET: i32 = 4;

/// Rounded to `places` digits after the point, or before it for negative ones; halves away from zero.
///
/// # Errors
/// 22003 beyond the type.
pub fn round(value: &Numeric, places: i32) -> Result<Numeric> {
    at_place(value, places, |decimal, scale| decimal.rounded(scale), Integer::divided_rounding)
}

/// Cut to `places` digits after the point, or before it for negative ones.
///
/// # Errors
/// 22003 beyond the type.
pub fn truncate(value: &Numeric, places: i32) -> Result<Numeric> {
    let cut = |coefficient: &Integer, power: &Integer| coefficient.divided(power).0;
    at_place(value, places, |decimal, scale| decimal.cut(scale), cut)
}

fn at_place(
    value: &Numeric,
    places: i32,
    behind_point: impl Fn(&Decimal, u32) -> Decimal,
    before_point: impl Fn(&Integer, &Integer) -> Integer,
) -> Result<Numeric> {
    let Numeric::Finite(decimal) = value else {
        return Ok(value.clone());
    };
    let places = places.clamp(-FARTHEST_BEFORE_POINT, MAX_SCALE as i32);
    if let Ok(scale) = u32::try_from(places) {
        return behind_point(decimal, scale).checked();
    }
    let zeros = places.unsigned_abs();
    if i64::from(zeros) > decimal.magnitude() + 1 {
        return Ok(Numeric::ZERO);
    }
    let power = Integer::power_of_ten(zeros + decimal.scale);
    Decimal::new(before_point(&decimal.coefficient, &power).shifted(zeros), 0).checked()
}

/// The least whole number that is not below.
///
/// # Errors
/// 22003 beyond the type.
pub fn ceil(value: &Numeric) -> Result<Numeric> {
    towards(value, 1)
}

/// The greatest whole number that is not above.
///
/// # Errors
/// 22003 beyond the type.
pub fn floor(value: &Numeric) -> Result<Numeric> {
    towards(value, -1)
}

fn towards(value: &Numeric, direction: i32) -> Result<Numeric> {
    let Numeric::Finite(decimal) = value else {
        return Ok(value.clone());
    };
    let (whole, rest) = decimal.coefficient.divided(&Integer::power_of_ten(decimal.scale));
    let moved = if rest.signum() == direction {
        whole.plus(&Integer::Small(i128::from(direction)))
    } else {
        whole
    };
    Decimal::new(moved, 0).checked()
}

/// Without the zeros that its fraction ends with.
pub fn trim_scale(value: &Numeric) -> Numeric {
    match value {
        Numeric::Finite(decimal) => Numeric::Finite(decimal.cut(decimal.least_scale())),
        other => other.clone(),
    }
}

impl Decimal {
    /// The digits after the point that the number needs.
    pub(crate) fn least_scale(&self) -> u32 {
        if self.is_zero() {
            return 0;
        }
        self.scale.saturating_sub(self.coefficient.trailing_zeros())
    }
}

/// As a column `numeric(p, s)` holds it; `typmod` as `pg_attribute.atttypmod` encodes both, negative for none.
///
/// # Errors
/// 22003 where more digits are before the point than the column has.
pub fn apply_typmod(value: &Numeric, typmod: i32) -> Result<Numeric> {
    if typmod < TYPMOD_OFFSET {
        return Ok(value.clone());
    }
    let bits = typmod - TYPMOD_OFFSET;
    let precision = (bits >> 16) & 0xFFFF;
    // Eleven bits with a sign.
    let scale = ((bits & 0x7FF) ^ 1024) - 1024;
    let decimal = match value {
        Numeric::Finite(decimal) => decimal,
        Numeric::NaN => return Ok(Numeric::NaN),
        _ => return Err(no_infinity(precision, scale)),
    };
    let rounded = fitted(decimal, scale);
    let most = precision - scale;
    if !rounded.is_zero() && rounded.magnitude() >= i64::from(most) {
        return Err(too_large(precision, scale));
    }
    rounded.checked()
}

/// Rounded to a column's scale, which may be negative.
fn fitted(decimal: &Decimal, scale: i32) -> Decimal {
    if let Ok(scale) = u32::try_from(scale) {
        return decimal.rounded(scale.min(MAX_SCALE));
    }
    let zeros = scale.unsigned_abs();
    let power = Integer::power_of_ten(zeros + decimal.scale);
    Decimal::new(decimal.coefficient.divided_rounding(&power).shifted(zeros), 0)
}

fn field_overflow(detail: String) -> ValueError {
    ValueError { detail: Some(detail.into()), ..ValueError::new("22003", "numeric field overflow") }
}

fn no_infinity(precision: i32, scale: i32) -> ValueError {
    field_overflow(format!(
        "A field with precision {precision}, scale {scale} cannot hold an infinite value."
    ))
}

fn too_large(precision: i32, scale: i32) -> ValueError {
    let most = precision - scale;
    let bound = if most == 0 { "1".to_owned() } else { format!("10^{most}") };
    field_overflow(format!(
        "A field with precision {precision}, scale {scale} must round to an absolute value less than {bound}."
    ))
}
