//! The endings of ordinal numbers.

use super::parse::Ordinal;
use crate::error::{Result, ValueError};

/// `st`, `nd`, `rd` or `th` after a number.
///
/// # Errors
/// 22P02 where there is no number.
pub(super) fn ending(number: &str, ordinal: Ordinal) -> Result<&'static str> {
    let digits = number.as_bytes();
    let Some(last) = digits.last().filter(|last| last.is_ascii_digit()) else {
        return Err(ValueError::new("22P02", format!("\"{number}\" is not a number")));
    };
    let is_teen = digits.len() > 1 && digits[digits.len() - 2] == b'1';
    let (upper, lower) = match last {
        b'1' if !is_teen => ("ST", "st"),
        b'2' if !is_teen => ("ND", "nd"),
        b'3' if !is_teen => ("RD", "rd"),
        _ => ("TH", "th"),
    };
    Ok(if ordinal == Ordinal::Upper { upper } else { lower })
}
