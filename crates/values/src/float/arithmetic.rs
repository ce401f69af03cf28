//! The four operations, with errors where finite operands give infinities or lose everything.

use std::ops::{Add, Div, Mul, Sub};

use super::{overflow, underflow};
use crate::error::{Result, ValueError};

/// `f32` or `f64`.
pub trait Float:
    Copy
    + PartialOrd
    + Default
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    /// Digits from which on the text form has an exponent.
    const PLAIN_DIGITS: i32;
    /// Mantissa, exponent of 2, and whether the next smaller number is nearer than the next larger one. The number is not zero.
    fn parts(self) -> (u64, i32, bool);
    /// The shortest digits that read back as the number, as Rust finds them.
    fn shortest(self) -> String;
    /// So many digits, rounded correctly.
    fn digits(self, count: usize) -> String;
    /// The number without its sign.
    fn magnitude(self) -> Self;
    /// Whether a text reads back as the number.
    fn is_written(self, text: &str) -> bool;
    /// Not a number.
    fn is_nan(self) -> bool;
    /// One of the infinities.
    fn is_infinite(self) -> bool;
    /// Whether it has a sign, as -0 does.
    fn is_negative(self) -> bool;
}

macro_rules! float {
    ($type:ty, $plain:literal, $exponent_bits:literal) => {
        impl Float for $type {
            const PLAIN_DIGITS: i32 = $plain;
            fn parts(self) -> (u64, i32, bool) {
                let stored = <$type>::MANTISSA_DIGITS - 1;
                let bits = u64::from(self.to_bits());
                let fraction = bits & ((1 << stored) - 1);
                let biased = ((bits >> stored) & ((1 << $exponent_bits) - 1)) as i32;
                let lowest = <$type>::MIN_EXP - 1 - stored as i32;
                match biased {
                    0 => (fraction, lowest, false),
                    _ => (fraction | 1 << stored, lowest + biased - 1, fraction == 0 && biased > 1),
                }
            }
            fn shortest(self) -> String {
                format!("{self:e}")
            }
            fn digits(self, count: usize) -> String {
                format!("{self:.0$e}", count - 1)
            }
            fn magnitude(self) -> Self {
                self.abs()
            }
            fn is_written(self, text: &str) -> bool {
                text.parse() == Ok(self)
            }
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            fn is_infinite(self) -> bool {
                self.is_infinite()
            }
            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }
        }
    };
}

float!(f32, 6, 8);
float!(f64, 15, 11);

/// The sum.
///
/// # Errors
/// 22003 where finite operands give an infinity.
pub fn add<T: Float>(a: T, b: T) -> Result<T> {
    bounded(a + b, a.is_infinite() || b.is_infinite())
}

/// The difference.
///
/// # Errors
/// 22003 where finite operands give an infinity.
pub fn subtract<T: Float>(a: T, b: T) -> Result<T> {
    bounded(a - b, a.is_infinite() || b.is_infinite())
}

/// The product.
///
/// # Errors
/// 22003 where finite operands give an infinity, or others than zero give zero.
pub fn multiply<T: Float>(a: T, b: T) -> Result<T> {
    let zero = T::default();
    let result = bounded(a * b, a.is_infinite() || b.is_infinite())?;
    if result == zero && a != zero && b != zero { Err(underflow()) } else { Ok(result) }
}

/// The quotient.
///
/// # Errors
/// 22012 for a divisor of zero; 22003 where finite operands give an infinity, or others than zero give zero.
pub fn divide<T: Float>(a: T, b: T) -> Result<T> {
    let zero = T::default();
    if b == zero && !a.is_nan() {
        return Err(ValueError::new("22012", "division by zero"));
    }
    let result = bounded(a / b, a.is_infinite())?;
    if result == zero && a != zero && !b.is_infinite() { Err(underflow()) } else { Ok(result) }
}

fn bounded<T: Float>(result: T, may_be_infinite: bool) -> Result<T> {
    if result.is_infinite() && !may_be_infinite { Err(overflow()) } else { Ok(result) }
}
