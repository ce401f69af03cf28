//! Whole numbers of any size, which the digits of a numeric are: 128 bits where they fit, words on the heap elsewhere.

use std::borrow::Cow;
use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer as _;
use num_traits::{Signed, ToPrimitive, Zero};

/// A whole number. Invariant: `Large` holds only what does not fit into 128 bits, so that equal numbers have one form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Integer {
    Small(i128),
    Large(Box<BigInt>),
}

/// Ten to the power of what 128 bits hold.
const POWERS_OF_TEN: [i128; 39] = {
    let mut powers = [1; 39];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

impl Integer {
    pub const ZERO: Self = Self::Small(0);

    /// Ten to the power of `exponent`.
    pub fn power_of_ten(exponent: u32) -> Self {
        match POWERS_OF_TEN.get(exponent as usize) {
            Some(power) => Self::Small(*power),
            None => Self::from(BigInt::from(BigUint::from(5_u32).pow(exponent) << exponent)),
        }
    }

    /// As words on the heap.
    pub fn to_big(&self) -> Cow<'_, BigInt> {
        match self {
            Self::Small(value) => Cow::Owned(BigInt::from(*value)),
            Self::Large(value) => Cow::Borrowed(value),
        }
    }

    pub fn is_zero(&self) -> bool {
        matches!(self, Self::Small(0))
    }

    /// -1, 0 or 1.
    pub fn signum(&self) -> i32 {
        match self {
            Self::Small(value) => value.signum() as i32,
            Self::Large(value) if value.sign() == Sign::Minus => -1,
            Self::Large(_) => 1,
        }
    }

    pub fn is_odd(&self) -> bool {
        match self {
            Self::Small(value) => value & 1 == 1,
            Self::Large(value) => value.is_odd(),
        }
    }

    pub fn negated(&self) -> Self {
        self.binary(&Self::ZERO, |a, _| a.checked_neg(), |a, _| -a)
    }

    pub fn absolute(&self) -> Self {
        self.binary(&Self::ZERO, |a, _| a.checked_abs(), |a, _| a.abs())
    }

    pub fn plus(&self, other: &Self) -> Self {
        self.binary(other, i128::checked_add, |a, b| a + b)
    }

    pub fn minus(&self, other: &Self) -> Self {
        self.binary(other, i128::checked_sub, |a, b| a - b)
    }

    pub fn times(&self, other: &Self) -> Self {
        self.binary(other, i128::checked_mul, |a, b| a * b)
    }

    /// The greatest common divisor, never negative; 0 of two zeros.
    pub fn greatest_common_divisor(&self, other: &Self) -> Self {
        let small = |a: i128, b: i128| {
            let (a, b) = (a.checked_abs()?, b.checked_abs()?);
            Some(a.gcd(&b))
        };
        self.binary(other, small, |a, b| a.gcd(b))
    }

    /// Quotient, cut towards zero, and remainder, with the sign of the dividend.
    ///
    /// # Panics
    /// When the divisor is zero.
    pub fn divided(&self, divisor: &Self) -> (Self, Self) {
        if let (Self::Small(a), Self::Small(b)) = (self, divisor)
            && let (Some(quotient), Some(remainder)) = (a.checked_div(*b), a.checked_rem(*b))
        {
            return (Self::Small(quotient), Self::Small(remainder));
        }
        let (quotient, remainder) = self.to_big().div_rem(&divisor.to_big());
        (Self::from(quotient), Self::from(remainder))
    }

    /// The quotient, rounded to the nearest whole number and halves away from zero.
    ///
    /// # Panics
    /// When the divisor is zero.
    pub fn divided_rounding(&self, divisor: &Self) -> Self {
        let (quotient, remainder) = self.divided(divisor);
        let twice = remainder.absolute().times(&Self::Small(2));
        if twice.cmp(&divisor.absolute()) == Ordering::Less {
            return quotient;
        }
        quotient.plus(&Self::Small(i128::from(self.signum() * divisor.signum())))
    }

    /// Times ten to the power of `exponent`.
    pub fn shifted(&self, exponent: u32) -> Self {
        if exponent == 0 || self.is_zero() {
            return self.clone();
        }
        self.times(&Self::power_of_ten(exponent))
    }

    /// How many decimal digits it has; 0 for zero.
    pub fn digits(&self) -> u32 {
        match self {
            Self::Small(value) => value.unsigned_abs().checked_ilog10().map_or(0, |log| log + 1),
            Self::Large(value) => large_digits(value.magnitude()),
        }
    }

    /// Its first `count` decimal digits, filled up with zeros, as a number; at most 18.
    pub fn leading(&self, count: u32) -> u64 {
        debug_assert!(count <= 18, "leading digits fit into 64 bits");
        let digits = self.digits();
        let cut = match digits.checked_sub(count) {
            Some(surplus) => self.divided(&Self::power_of_ten(surplus)).0,
            None => self.shifted(count - digits),
        };
        match cut.absolute() {
            Self::Small(value) => value as u64,
            Self::Large(_) => unreachable!("at most 18 digits are left"),
        }
    }

    /// How many zeros its decimal digits end with; 0 for zero.
    pub fn trailing_zeros(&self) -> u32 {
        let bits = match self {
            Self::Small(0) => return 0,
            Self::Small(value) => u64::from(value.trailing_zeros()),
            Self::Large(value) => value.trailing_zeros().unwrap_or(0),
        };
        if bits == 0 {
            return 0;
        }
        let digits = self.absolute().to_string();
        (digits.len() - digits.trim_end_matches('0').len()) as u32
    }

    /// As 64 bits, if it fits.
    pub fn to_i64(&self) -> Option<i64> {
        match self {
            Self::Small(value) => (*value).try_into().ok(),
            Self::Large(value) => value.to_i64(),
        }
    }

    fn binary(
        &self,
        other: &Self,
        small: impl Fn(i128, i128) -> Option<i128>,
        large: impl Fn(&BigInt, &BigInt) -> BigInt,
    ) -> Self {
        if let (Self::Small(a), Self::Small(b)) = (self, other)
            && let Some(result) = small(*a, *b)
        {
            return Self::Small(result);
        }
        Self::from(large(&self.to_big(), &other.to_big()))
    }
}

