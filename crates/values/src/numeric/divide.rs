//! Quotients and remainders.

use super::arithmetic::aligned;
use super::{
    Decimal, Integer, MAX_CHOSEN_SCALE, MIN_SIGNIFICANT_DIGITS, Numeric, division_by_zero,
};
use crate::error::Result;

/// The quotient, to the scale that PostgreSQL chooses by the operands' values: at least 16 significant digits.
///
/// # Errors
/// 22012 for a divisor of zero; 22003 beyond the type.
pub fn divide(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    match (a, b) {
        (Numeric::Finite(a), Numeric::Finite(b)) => {
            reject_zero(b)?;
            quotient(a, b, chosen_scale(a, b)).checked()
        }
        _ => divide_infinite(a, b),
    }
}

/// The quotient, cut to a whole number.
///
/// # Errors
/// 22012 for a divisor of zero; 22003 beyond the type.
pub fn divide_whole(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    match (a, b) {
        (Numeric::Finite(a), Numeric::Finite(b)) => {
            reject_zero(b)?;
            let scale = a.scale.max(b.scale);
            let (quotient, _) = a.coefficient_at(scale).divided(&b.coefficient_at(scale));
            Decimal::new(quotient, 0).checked()
        }
        _ => divide_infinite(a, b),
    }
}

/// The remainder of [`divide_whole`], with the dividend's sign and the larger of both scales.
///
/// # Errors
/// 22012 for a divisor of zero.
pub fn remainder(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    match (a, b) {
        (Numeric::Finite(a), Numeric::Finite(b)) => {
            reject_zero(b)?;
            Ok(Numeric::Finite(aligned(a, b, |a, b| a.divided(b).1)))
        }
        (Numeric::NaN, _) | (_, Numeric::NaN) => Ok(Numeric::NaN),
        (Numeric::Finite(_), _) => Ok(a.clone()),
        _ if b.signum() == 0 => Err(division_by_zero()),
        _ => Ok(Numeric::NaN),
    }
}

fn reject_zero(divisor: &Decimal) -> Result<()> {
    if divisor.is_zero() { Err(division_by_zero()) } else { Ok(()) }
}

/// Quotients with NaN or an infinity among the operands.
fn divide_infinite(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    match (a, b) {
        (Numeric::NaN, _) | (_, Numeric::NaN) => Ok(Numeric::NaN),
        (Numeric::Finite(_), _) => Ok(Numeric::ZERO),
        _ if b.signum() == 0 => Err(division_by_zero()),
        _ if b.is_infinite() => Ok(Numeric::NaN),
        _ => Ok(Numeric::infinity(a.signum() * b.signum())),
    }
}

/// The scale of a quotient: 16 digits less four for each group of digits that it has before the point.
pub(super) fn chosen_scale(a: &Decimal, b: &Decimal) -> u32 {
    let groups = a.weight() - b.weight() - i64::from(a.first_group() <= b.first_group());
    let least = i64::from(a.scale.max(b.scale));
    (MIN_SIGNIFICANT_DIGITS - groups * 4).max(least).min(MAX_CHOSEN_SCALE) as u32
}

/// `a / b` rounded to `scale` digits after the point, halves away from zero. The divisor must not be zero.
pub(super) fn quotient(a: &Decimal, b: &Decimal, scale: u32) -> Decimal {
    let shift = i64::from(scale) + i64::from(b.scale) - i64::from(a.scale);
    let power = shift.unsigned_abs() as u32;
    let coefficient = if shift >= 0 {
        a.coefficient.shifted(power).divided_rounding(&b.coefficient)
    } else {
        a.coefficient.divided_rounding(&b.coefficient.shifted(power))
    };
    Decimal::new(coefficient, scale)
}

/// One over a number, rounded to `scale`.
pub(super) fn inverse(value: &Decimal, scale: u32) -> Decimal {
    quotient(&Decimal::new(Integer::Small(1), 0), value, scale)
}
