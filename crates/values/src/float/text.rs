//! The text form of floating point.

use super::Float;
use super::shortest::{Digits, shortest};
use crate::error::{Result, ValueError};
use crate::spaces::trimmed;

/// Reads a double precision.
///
/// # Errors
/// 22P02 for what is no number; 22003 for what is beyond the largest or below the smallest one.
pub fn parse_f64(text: &str) -> Result<f64> {
    parse(text, "double precision")
}

/// Reads a real.
///
/// # Errors
/// 22P02 for what is no number; 22003 for what is beyond the largest or below the smallest one.
pub fn parse_f32(text: &str) -> Result<f32> {
    parse(text, "real")
}

fn parse<T: Float + std::str::FromStr>(text: &str, name: &str) -> Result<T> {
    let number = trimmed(text);
    let unsigned = number.strip_prefix(['+', '-']).unwrap_or(number);
    let is_special =
        ["nan", "inf", "infinity"].iter().any(|word| unsigned.eq_ignore_ascii_case(word));
    let value = (is_special || is_decimal(unsigned)).then(|| number.parse().ok()).flatten();
    let Some(value): Option<T> = value else {
        let message = format!("invalid input syntax for type {name}: \"{text}\"");
        return Err(ValueError::new("22P02", message));
    };
    let is_zero = value == T::default();
    let digits = unsigned.split(['e', 'E']).next().unwrap_or(unsigned);
    let is_written_zero = !digits.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    if !is_special && (value.is_infinite() || (is_zero && !is_written_zero)) {
        let message = format!("\"{number}\" is out of range for type {name}");
        return Err(ValueError::new("22003", message));
    }
    Ok(value)
}

/// Digits with a point, and an exponent with digits.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_mantissa =
        are_digits(whole) && are_digits(fraction) && !(whole.is_empty() && fraction.is_empty());
    let is_exponent = |exponent: &str| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && are_digits(digits)
    };
    is_mantissa && exponent.is_none_or(is_exponent)
}

/// Appends the shortest text that reads back as the number.
pub fn write<T: Float>(value: T, out: &mut String) {
    if value.is_nan() {
        return out.push_str("NaN");
    }
    if value.is_negative() {
        out.push('-');
    }
    if value.is_infinite() {
        out.push_str("Infinity");
    } else if value == T::default() {
        out.push('0');
    } else {
        write_digits(&shortest(value.magnitude()), T::PLAIN_DIGITS, out);
    }
}

fn write_digits(Digits { digits, exponent }: &Digits, plain: i32, out: &mut String) {
    let zeros = |count: i32| "0".repeat(count.max(0) as usize);
    if !(-4..plain).contains(exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let sign = if *exponent < 0 { '-' } else { '+' };
        out.push_str(&format!("{first}{point}{rest}e{sign}{:02}", exponent.unsigned_abs()));
    } else if *exponent < 0 {
        out.push_str("0.");
        out.push_str(&zeros(-exponent - 1));
        out.push_str(digits);
    } else {
        let whole = *exponent as usize + 1;
        let filled = format!("{digits}{}", zeros(whole as i32 - digits.len() as i32));
        let (before, behind) = filled.split_at(whole);
        out.push_str(before);
        if !behind.is_empty() {
            out.push('.');
            out.push_str(behind);
        }
    }
}
