//! Sizes in bytes as people write them: `pg_size_pretty` and `pg_size_bytes`.

mod kernels;

pub(crate) use kernels::KERNELS;

use crate::error::{Result, ValueError};
use crate::numeric::{self, Numeric};
use crate::spaces::{is_space, start_trimmed, trimmed};

struct Unit {
    name: &'static str,
    /// Below it, the unit is used.
    limit: i64,
    /// How it is reached is rounded, by one bit more than the unit has.
    is_rounded: bool,
    bits: u32,
}

const fn unit(name: &'static str, bits: u32) -> Unit {
    Unit { name, limit: 20 * 1024 - 1, is_rounded: true, bits }
}

const UNITS: [Unit; 6] = [
    Unit { name: "bytes", limit: 10 * 1024, is_rounded: false, bits: 0 },
    unit("kB", 10),
    unit("MB", 20),
    unit("GB", 30),
    unit("TB", 40),
    unit("PB", 50),
];

impl Unit {
    /// What a size in this unit is divided by on the way to the next.
    fn divisor(&self, next: &Unit) -> i64 {
        let bits = next.bits - self.bits + u32::from(self.is_rounded) - u32::from(next.is_rounded);
        1 << bits
    }
}

/// A size with its unit.
pub fn pretty(size: i64) -> String {
    let mut size = size;
    for pair in UNITS.windows(2) {
        if size.unsigned_abs() < pair[0].limit as u64 {
            return shown(&pair[0], size);
        }
        size /= pair[0].divisor(&pair[1]);
    }
    shown(&UNITS[UNITS.len() - 1], size)
}

fn shown(unit: &Unit, size: i64) -> String {
    let size = if unit.is_rounded { (size + if size < 0 { -1 } else { 1 }) / 2 } else { size };
    format!("{size} {}", unit.name)
}

/// As [`pretty`], of a numeric.
///
/// # Errors
/// 22003 beyond the type.
pub fn pretty_numeric(size: &Numeric) -> Result<String> {
    let mut size = size.clone();
    for pair in UNITS.windows(2) {
        let absolute = if size.signum() < 0 { size.negated() } else { size.clone() };
        if absolute < numeric::from_i64(pair[0].limit) {
            return shown_numeric(&pair[0], &size);
        }
        size = numeric::divide_whole(&size, &numeric::from_i64(pair[0].divisor(&pair[1])))?;
    }
    shown_numeric(&UNITS[UNITS.len() - 1], &size)
}

fn shown_numeric(unit: &Unit, size: &Numeric) -> Result<String> {
    if !unit.is_rounded {
        return Ok(format!("{size} {}", unit.name));
    }
    let away = numeric::from_i64(if *size < Numeric::ZERO { -1 } else { 1 });
    let half = numeric::divide_whole(&numeric::add(size, &away)?, &numeric::from_i64(2))?;
    Ok(format!("{half} {}", unit.name))
}

/// The bytes of a size that is written with a unit.
///
/// # Errors
/// 22023 for what is no size; 22003 beyond a bigint.
pub fn bytes(text: &str) -> Result<i64> {
    let start = start_trimmed(text);
    let invalid = || ValueError::new("22023", format!("invalid size: \"{text}\""));
    let length = number_length(start.as_bytes()).ok_or_else(invalid)?;
    let number = numeric::parse(&start[..length])?;
    let name = trimmed(&start[length..]);
    if name.is_empty() {
        return numeric::to_i64(&number);
    }
    let Some(unit) = UNITS.iter().find(|unit| unit.name.eq_ignore_ascii_case(name)) else {
        return Err(ValueError {
            detail: Some(format!("Invalid size unit: \"{name}\".").into()),
            hint: Some(
                "Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".".into(),
            ),
            ..invalid()
        });
    };
    numeric::to_i64(&numeric::multiply(&numeric::from_i64(1 << unit.bits), &number)?)
}

/// How long the number is that a text begins with.
fn number_length(text: &[u8]) -> Option<usize> {
    let digits = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_sign = |at: usize| matches!(text.get(at), Some(b'+' | b'-'));
    let mut at = usize::from(is_sign(0));
    let before = digits(at);
    at += before;
    let mut behind = 0;
    if text.get(at) == Some(&b'.') {
        behind = digits(at + 1);
        at += 1 + behind;
    }
    if before + behind == 0 {
        return None;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        let spaces = text[at + 1..].iter().take_while(|byte| is_space(**byte)).count();
        let first = at + 1 + spaces;
        let first = first + usize::from(is_sign(first));
        let exponent = digits(first.min(text.len()));
        if exponent > 0 {
            at = first + exponent;
        }
    }
    Some(at)
}
