//! `numeric`: decimal numbers of up to 131,072 digits before the point and 16,383 after it, NaN and the infinities.
//!
//! A value carries its own display scale, which is no part of its equality: 1.50 prints `1.50` and equals 1.5. Which scale a result
//! gets hangs on the operands' values, counted in groups of four decimal digits (`Decimal::weight`), as PostgreSQL keeps them.

mod arithmetic;
mod binary;
mod bucket;
mod cast;
mod compare;
mod divide;
mod exponential;
mod fixed;
mod integer;
mod kernels;
mod power;
mod range;
mod round;
mod sums;
mod text;
mod whole;

pub use arithmetic::{add, multiply, subtract};
pub(crate) use binary::groups;
pub use binary::{receive, send};
pub use bucket::width_bucket;
pub use cast::{from_f32, from_f64, from_i64, to_f32, to_f64, to_i16, to_i32, to_i64};
pub use compare::{compare, key};
pub use divide::{divide, divide_whole, remainder};
pub use exponential::{exp, ln, log};
pub(crate) use integer::Integer;
pub(crate) use kernels::KERNELS;
pub use power::{power, square_root};
pub use range::in_range;
pub use round::{apply_typmod, ceil, floor, round, trim_scale, truncate};
pub use sums::Sums;
pub use text::parse;
pub use whole::{factorial, greatest_common_divisor, least_common_multiple};

use std::borrow::Cow;

use crate::error::{Result, ValueError};

/// Most digits after the point.
pub(crate) const MAX_SCALE: u32 = 16_383;
/// Most digits after the point in what division, roots and logarithms choose.
pub(crate) const MAX_CHOSEN_SCALE: i64 = 1_000;
/// Significant digits that division, roots and logarithms give at least.
pub(crate) const MIN_SIGNIFICANT_DIGITS: i64 = 16;
/// Most digits before the point.
pub(crate) const MAX_WHOLE_DIGITS: i64 = 131_072;

/// A number of type `numeric`.
#[derive(Clone, Debug)]
pub enum Numeric {
    /// Below every number.
    NegativeInfinity,
    /// A number with its digits.
    Finite(Decimal),
    /// Above every number.
    Infinity,
    /// Not a number; above everything.
    NaN,
}

/// `coefficient / 10^scale`, within the bounds of the type.
#[derive(Clone, Debug)]
pub struct Decimal {
    pub(crate) coefficient: Integer,
    /// Digits after the point that are shown.
    pub(crate) scale: u32,
}

/// What does not fit into the type.
pub(crate) fn overflow() -> ValueError {
    ValueError::new("22003", "value overflows numeric format")
}

pub(crate) fn division_by_zero() -> ValueError {
    ValueError::new("22012", "division by zero")
}

impl Decimal {
    pub(crate) fn new(coefficient: Integer, scale: u32) -> Self {
        Self { coefficient, scale }
    }

    pub(crate) fn zero(scale: u32) -> Self {
        Self::new(Integer::ZERO, scale)
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.coefficient.is_zero()
    }

    /// The power of ten of the first digit that is not zero; 0 for zero.
    pub(crate) fn magnitude(&self) -> i64 {
        match self.coefficient.digits() {
            0 => 0,
            digits => i64::from(digits) - i64::from(self.scale) - 1,
        }
    }

    /// The power of ten thousand of the first group of four digits that is not zero; 0 for zero.
    pub(crate) fn weight(&self) -> i64 {
        self.magnitude().div_euclid(4)
    }

    /// The first group of four digits that is not zero; 0 for zero.
    pub(crate) fn first_group(&self) -> u64 {
        self.coefficient.leading(self.magnitude().rem_euclid(4) as u32 + 1)
    }

