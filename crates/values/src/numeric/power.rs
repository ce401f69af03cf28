//! Powers and square roots.

use std::cmp::Ordering;
use std::f64::consts::LOG10_E;

use super::divide::inverse;
use super::exponential::{chosen_scale, exp_at, ln_at, ln_weight};
use super::{
    Decimal, Integer, MAX_CHOSEN_SCALE, MIN_SIGNIFICANT_DIGITS, Numeric, compare, division_by_zero,
    fixed, overflow,
};
use crate::error::{Result, ValueError};

/// Beyond this exponent of e a power overflows, or is zero at every scale.
const GREATEST_EXPONENT: f64 = 6_020.0;
/// The weight, in groups of four digits, that no number of the type has.
const GREATEST_WEIGHT: i64 = 32_767;

/// The square root, with about 16 significant digits.
///
/// # Errors
/// 2201F for negative numbers.
pub fn square_root(value: &Numeric) -> Result<Numeric> {
    if value.signum() < 0 {
        return Err(ValueError::new("2201F", "cannot take square root of a negative number"));
    }
    let Numeric::Finite(decimal) = value else {
        return Ok(value.clone());
    };
    let weight = (decimal.weight() + 1) * 2 - 1;
    let scale = chosen_scale(MIN_SIGNIFICANT_DIGITS - weight, decimal.scale);
    square_root_at(decimal, scale).checked()
}

/// The square root of a number that is not negative, rounded to `scale` digits.
pub(crate) fn square_root_at(value: &Decimal, scale: u32) -> Decimal {
    // One digit more than is asked for; cut digits below it cannot change how a half is rounded.
    let digits = 2 * (i64::from(scale) + 1) - i64::from(value.scale);
    let power = Integer::power_of_ten(digits.unsigned_abs() as u32);
    let radicand = if digits >= 0 {
        value.coefficient.times(&power)
    } else {
        value.coefficient.divided(&power).0
    };
    let root = Integer::from(radicand.to_big().sqrt());
    Decimal::new(root, scale + 1).rounded(scale)
}

/// `base ^ exponent`: exact digits to at least 16 behind the point for whole exponents, 16 significant ones for others.
///
/// # Errors
/// 2201F for zero to a negative power and negative numbers to one that is not whole; 22012 and 22003 as division and size demand.
pub fn power(base: &Numeric, exponent: &Numeric) -> Result<Numeric> {
    let one = Numeric::whole(1);
    if base.is_nan() || exponent.is_nan() {
        let is_one = (exponent.signum() == 0 && !exponent.is_nan()) || *base == one;
        return Ok(if is_one { one } else { Numeric::NaN });
    }
    let undefined = |message| Err(ValueError::new("2201F", message));
    if base.signum() == 0 && exponent.signum() < 0 {
        return undefined("zero raised to a negative power is undefined");
    }
    if base.signum() < 0 && !is_whole(exponent) {
        return undefined(
            "a negative number raised to a non-integer power yields a complex result",
        );
    }
    match (base, exponent) {
        (Numeric::Finite(base), Numeric::Finite(exponent)) => {
            power_finite(base, exponent)?.checked()
        }
        _ => Ok(power_infinite(base, exponent)),
    }
}

fn is_whole(value: &Numeric) -> bool {
    match value {
        Numeric::Finite(decimal) => decimal.is_whole(),
        other => other.is_infinite(),
    }
}

fn is_odd(value: &Decimal) -> bool {
    value.is_whole() && value.cut(0).coefficient.is_odd()
}

/// Powers with an infinity among the operands, by POSIX' rules for `pow`.
fn power_infinite(base: &Numeric, exponent: &Numeric) -> Numeric {
    let one = Numeric::whole(1);
    if *base == one || exponent.signum() == 0 {
        return one;
    }
    if base.signum() == 0 {
        return Numeric::ZERO;
    }
    let is_positive = exponent.signum() > 0;
    match (base, exponent) {
        (_, Numeric::Finite(exponent)) => match base {
            _ if !is_positive => Numeric::ZERO,
            Numeric::NegativeInfinity if is_odd(exponent) => Numeric::NegativeInfinity,
            _ => Numeric::Infinity,
        },
        _ if *base == one.negated() => one,
        _ if (compare(&base.absolute(), &one) == Ordering::Greater) == is_positive => {
            Numeric::Infinity
        }
        _ => Numeric::ZERO,
    }
}

