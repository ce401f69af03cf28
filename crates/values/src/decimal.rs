//! What `extract` returns: an integer with a scale, or an infinity.

use std::fmt;

use crate::datum::Datum;
use crate::numeric::{self, Numeric};

/// A number of at most 38 digits, with the digits that it shows after the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decimal {
    /// `coefficient` divided by ten to the power of `scale`.
    Finite {
        /// All digits, with the sign.
        coefficient: i128,
        /// How many of them are after the point.
        scale: u16,
    },
    /// Above every number.
    Infinity,
    /// Below every number.
    MinusInfinity,
}

impl Decimal {
    /// A number of `scale` digits after the point.
    pub fn new(coefficient: i128, scale: u16) -> Self {
        Decimal::Finite { coefficient, scale }
    }

    /// A whole number.
    pub fn whole(number: i64) -> Self {
        Decimal::new(number.into(), 0)
    }
}

impl From<Decimal> for Datum {
    fn from(decimal: Decimal) -> Datum {
        Datum::Numeric(match decimal {
            Decimal::Infinity => Numeric::Infinity,
            Decimal::MinusInfinity => Numeric::NegativeInfinity,
            Decimal::Finite { coefficient, scale } => {
                Numeric::Finite(numeric::Decimal::new(coefficient.into(), scale.into()))
            }
        })
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (coefficient, scale) = match *self {
            Decimal::Infinity => return f.write_str("Infinity"),
            Decimal::MinusInfinity => return f.write_str("-Infinity"),
            Decimal::Finite { coefficient, scale } => (coefficient, usize::from(scale)),
        };
        let sign = if coefficient < 0 { "-" } else { "" };
        let digits = format!("{:0width$}", coefficient.unsigned_abs(), width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        let point = if scale == 0 { "" } else { "." };
        write!(f, "{sign}{whole}{point}{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_all_digits_of_the_scale() {
        assert_eq!(Decimal::new(-5, 3).to_string(), "-0.005");
        assert_eq!(Decimal::new(1_500_000, 6).to_string(), "1.500000");
        assert_eq!(Decimal::whole(-7).to_string(), "-7");
    }
}
