//! The digits of a number as a template shows them.

use super::description::Description;
use super::roman::roman;
use crate::error::{Result, ValueError};
use crate::int;
use crate::numeric::{self, Decimal, Numeric};

/// Digits that a `real` and a `double precision` are sure to have.
const FLOAT4_DIGITS: usize = 6;
const FLOAT8_DIGITS: usize = 15;

/// What is put into a template.
#[derive(Debug)]
pub(super) struct Digits {
    /// Digits with their point; of Roman numbers and scientific notation, all that is written.
    pub(super) text: String,
    /// `+` or `-`.
    pub(super) sign: char,
    /// Places of the template before the first digit.
    pub(super) spaces: usize,
}

impl Digits {
    fn whole(text: String) -> Self {
        Self { text, sign: '+', spaces: 0 }
    }

    /// A number's text with its sign; where it has more digits before the point than the template, `#` instead.
    fn placed(text: &str, description: &Description) -> Self {
        let (sign, text) = match text.strip_prefix('-') {
            Some(text) => ('-', text),
            None => ('+', text),
        };
        let before = text.find('.').unwrap_or(text.len());
        match description.before.checked_sub(before) {
            Some(spaces) => Self { text: text.to_owned(), sign, spaces },
            None => {
                let (before, behind) = (description.before, description.behind);
                let text = format!("{}.{}", "#".repeat(before), "#".repeat(behind));
                Self { text, sign, spaces: 0 }
            }
        }
    }
}

/// What stands for numbers that scientific notation has none for.
fn not_scientific(description: &Description) -> String {
    let (before, behind) = (description.before, description.behind);
    format!(" {}.{}", "#".repeat(before), "#".repeat(behind + 4))
}

/// With a space where a negative one has its sign.
fn aligned(text: String) -> String {
    if text.starts_with('-') { text } else { format!(" {text}") }
}

/// The digits of a numeric; widens the description by those behind `V`.
///
/// # Errors
/// 22003 beyond the range of what they are computed with.
pub(super) fn of_numeric(value: &Numeric, description: &mut Description) -> Result<Digits> {
    if description.is_roman {
        let number = numeric::to_i32(&numeric::round(value, 0)?)?;
        return Ok(Digits::whole(roman(number)));
    }
    if description.is_scientific {
        let text = match value {
            Numeric::Finite(decimal) => aligned(scientific(decimal, description.behind)),
            _ => not_scientific(description),
        };
        return Ok(Digits::whole(text));
    }
    let mut multiplied = None;
    if description.is_multiplied {
        let exponent = numeric::from_i64(description.multiplied as i64);
        let factor = numeric::power(&numeric::from_i64(10), &exponent)?;
        multiplied = Some(numeric::multiply(value, &factor)?);
        description.before += description.multiplied;
    }
    let rounded = numeric::round(multiplied.as_ref().unwrap_or(value), description.behind as i32)?;
    Ok(Digits::placed(&rounded.to_string(), description))
}

/// In scientific notation with so many digits behind the point. As in PostgreSQL, 9.9 may round to 10 times a power of ten.
fn scientific(value: &Decimal, behind: usize) -> String {
    let exponent = value.magnitude();
    let scale = i64::from(value.scale) + exponent;
    let significand = match u32::try_from(scale) {
        Ok(scale) => Decimal::new(value.coefficient.clone(), scale),
        Err(_) => Decimal::new(value.coefficient.shifted(scale.unsigned_abs() as u32), 0),
    };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", significand.rounded(behind as u32), exponent.abs())
}

/// As [`of_numeric`], of an integer.
pub(super) fn of_i32(value: i32, description: &mut Description) -> Result<Digits> {
    if description.is_roman {
        return Ok(Digits::whole(roman(value)));
    }
    if description.is_scientific {
        return Ok(Digits::whole(float_scientific(value.into(), description.behind)));
    }
    let mut value = value;
    if description.is_multiplied {
        // A power beyond the type is the least integer, as the processor converts it.
        let factor = 10_i32.checked_pow(description.multiplied as u32).unwrap_or(i32::MIN);
        value = value.wrapping_mul(factor);
        description.before += description.multiplied;
    }
    Ok(of_integer(value.into(), description))
}

/// As [`of_numeric`], of a bigint.
///
/// # Errors
/// 22003 beyond the range of what they are computed with.
pub(super) fn of_i64(value: i64, description: &mut Description) -> Result<Digits> {
    if description.is_roman {
        return Ok(Digits::whole(roman(int::narrow(value)?)));
    }
    if description.is_scientific {
        return of_numeric(&numeric::from_i64(value), description);
    }
    let mut value = value;
    if description.is_multiplied {
        let out_of_range = || ValueError::new("22003", "bigint out of range");
        let factor = 10_i64.checked_pow(description.multiplied as u32).ok_or_else(out_of_range)?;
        value = value.checked_mul(factor).ok_or_else(out_of_range)?;
        description.before += description.multiplied;
    }
    Ok(of_integer(value, description))
}

fn of_integer(value: i64, description: &Description) -> Digits {
    let text = match description.behind {
        0 => value.to_string(),
        behind => format!("{value}.{}", "0".repeat(behind)),
    };
    Digits::placed(&text, description)
}

/// As C's `%+e` with a space for the plus.
fn float_scientific(value: f64, behind: usize) -> String {
    let text = format!("{value:.behind$e}");
    let (significand, exponent) = text.split_once('e').expect("an exponent");
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    aligned(format!("{significand}e{sign}{exponent:0>2}"))
}

/// As [`of_numeric`], of a real.
pub(super) fn of_f32(value: f32, description: &mut Description) -> Result<Digits> {
    let factor = 10_f64.powf(description.multiplied as f64) as f32;
    let multiplied = f64::from(if description.is_multiplied { value * factor } else { value });
    of_float(value.into(), multiplied, FLOAT4_DIGITS, description)
}

/// As [`of_numeric`], of a double.
pub(super) fn of_f64(value: f64, description: &mut Description) -> Result<Digits> {
    let factor = 10_f64.powf(description.multiplied as f64);
    let multiplied = if description.is_multiplied { value * factor } else { value };
    of_float(value, multiplied, FLOAT8_DIGITS, description)
}

/// `digits` are those that the type is sure to have: no more are shown.
fn of_float(
    value: f64,
    multiplied: f64,
    digits: usize,
    description: &mut Description,
) -> Result<Digits> {
    if description.is_roman {
        let rounded = value.round_ties_even();
        let is_integer = rounded >= f64::from(i32::MIN) && rounded <= f64::from(i32::MAX);
        return Ok(Digits::whole(roman(if is_integer { rounded as i32 } else { i32::MIN })));
    }
    if description.is_scientific {
        let is_finite = value.is_finite();
        return Ok(Digits::whole(match is_finite {
            true => float_scientific(value, description.behind),
            false => not_scientific(description),
        }));
    }
    if description.is_multiplied {
        description.before += description.multiplied;
    }
    let before = fixed(multiplied.abs(), 0).len();
    description.behind = description.behind.min(digits.saturating_sub(before));
    Ok(Digits::placed(&fixed(multiplied, description.behind), description))
}

/// As C's `%f`.
fn fixed(value: f64, behind: usize) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value < 0.0 { "-Infinity" } else { "Infinity" }.to_owned()
    } else {
        format!("{value:.behind$}")
    }
}