fn power_finite(base: &Decimal, exponent: &Decimal) -> Result<Decimal> {
    let whole = exponent.is_whole().then(|| exponent.cut(0).coefficient.to_i64()).flatten();
    if let Some(exponent) = whole.and_then(|whole| i32::try_from(whole).ok()) {
        return power_whole(base, exponent, chosen_scale(MIN_SIGNIFICANT_DIGITS, base.scale));
    }
    if base.is_zero() {
        return Ok(Decimal::zero(MIN_SIGNIFICANT_DIGITS as u32));
    }
    let positive = Decimal::new(base.coefficient.absolute(), base.scale);
    let result = power_real(&positive, exponent)?;
    let is_negative = base.coefficient.signum() < 0 && is_odd(exponent);
    Ok(if is_negative { result.negated() } else { result })
}

/// A power of a positive number by way of its logarithm.
fn power_real(base: &Decimal, exponent: &Decimal) -> Result<Decimal> {
    // A first look at the result's size, with the eight digits that PostgreSQL takes, for they decide its scale.
    let scale = (8 - ln_weight(base)).max(0) as u32;
    let product = ln_at(base, scale).times(exponent);
    let size = product.rounded(scale.min(product.scale)).approximate();
    if size.abs() > GREATEST_EXPONENT {
        let zero = Decimal::zero(MAX_CHOSEN_SCALE as u32);
        return if size > 0.0 { Err(overflow()) } else { Ok(zero) };
    }
    let digits = (size * LOG10_E) as i64;
    let scale = chosen_scale(MIN_SIGNIFICANT_DIGITS - digits, base.scale.max(exponent.scale));
    // The logarithm's error is multiplied by the exponent and by the result.
    let beyond = digits.max(0) + exponent.magnitude().max(0) + 10;
    let ln_scale = (i64::from(scale) + beyond) as u32;
    let ln = fixed::ln(base, fixed::bits_of_digits(i64::from(ln_scale)));
    let ln = fixed::to_decimal(&ln, fixed::bits_of_digits(i64::from(ln_scale)), ln_scale);
    exp_at(&ln.times(exponent), scale)
}

/// A power to a whole exponent, by repeated squaring.
fn power_whole(base: &Decimal, exponent: i32, scale: u32) -> Result<Decimal> {
    match exponent {
        0 => return Ok(Decimal::one().rounded(scale)),
        1 => return Ok(base.rounded(scale)),
        -1 if !base.is_zero() => return Ok(inverse(base, scale)),
        2 => return Ok(base.times(base).rounded(scale)),
        _ => {}
    }
    if base.is_zero() {
        return if exponent < 0 { Err(division_by_zero()) } else { Ok(Decimal::zero(scale)) };
    }
    let digits = f64::from(exponent) * log10(base);
    if digits > (3 * GREATEST_WEIGHT * 4) as f64 {
        return Err(overflow());
    }
    if digits + 1.0 < -f64::from(scale) {
        return Ok(Decimal::zero(scale));
    }
    // Multiplying costs about as many digits as the exponent has.
    let error = f64::from(exponent).abs().ln() as i64 + 8;
    let significant = 1 + i64::from(scale) + digits as i64 + error;
    match squared(base, exponent.unsigned_abs(), significant) {
        Some(power) if exponent < 0 => Ok(inverse(&power, scale)),
        Some(power) => Ok(power.rounded(scale)),
        None if exponent < 0 => Ok(Decimal::zero(scale)),
        None => Err(overflow()),
    }
}

/// The decimal logarithm of a number's digits.
fn log10(value: &Decimal) -> f64 {
    (value.coefficient.leading(16) as f64).log10() + (value.magnitude() - 15) as f64
}

/// A power with `significant` digits; `None` where a factor is beyond the type.
fn squared(base: &Decimal, exponent: u32, significant: i64) -> Option<Decimal> {
    let product = |a: &Decimal, b: &Decimal| {
        let places = (significant - (a.weight() + b.weight()) * 4).max(0);
        let exact = a.times(b);
        let scale = i64::from(exact.scale).min(places) as u32;
        exact.rounded(scale)
    };
    let mut factor = base.clone();
    let mut result = if exponent & 1 == 1 { base.clone() } else { Decimal::one() };
    let mut rest = exponent >> 1;
    while rest > 0 {
        factor = product(&factor, &factor);
        if rest & 1 == 1 {
            result = product(&factor, &result);
        }
        if factor.weight() > GREATEST_WEIGHT || result.weight() > GREATEST_WEIGHT {
            return None;
        }
        rest >>= 1;
    }
    Some(result)
}
