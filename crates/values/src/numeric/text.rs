//! The text form of `numeric`.

use std::fmt;

use super::{Decimal, Integer, MAX_SCALE, MAX_WHOLE_DIGITS, Numeric, overflow};
use crate::error::{Result, ValueError};
use crate::spaces::trimmed;

/// Reads a number as PostgreSQL does: digits with a point and an exponent, `NaN`, `Infinity` or `inf`, spaces around.
///
/// # Errors
/// 22P02 for anything else; 22003 for what has more digits than the type.
pub fn parse(text: &str) -> Result<Numeric> {
    let trimmed = trimmed(text);
    if let Some(special) = special(trimmed) {
        return Ok(special);
    }
    let invalid =
        || ValueError::new("22P02", format!("invalid input syntax for type numeric: \"{text}\""));
    let written = Written::of(trimmed.as_bytes()).ok_or_else(invalid)?;
    written.value()
}

fn special(text: &str) -> Option<Numeric> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if is("nan") {
        Some(Numeric::NaN)
    } else if ["inf", "+inf", "infinity", "+infinity"].into_iter().any(is) {
        Some(Numeric::Infinity)
    } else if ["-inf", "-infinity"].into_iter().any(is) {
        Some(Numeric::NegativeInfinity)
    } else {
        None
    }
}

/// A number's parts as they are written.
struct Written {
    is_negative: bool,
    /// Before and after the point.
    digits: Vec<u8>,
    after_point: i64,
    /// `None` where it is beyond any that the type could hold.
    exponent: Option<i64>,
}

impl Written {
    fn of(text: &[u8]) -> Option<Self> {
        let (is_negative, text) = match text.split_first() {
            Some((b'-', rest)) => (true, rest),
            Some((b'+', rest)) => (false, rest),
            _ => (false, text),
        };
        let mut digits = Vec::with_capacity(text.len());
        let rest = take_digits(text, &mut digits);
        let before_point = digits.len();
        let rest = match rest.split_first() {
            Some((b'.', rest)) => take_digits(rest, &mut digits),
            _ => rest,
        };
        if digits.is_empty() {
            return None;
        }
        let after_point = (digits.len() - before_point) as i64;
        Some(Self { is_negative, digits, after_point, exponent: exponent(rest)? })
    }

    fn value(self) -> Result<Numeric> {
        let exponent = self.exponent.ok_or_else(overflow)?;
        let scale = (self.after_point - exponent).max(0);
        let zeros = self.digits.iter().take_while(|digit| **digit == b'0').count();
        let digits = &self.digits[zeros..];
        let magnitude = digits.len() as i64 - self.after_point + exponent - 1;
        // Before the digits are multiplied out: an exponent alone could ask for any amount of memory.
        if scale > i64::from(MAX_SCALE) || (!digits.is_empty() && magnitude >= MAX_WHOLE_DIGITS) {
            return Err(overflow());
        }
        let coefficient = Integer::from_digits(digits);
        let shift = (exponent - self.after_point + scale) as u32;
        let coefficient = coefficient.shifted(if digits.is_empty() { 0 } else { shift });
        let signed = if self.is_negative { coefficient.negated() } else { coefficient };
        Decimal::new(signed, scale as u32).checked()
    }
}

/// Moves the digits that a text begins with; gives the rest.
fn take_digits<'a>(text: &'a [u8], digits: &mut Vec<u8>) -> &'a [u8] {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits.extend_from_slice(&text[..count]);
    &text[count..]
}

/// What stands behind the digits: nothing or an exponent. `None` where it is neither, `Some(None)` where the exponent is absurd.
fn exponent(text: &[u8]) -> Option<Option<i64>> {
    let [b'e' | b'E', rest @ ..] = text else {
        return text.is_empty().then_some(Some(0));
    };
    let (is_negative, digits) = match rest.split_first() {
        Some((b'-', digits)) => (true, digits),
        Some((b'+', digits)) => (false, digits),
        _ => (false, rest),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits
        .iter()
        .try_fold(0_i64, |sum, digit| sum.checked_mul(10)?.checked_add(i64::from(digit - b'0')));
    let bounded = value.filter(|value| *value < i64::from(i32::MAX / 2));
    Some(bounded.map(|value| if is_negative { -value } else { value }))
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NegativeInfinity => f.write_str("-Infinity"),
            Self::Finite(decimal) => decimal.fmt(f),
            Self::Infinity => f.write_str("Infinity"),
            Self::NaN => f.write_str("NaN"),
        }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scale == 0 {
            return self.coefficient.fmt(f);
        }
        let digits = self.coefficient.absolute().to_string();
        let scale = self.scale as usize;
        let filled = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = filled.split_at(filled.len() - scale);
        let sign = if self.coefficient.signum() < 0 { "-" } else { "" };
        write!(f, "{sign}{whole}.{fraction}")
    }
}
