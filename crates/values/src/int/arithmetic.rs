//! Arithmetic of whole numbers, with errors instead of wrapping around.

use num_integer::Integer;
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedNeg, CheckedSub, One, Signed};

use crate::error::{Result, ValueError};

/// `i16`, `i32` or `i64`.
pub trait Int:
    Integer
    + Signed
    + Copy
    + CheckedAdd
    + CheckedSub
    + CheckedMul
    + CheckedDiv
    + CheckedNeg
    + TryFrom<i64>
{
    /// The type's name in messages.
    const NAME: &'static str;
    /// The least value, which a double precision holds exactly.
    const LEAST_AS_FLOAT: f64;
    /// From a number that is known to fit.
    fn from_i64(value: i64) -> Self;
}

macro_rules! int {
    ($type:ty, $name:literal) => {
        impl Int for $type {
            const NAME: &'static str = $name;
            const LEAST_AS_FLOAT: f64 = <$type>::MIN as f64;
            fn from_i64(value: i64) -> Self {
                value as $type
            }
        }
    };
}

int!(i16, "smallint");
int!(i32, "integer");
int!(i64, "bigint");

pub(crate) fn out_of_range<T: Int>() -> ValueError {
    ValueError::new("22003", format!("{} out of range", T::NAME))
}

/// The sum.
///
/// # Errors
/// 22003 out of range.
pub fn add<T: Int>(a: T, b: T) -> Result<T> {
    a.checked_add(&b).ok_or_else(out_of_range::<T>)
}

/// The difference.
///
/// # Errors
/// 22003 out of range.
pub fn subtract<T: Int>(a: T, b: T) -> Result<T> {
    a.checked_sub(&b).ok_or_else(out_of_range::<T>)
}

/// The product.
///
/// # Errors
/// 22003 out of range.
pub fn multiply<T: Int>(a: T, b: T) -> Result<T> {
    a.checked_mul(&b).ok_or_else(out_of_range::<T>)
}

/// The quotient, cut towards zero.
///
/// # Errors
/// 22012 for a divisor of zero; 22003 for the least number by -1.
pub fn divide<T: Int>(a: T, b: T) -> Result<T> {
    reject_zero(b)?;
    a.checked_div(&b).ok_or_else(out_of_range::<T>)
}

/// The remainder, with the dividend's sign.
///
/// # Errors
/// 22012 for a divisor of zero.
pub fn remainder<T: Int>(a: T, b: T) -> Result<T> {
    reject_zero(b)?;
    Ok(if b == -T::one() { T::zero() } else { a % b })
}

fn reject_zero<T: Int>(divisor: T) -> Result<()> {
    if divisor.is_zero() {
        return Err(ValueError::new("22012", "division by zero"));
    }
    Ok(())
}

/// With the other sign.
///
/// # Errors
/// 22003 of the least number.
pub fn negate<T: Int>(a: T) -> Result<T> {
    a.checked_neg().ok_or_else(out_of_range::<T>)
}

/// Without the sign.
///
/// # Errors
/// 22003 of the least number.
pub fn absolute<T: Int>(a: T) -> Result<T> {
    if a.is_negative() { negate(a) } else { Ok(a) }
}

/// The greatest common divisor.
///
/// # Errors
/// 22003 where it is the least number without its sign.
pub fn greatest_common_divisor<T: Int>(a: T, b: T) -> Result<T> {
    let (mut a, mut b) = (a, b);
    while !b.is_zero() {
        (a, b) = (b, remainder(a, b)?);
    }
    absolute(a)
}

/// The least common multiple.
///
/// # Errors
/// 22003 out of range.
pub fn least_common_multiple<T: Int>(a: T, b: T) -> Result<T> {
    if a.is_zero() || b.is_zero() {
        return Ok(T::zero());
    }
    let part = divide(a, greatest_common_divisor(a, b)?)?;
    absolute(multiply(part, b)?)
}

/// Into a narrower type.
///
/// # Errors
/// 22003 out of range.
pub fn narrow<T: Int>(value: i64) -> Result<T> {
    T::try_from(value).map_err(|_| out_of_range::<T>())
}

/// One more.
///
/// # Errors
/// 22003 of the greatest number.
pub fn increment<T: Int + One>(value: T) -> Result<T> {
    add(value, T::one())
}
