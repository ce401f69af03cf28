//! The binary form of `numeric`: groups of four decimal digits.

use super::{Decimal, Integer, MAX_SCALE, Numeric};
use crate::error::{Result, ValueError};

const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xC000;
const INFINITY: u16 = 0xD000;
const NEGATIVE_INFINITY: u16 = 0xF000;
const HEADER: usize = 8;

/// Appends number of groups, weight of the first, sign, scale (16 bits each) and the groups.
pub fn send(value: &Numeric, out: &mut Vec<u8>) {
    let header = |out: &mut Vec<u8>, words: [u16; 4]| {
        words.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
    };
    match value {
        // The scale of infinities is what PostgreSQL happens to send.
        Numeric::NegativeInfinity => header(out, [0, 0, NEGATIVE_INFINITY, 0x20]),
        Numeric::Infinity => header(out, [0, 0, INFINITY, 0x20]),
        Numeric::NaN => header(out, [0, 0, NAN, 0]),
        Numeric::Finite(decimal) => {
            let (weight, groups) = groups(decimal);
            let sign = if decimal.coefficient.signum() < 0 { NEGATIVE } else { 0 };
            header(out, [groups.len() as u16, weight as u16, sign, decimal.scale as u16]);
            groups.iter().for_each(|group| out.extend_from_slice(&group.to_be_bytes()));
        }
    }
}

/// The weight of the first group, and the groups without zeros around.
pub(crate) fn groups(decimal: &Decimal) -> (i16, Vec<u16>) {
    if decimal.is_zero() {
        return (0, Vec::new());
    }
    let padding = (4 - decimal.scale % 4) % 4;
    let digits = decimal.coefficient.shifted(padding).absolute().to_string();
    let behind_point = i64::from(decimal.scale + padding) / 4;
    let mut groups: Vec<u16> = digits.as_bytes().rchunks(4).map(group).collect();
    groups.reverse();
    let weight = groups.len() as i64 - behind_point - 1;
    let used = groups.iter().rposition(|group| *group != 0).map_or(0, |last| last + 1);
    groups.truncate(used);
    (weight as i16, groups)
}

fn group(digits: &[u8]) -> u16 {
    digits.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'))
}

/// Reads what [`send`] writes.
///
/// # Errors
/// 22P03 for anything else; 22003 for more digits than the type has.
pub fn receive(bytes: &[u8]) -> Result<Numeric> {
    let too_short = || ValueError::new("08P01", "insufficient data left in message");
    let word = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    let at = |at: usize| word(at).ok_or_else(too_short);
    let (count, weight, sign, scale) = (at(0)?, at(2)? as i16, at(4)?, at(6)?);
    if bytes.len() > HEADER + 2 * usize::from(count) {
        return Err(ValueError::new("22P03", "incorrect binary data format"));
    }
    match sign {
        0 | NEGATIVE => {}
        NAN => return Ok(Numeric::NaN),
        INFINITY => return Ok(Numeric::Infinity),
        NEGATIVE_INFINITY => return Ok(Numeric::NegativeInfinity),
        _ => return Err(invalid("sign")),
    }
    if u32::from(scale) > MAX_SCALE {
        return Err(invalid("scale"));
    }
    let mut digits = Vec::with_capacity(usize::from(count) * 4);
    for i in 0..usize::from(count) {
        let group = at(HEADER + 2 * i)?;
        if group >= 10_000 {
            return Err(invalid("digit"));
        }
        digits.extend_from_slice(format!("{group:04}").as_bytes());
    }
    let coefficient = Integer::from_digits(&digits);
    let value = placed(coefficient, 4 * (i64::from(weight) - i64::from(count) + 1), scale);
    if sign == NEGATIVE { value.negated().checked() } else { value.checked() }
}

/// A coefficient times a power of ten, cut to a scale.
fn placed(coefficient: Integer, exponent: i64, scale: u16) -> Decimal {
    let shift = exponent + i64::from(scale);
    let power = Integer::power_of_ten(shift.unsigned_abs() as u32);
    let coefficient =
        if shift < 0 { coefficient.divided(&power).0 } else { coefficient.times(&power) };
    Decimal::new(coefficient, u32::from(scale))
}

fn invalid(part: &str) -> ValueError {
    ValueError::new("22P03", format!("invalid {part} in external \"numeric\" value"))
}
