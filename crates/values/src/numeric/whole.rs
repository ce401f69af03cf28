//! Factorials, common divisors and multiples.

use num_bigint::BigUint;

use super::arithmetic::aligned;
use super::{Decimal, Integer, Numeric, overflow};
use crate::error::{Result, ValueError};

/// The greatest factorial that the type holds.
const GREATEST_FACTORIAL: i64 = 32_177;

/// `n!`.
///
/// # Errors
/// 22003 for negative numbers and for results beyond the type.
pub fn factorial(n: i64) -> Result<Numeric> {
    if n < 0 {
        return Err(ValueError::new("22003", "factorial of a negative number is undefined"));
    }
    if n > GREATEST_FACTORIAL {
        return Err(overflow());
    }
    let product = product(1, n.unsigned_abs() as u32);
    Decimal::new(Integer::from(num_bigint::BigInt::from(product)), 0).checked()
}

/// `first * .. * last`, by halves, so that factors of like size meet.
fn product(first: u32, last: u32) -> BigUint {
    if first > last {
        return BigUint::from(1_u32);
    }
    if last - first < 16 {
        return (first..=last).map(BigUint::from).product();
    }
    let middle = first.midpoint(last);
    product(first, middle) * product(middle + 1, last)
}

/// The greatest number of which both are whole multiples, with the larger of both scales; NaN unless both are finite.
pub fn greatest_common_divisor(a: &Numeric, b: &Numeric) -> Numeric {
    match (a, b) {
        (Numeric::Finite(a), Numeric::Finite(b)) => {
            Numeric::Finite(aligned(a, b, Integer::greatest_common_divisor))
        }
        _ => Numeric::NaN,
    }
}

/// The least number that is a whole multiple of both, with the larger of both scales; NaN unless both are finite.
///
/// # Errors
/// 22003 beyond the type.
pub fn least_common_multiple(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    match (a, b) {
        (Numeric::Finite(a), Numeric::Finite(b)) => aligned(a, b, least_multiple).checked(),
        _ => Ok(Numeric::NaN),
    }
}

fn least_multiple(a: &Integer, b: &Integer) -> Integer {
    if a.is_zero() || b.is_zero() {
        return Integer::ZERO;
    }
    a.divided(&a.greatest_common_divisor(b)).0.times(b).absolute()
}
