//! Exponentials and logarithms of real numbers in binary fixed point: a whole number, and how many of its bits are behind the point.

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::{Decimal, Integer};

/// Bits that are computed beyond those that are asked for, so that errors of the last ones do not show.
const GUARD: u64 = 64;
/// Square roots that are taken of an argument to bring it near 1.
const ROOTS: u64 = 8;

/// Bits that hold this many decimal digits, and some more.
pub(super) fn bits_of_digits(digits: i64) -> u64 {
    (digits.max(0) as f64 * std::f64::consts::LOG2_10) as u64 + GUARD
}

/// A decimal at `bits` behind the point.
pub(super) fn from_decimal(value: &Decimal, bits: u64) -> BigInt {
    (value.coefficient.to_big().as_ref() << bits)
        / Integer::power_of_ten(value.scale).to_big().as_ref()
}

/// Rounded to `scale` decimal digits behind the point, halves away from zero.
pub(super) fn to_decimal(value: &BigInt, bits: u64, scale: u32) -> Decimal {
    let scaled = value.abs() * Integer::power_of_ten(scale).to_big().as_ref();
    let rounded: BigInt = (scaled + (BigInt::one() << (bits - 1))) >> bits;
    let signed = if value.is_negative() { -rounded } else { rounded };
    Decimal::new(Integer::from(signed), scale)
}

/// e to the power of `value`, both with `bits` behind the point.
pub(super) fn exp(value: &BigInt, bits: u64) -> BigInt {
    let approximate = (value >> bits).to_f64().unwrap_or(0.0).abs();
    let before_point = (approximate * std::f64::consts::LOG2_E) as u64 + 2;
    let halvings = bits.isqrt() / 2 + value.bits().saturating_sub(bits);
    let working = bits + before_point + halvings + GUARD;
    let reduced: BigInt = (value.abs() << (working - bits)) >> halvings;
    let mut power = exp_series(&reduced, working);
    for _ in 0..halvings {
        power = (&power * &power) >> working;
    }
    if value.is_negative() {
        power = (BigInt::one() << (2 * working)) / power;
    }
    power >> (working - bits)
}

/// The exponential series of a small number.
fn exp_series(value: &BigInt, bits: u64) -> BigInt {
    let mut term = BigInt::one() << bits;
    let mut sum = term.clone();
    let mut n = 1_u32;
    while !term.is_zero() {
        term = ((term * value) >> bits) / n;
        sum += &term;
        n += 1;
    }
    sum
}

/// The natural logarithm of a positive number, with `bits` behind the point.
pub(super) fn ln(value: &Decimal, bits: u64) -> BigInt {
    let working = bits + GUARD;
    let (numerator, denominator) =
        (value.coefficient.to_big(), Integer::power_of_ten(value.scale).to_big().into_owned());
    // value = mantissa * 2^exponent, with the mantissa between a half and 2.
    let exponent = numerator.bits() as i64 - denominator.bits() as i64;
    let shift = working as i64 - exponent;
    let mantissa = if shift >= 0 {
        (numerator.as_ref() << shift as u64) / denominator
    } else {
        numerator.as_ref() / (denominator << shift.unsigned_abs())
    };
    let sum = ln_mantissa(mantissa, working) + ln_two(working) * exponent;
    sum >> GUARD
}

fn ln_mantissa(mut mantissa: BigInt, bits: u64) -> BigInt {
    let one = BigInt::one() << bits;
    // Near 1 the series is short by itself, and roots would cost digits.
    let is_near = (&mantissa - &one).bits() + 2 * ROOTS < bits;
    let roots = if is_near { 0 } else { ROOTS };
    for _ in 0..roots {
        mantissa = (mantissa << bits).sqrt();
    }
    let ratio = ((&mantissa - &one) << bits) / (mantissa + one);
    atanh_series(&ratio, bits) << (1 + roots)
}

/// The inverse hyperbolic tangent of a number well below 1.
fn atanh_series(value: &BigInt, bits: u64) -> BigInt {
    let square: BigInt = (value * value) >> bits;
    let (mut power, mut sum, mut n) = (value.clone(), value.clone(), 3_u32);
    loop {
        // Cut towards zero, so that it ends for negative numbers.
        power = (power * &square) / (BigInt::one() << bits);
        let term = &power / n;
        if term.is_zero() {
            return sum;
        }
        sum += term;
        n += 2;
    }
}

/// The natural logarithm of 2 by Machin's way: 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749).
fn ln_two(bits: u64) -> BigInt {
    let atanh_of_inverse = |n: u32| {
        let square = u64::from(n) * u64::from(n);
        let mut power = (BigInt::one() << bits) / n;
        let (mut sum, mut i) = (power.clone(), 3_u32);
        while !power.is_zero() {
            power /= square;
            sum += &power / i;
            i += 2;
        }
        sum
    };
    atanh_of_inverse(26) * 18 - atanh_of_inverse(4801) * 2 + atanh_of_inverse(8749) * 8
}
