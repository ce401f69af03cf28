//! Sums, differences, products and signs.

use super::{Decimal, Integer, MAX_SCALE, Numeric};
use crate::error::Result;

/// The sum, with the larger of both scales.
///
/// # Errors
/// 22003 beyond the type.
pub fn add(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    use Numeric::{Finite, NaN};
    match (a, b) {
        (Finite(a), Finite(b)) => aligned(a, b, Integer::plus).checked(),
        (NaN, _) | (_, NaN) => Ok(NaN),
        (a, b) if a.is_infinite() && b.is_infinite() && a.signum() != b.signum() => Ok(NaN),
        (a, b) => Ok(if a.is_infinite() { a.clone() } else { b.clone() }),
    }
}

/// The difference, with the larger of both scales.
///
/// # Errors
/// 22003 beyond the type.
pub fn subtract(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    if let (Numeric::Finite(a), Numeric::Finite(b)) = (a, b) {
        return aligned(a, b, Integer::minus).checked();
    }
    add(a, &b.negated())
}

/// The product, exact but for digits beyond the largest scale.
///
/// # Errors
/// 22003 beyond the type.
pub fn multiply(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    use Numeric::{Finite, NaN};
    match (a, b) {
        (Finite(a), Finite(b)) => {
            let product = a.times(b);
            let scale = product.scale.min(MAX_SCALE);
            product.rounded(scale).checked()
        }
        (NaN, _) | (_, NaN) => Ok(NaN),
        (a, b) => Ok(Numeric::infinity(a.signum() * b.signum())),
    }
}

/// What `combine` makes of two coefficients at the larger of both scales.
pub(super) fn aligned(
    a: &Decimal,
    b: &Decimal,
    combine: impl Fn(&Integer, &Integer) -> Integer,
) -> Decimal {
    let scale = a.scale.max(b.scale);
    Decimal::new(combine(&a.coefficient_at(scale), &b.coefficient_at(scale)), scale)
}

impl Decimal {
    /// The exact product, whose scale is the sum of both: possibly beyond the type.
    pub(crate) fn times(&self, other: &Self) -> Self {
        Self::new(self.coefficient.times(&other.coefficient), self.scale + other.scale)
    }

    pub(crate) fn negated(&self) -> Self {
        Self::new(self.coefficient.negated(), self.scale)
    }
}

impl Numeric {
    /// With the other sign.
    pub fn negated(&self) -> Self {
        match self {
            Self::NegativeInfinity => Self::Infinity,
            Self::Finite(decimal) => Self::Finite(decimal.negated()),
            Self::Infinity => Self::NegativeInfinity,
            Self::NaN => Self::NaN,
        }
    }

    /// Without its sign.
    pub fn absolute(&self) -> Self {
        if self.signum() < 0 { self.negated() } else { self.clone() }
    }

    /// -1, 0 or 1; NaN of NaN.
    pub fn sign(&self) -> Self {
        match self {
            Self::NaN => Self::NaN,
            other => Self::whole(i128::from(other.signum())),
        }
    }
}