    /// The coefficient at another, larger scale.
    pub(crate) fn coefficient_at(&self, scale: u32) -> Cow<'_, Integer> {
        if scale == self.scale {
            return Cow::Borrowed(&self.coefficient);
        }
        Cow::Owned(self.coefficient.shifted(scale - self.scale))
    }

    /// Rounded to `scale` digits after the point, halves away from zero.
    pub(crate) fn rounded(&self, scale: u32) -> Self {
        let coefficient = match self.scale.checked_sub(scale) {
            Some(0) | None => self.coefficient_at(scale).into_owned(),
            Some(surplus) => self.coefficient.divided_rounding(&Integer::power_of_ten(surplus)),
        };
        Self::new(coefficient, scale)
    }

    /// Cut to `scale` digits after the point.
    pub(crate) fn cut(&self, scale: u32) -> Self {
        let coefficient = match self.scale.checked_sub(scale) {
            Some(0) | None => self.coefficient_at(scale).into_owned(),
            Some(surplus) => self.coefficient.divided(&Integer::power_of_ten(surplus)).0,
        };
        Self::new(coefficient, scale)
    }

    /// Whether nothing but zeros stands after the point.
    pub(crate) fn is_whole(&self) -> bool {
        self.scale == 0 || self.coefficient.divided(&Integer::power_of_ten(self.scale)).1.is_zero()
    }

    /// As a value of the type, which it must fit.
    ///
    /// # Errors
    /// 22003 beyond 131,072 digits before the point or 16,383 after it.
    pub(crate) fn checked(self) -> Result<Numeric> {
        if self.scale > MAX_SCALE || self.magnitude() >= MAX_WHOLE_DIGITS {
            return Err(overflow());
        }
        Ok(Numeric::Finite(self))
    }
}

impl Numeric {
    /// Zero without digits after the point.
    pub const ZERO: Self = Self::Finite(Decimal { coefficient: Integer::ZERO, scale: 0 });

    /// `digits / 10^scale`.
    ///
    /// # Panics
    /// With more digits after the point than the type has.
    pub fn of_digits(digits: i128, scale: u32) -> Self {
        assert!(scale <= MAX_SCALE, "{scale} digits after the point");
        Self::Finite(Decimal::new(Integer::Small(digits), scale))
    }

    /// The number times `10^scale`; `None` where that is not whole, or too large for 128 bits.
    pub fn digits_at(&self, scale: u32) -> Option<i128> {
        let Self::Finite(decimal) = self else { return None };
        let digits = match decimal.scale.checked_sub(scale) {
            Some(0) | None => decimal.coefficient_at(scale).into_owned(),
            Some(surplus) => match decimal.coefficient.divided(&Integer::power_of_ten(surplus)) {
                (quotient, rest) if rest.is_zero() => quotient,
                _ => return None,
            },
        };
        match digits {
            Integer::Small(digits) => Some(digits),
            Integer::Large(_) => None,
        }
    }

    /// A whole number.
    pub(crate) fn whole(value: i128) -> Self {
        Self::Finite(Decimal::new(Integer::Small(value), 0))
    }

    /// -1, 0 or 1; 0 for NaN.
    pub(crate) fn signum(&self) -> i32 {
        match self {
            Self::NegativeInfinity => -1,
            Self::Finite(decimal) => decimal.coefficient.signum(),
            Self::Infinity => 1,
            Self::NaN => 0,
        }
    }

    /// The infinity of a sign; NaN for 0, as PostgreSQL multiplies infinities.
    pub(crate) fn infinity(sign: i32) -> Self {
        match sign {
            0 => Self::NaN,
            1.. => Self::Infinity,
            _ => Self::NegativeInfinity,
        }
    }

    pub(crate) fn is_nan(&self) -> bool {
        matches!(self, Self::NaN)
    }

    pub(crate) fn is_infinite(&self) -> bool {
        matches!(self, Self::Infinity | Self::NegativeInfinity)
    }

    /// The digits after the point that are shown; `None` for NaN and the infinities.
    pub fn scale(&self) -> Option<u32> {
        match self {
            Self::Finite(decimal) => Some(decimal.scale),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_given_at_any_scale_that_holds_them() {
        let number = Numeric::of_digits(-12_300, 3);
        assert_eq!(number.to_string(), "-12.300");
        assert_eq!(
            [0, 1, 3, 5].map(|scale| number.digits_at(scale)),
            [None, Some(-123), Some(-12_300), Some(-1_230_000)]
        );
        assert_eq!(Numeric::of_digits(i128::MAX, 0).digits_at(1), None);
        assert_eq!(Numeric::NaN.digits_at(0), None);
    }
}