/// Decimal digits of what does not fit into 128 bits: from the logarithm of its first bits, and exactly where that is too close to call.
fn large_digits(value: &BigUint) -> u32 {
    let shift = value.bits() - 64;
    let first = (value >> shift).to_u64().map_or(0.0, |first| first as f64);
    let log = first.log10() + shift as f64 * std::f64::consts::LOG10_2;
    let nearest = log.round();
    if (log - nearest).abs() > 1e-6 {
        return log as u32 + 1;
    }
    let power = Integer::power_of_ten(nearest as u32);
    nearest as u32 + u32::from(*value >= *power.to_big().magnitude())
}

impl PartialOrd for Integer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Integer {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Small(a), Self::Small(b)) => a.cmp(b),
            _ => self.to_big().cmp(&other.to_big()),
        }
    }
}

impl From<i128> for Integer {
    fn from(value: i128) -> Self {
        Self::Small(value)
    }
}

impl From<BigInt> for Integer {
    fn from(value: BigInt) -> Self {
        match value.to_i128() {
            Some(small) => Self::Small(small),
            None => Self::Large(Box::new(value)),
        }
    }
}

impl std::fmt::Display for Integer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Small(value) => value.fmt(f),
            Self::Large(value) => value.fmt(f),
        }
    }
}

impl Integer {
    /// From decimal digits without a sign; an empty text is zero.
    pub fn from_digits(digits: &[u8]) -> Self {
        debug_assert!(digits.iter().all(u8::is_ascii_digit), "only digits");
        if digits.len() <= 38 {
            return Self::Small(
                digits.iter().fold(0, |sum, digit| sum * 10 + i128::from(digit - b'0')),
            );
        }
        let big = BigUint::parse_bytes(digits, 10).unwrap_or_else(BigUint::zero);
        Self::from(BigInt::from(big))
    }
}
