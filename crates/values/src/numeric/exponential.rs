//! Exponential and logarithms.

use std::f64::consts::LOG10_E;

use super::arithmetic::aligned;
use super::divide::quotient;
use super::{
    Decimal, Integer, MAX_CHOSEN_SCALE, MIN_SIGNIFICANT_DIGITS, Numeric, division_by_zero, fixed,
    overflow,
};
use crate::error::{Result, ValueError};

/// Beyond this exponent a result overflows, or is zero at every scale.
const GREATEST_EXPONENT: f64 = 6_000.0;
const FARTHEST_WEIGHT: f64 = 2_000.0;

/// e to the power of `value`, with at least 16 significant digits.
///
/// # Errors
/// 22003 beyond the type.
pub fn exp(value: &Numeric) -> Result<Numeric> {
    let decimal = match value {
        Numeric::Finite(decimal) => decimal,
        Numeric::NegativeInfinity => return Ok(Numeric::ZERO),
        other => return Ok(other.clone()),
    };
    let weight = (decimal.approximate() * LOG10_E).clamp(-FARTHEST_WEIGHT, FARTHEST_WEIGHT);
    let scale = chosen_scale(MIN_SIGNIFICANT_DIGITS - weight as i64, decimal.scale);
    exp_at(decimal, scale)?.checked()
}

/// e to the power of `value`, rounded to `scale` digits.
pub(super) fn exp_at(value: &Decimal, scale: u32) -> Result<Decimal> {
    let approximate = value.approximate();
    if approximate.abs() >= GREATEST_EXPONENT {
        return if approximate > 0.0 { Err(overflow()) } else { Ok(Decimal::zero(scale)) };
    }
    let before_point = (approximate * LOG10_E).max(0.0) as i64;
    let bits = fixed::bits_of_digits(i64::from(scale) + before_point);
    Ok(fixed::to_decimal(&fixed::exp(&fixed::from_decimal(value, bits), bits), bits, scale))
}

/// The natural logarithm, with at least 16 significant digits.
///
/// # Errors
/// 2201E for zero and negative numbers.
pub fn ln(value: &Numeric) -> Result<Numeric> {
    reject_signs(&[value])?;
    match value {
        Numeric::Finite(decimal) => {
            let least = MIN_SIGNIFICANT_DIGITS - ln_weight(decimal);
            ln_at(decimal, chosen_scale(least, decimal.scale)).checked()
        }
        other => Ok(other.clone()),
    }
}

/// The natural logarithm of a positive number, rounded to `scale` digits.
pub(super) fn ln_at(value: &Decimal, scale: u32) -> Decimal {
    let bits = fixed::bits_of_digits(i64::from(scale));
    fixed::to_decimal(&fixed::ln(value, bits), bits, scale)
}

/// The logarithm of `value` to any base, with at least 16 significant digits.
///
/// # Errors
/// 2201E for zero and negative numbers; 22012 for base 1.
pub fn log(base: &Numeric, value: &Numeric) -> Result<Numeric> {
    if base.is_nan() || value.is_nan() {
        return Ok(Numeric::NaN);
    }
    reject_signs(&[base, value])?;
    match (base, value) {
        (Numeric::Finite(base), Numeric::Finite(value)) => log_finite(base, value)?.checked(),
        (Numeric::Finite(_), _) => Ok(Numeric::Infinity),
        (_, Numeric::Finite(_)) => Ok(Numeric::ZERO),
        _ => Ok(Numeric::NaN),
    }
}

fn log_finite(base: &Decimal, value: &Decimal) -> Result<Decimal> {
    let (base_weight, value_weight) = (ln_weight(base), ln_weight(value));
    let weight = value_weight - base_weight;
    let scale = chosen_scale(MIN_SIGNIFICANT_DIGITS - weight, base.scale.max(value.scale));
    // Each logarithm with eight digits more than the result has.
    let digits = i64::from(scale) + weight + 8;
    let ln_base = ln_at(base, (digits - base_weight).max(0) as u32);
    let ln_value = ln_at(value, (digits - value_weight).max(0) as u32);
    if ln_base.is_zero() {
        return Err(division_by_zero());
    }
    Ok(quotient(&ln_value, &ln_base, scale))
}

fn reject_signs(values: &[&Numeric]) -> Result<()> {
    let is = |sign: i32| values.iter().any(|value| !value.is_nan() && value.signum() == sign);
    if is(-1) {
        return Err(ValueError::new("2201E", "cannot take logarithm of a negative number"));
    }
    if is(0) {
        return Err(ValueError::new("2201E", "cannot take logarithm of zero"));
    }
    Ok(())
}

/// At least the operand's scale, and what the type lets roots and logarithms choose.
pub(super) fn chosen_scale(scale: i64, operand: u32) -> u32 {
    scale.max(i64::from(operand)).clamp(0, MAX_CHOSEN_SCALE) as u32
}

/// About the power of ten of the first digit of a positive number's natural logarithm, as PostgreSQL estimates it.
pub(super) fn ln_weight(value: &Decimal) -> i64 {
    let one = Decimal::one();
    let difference = aligned(value, &one, Integer::minus);
    let tenth = Decimal::new(Integer::Small(1), 1);
    let beyond = aligned(
        &Decimal::new(difference.coefficient.absolute(), difference.scale),
        &tenth,
        Integer::minus,
    );
    if beyond.coefficient.signum() <= 0 {
        return difference.magnitude();
    }
    let first = value.magnitude().rem_euclid(4) as u32 + 1;
    let digits = value.coefficient.leading(first + 4);
    let power = (value.weight() - 1) * 4;
    let ln = (digits as f64).ln() + power as f64 * std::f64::consts::LN_10;
    ln.abs().log10() as i64
}
