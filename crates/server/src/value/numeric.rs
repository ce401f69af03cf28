//! numeric's binary format: digits in base 10,000, exactly.
//!
//! Four 16-bit fields (number of digits, weight, sign, display scale), then the digits, most significant first. The digit
//! at position `i` counts `10000 ^ (weight - i)`. The display scale keeps trailing zeros: 1.10 is not 1.1.

use engine::types::{Error, Result, SqlState};

use crate::message::frontend::{Fields, SHORT_OF_DATA, violation};

const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xC000;
const POSITIVE_INFINITY: u16 = 0xD000;
const NEGATIVE_INFINITY: u16 = 0xF000;

/// Digits after the point in the largest scale that the engine has.
const SCALE_LIMIT: u8 = 38;

/// Digits of base 10,000 that 39 decimal digits can touch, with a partial group at either end.
const GROUP_LIMIT: usize = 39 / 4 + 2;

/// Appends `unscaled / 10^scale`.
pub fn write(out: &mut Vec<u8>, unscaled: i128, scale: u8) {
    let mut groups = [0u16; GROUP_LIMIT];
    let (used, weight) = split(unscaled.unsigned_abs(), scale, &mut groups);
    let sign = if unscaled < 0 { NEGATIVE } else { 0 };
    for field in [used.len() as u16, weight as u16, sign, u16::from(scale)] {
        out.extend_from_slice(&field.to_be_bytes());
    }
    for digit in used {
        out.extend_from_slice(&digit.to_be_bytes());
    }
}

/// The groups of a number, most significant first, without zero groups at either end, and the first one's weight.
fn split(magnitude: u128, scale: u8, groups: &mut [u16; GROUP_LIMIT]) -> (&[u16], i16) {
    // The groups right of the point must be whole: up to three zeros are appended, into the last group only,
    // since the whole number times 1,000 may not fit.
    let fraction_groups = usize::from(scale).div_ceil(4);
    let partial = usize::from(scale) % 4;
    let mut rest = magnitude;
    let mut start = groups.len();
    if partial > 0 {
        let base = 10u128.pow(partial as u32);
        start -= 1;
        groups[start] = (rest % base) as u16 * 10u16.pow(4 - partial as u32);
        rest /= base;
    }
    while rest > 0 {
        start -= 1;
        groups[start] = (rest % 10_000) as u16;
        rest /= 10_000;
    }
    let mut weight = (groups.len() - start) as i16 - fraction_groups as i16 - 1;
    let mut used = &groups[start..];
    while let [0, tail @ ..] = used {
        used = tail;
        weight -= 1;
    }
    while let [head @ .., 0] = used {
        used = head;
    }
    if used.is_empty() { (used, 0) } else { (used, weight) }
}

/// Reads a numeric: its unscaled digits and its scale.
pub fn read(bytes: &[u8]) -> Result<(i128, u8)> {
    let mut fields = Fields::new(bytes);
    let count = fields.count()?;
    let weight = fields.count()? as u16 as i16;
    let sign = fields.count()? as u16;
    let scale = fields.count()?;
    let digits = fields.rest();
    if digits.len() < count * 2 {
        return Err(violation(SHORT_OF_DATA));
    }
    if digits.len() > count * 2 {
        return Err(invalid());
    }
    if matches!(sign, NAN | POSITIVE_INFINITY | NEGATIVE_INFINITY) {
        let message = "numeric NaN and infinity are not supported";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    let scale = u8::try_from(scale).ok().filter(|scale| *scale <= SCALE_LIMIT);
    let scale = scale.ok_or_else(overflow)?;
    let magnitude = join(digits, weight, scale)?;
    match sign {
        0 => Ok((magnitude, scale)),
        NEGATIVE => Ok((-magnitude, scale)),
        _ => Err(invalid()),
    }
}

fn join(digits: &[u8], weight: i16, scale: u8) -> Result<i128> {
    let mut magnitude = 0i128;
    for (i, digit) in digits.chunks_exact(2).enumerate() {
        let digit = i128::from(u16::from_be_bytes([digit[0], digit[1]]));
        if digit > 9_999 {
            return Err(invalid());
        }
        // The digit counts digit * 10^exponent units of the last place.
        let exponent = (i32::from(weight) - i as i32) * 4 + i32::from(scale);
        magnitude = magnitude.checked_add(shift(digit, exponent)?).ok_or_else(overflow)?;
    }
    Ok(magnitude)
}

/// `digit * 10^exponent`; digits beyond the display scale are cut, as PostgreSQL's receive function does.
fn shift(digit: i128, exponent: i32) -> Result<i128> {
    match exponent {
        _ if digit == 0 => Ok(0),
        0.. => 10i128
            .checked_pow(exponent as u32)
            .and_then(|power| digit.checked_mul(power))
            .ok_or_else(overflow),
        -3..0 => Ok(digit / 10i128.pow(exponent.unsigned_abs())),
        _ => Ok(0),
    }
}

fn invalid() -> Error {
    Error::new(SqlState::InvalidBinaryRepresentation, "invalid binary numeric value")
}

fn overflow() -> Error {
    Error::new(SqlState::NumericOutOfRange, "numeric field overflow")
        .detail("A numeric holds at most 38 digits.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(fields: &[u16]) -> Vec<u8> {
        fields.iter().flat_map(|field| field.to_be_bytes()).collect()
    }

    fn written(unscaled: i128, scale: u8) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, unscaled, scale);
        out
    }

    #[test]
    fn what_postgresql_sends() {
        assert_eq!(written(0, 0), bytes(&[0, 0, 0, 0]));
        assert_eq!(written(0, 2), bytes(&[0, 0, 0, 2]));
        assert_eq!(written(110, 2), bytes(&[2, 0, 0, 2, 1, 1000])); // 1.10
        assert_eq!(written(11, 1), bytes(&[2, 0, 0, 1, 1, 1000])); // 1.1
        assert_eq!(written(124, 7), bytes(&[1, (-2i16) as u16, 0, 7, 1240])); // 0.0000124
        assert_eq!(written(-123_456_789, 4), bytes(&[3, 1, NEGATIVE, 4, 1, 2345, 6789]));
        assert_eq!(written(10_000, 0), bytes(&[1, 1, 0, 0, 1]));
        assert_eq!(written(1, 4), bytes(&[1, (-1i16) as u16, 0, 4, 1]));
    }

    #[test]
    fn every_scale_and_size_comes_back() {
        let mut numbers = vec![i128::MAX, i128::MIN + 1, 0, 1, -1, 10i128.pow(38) - 1];
        let mut seed = 0x9e37_79b9_7f4a_7c15_u128;
        for i in 0..2_000 {
            seed = seed.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(i);
            numbers.push((seed as i128) >> (i % 127));
        }
        for number in numbers {
            for scale in 0..=SCALE_LIMIT {
                let back = read(&written(number, scale)).expect("own output");
                assert_eq!(back, (number, scale));
            }
        }
    }

    #[test]
    fn what_cannot_be_a_number_is_refused() {
        let state = |fields: &[u16]| read(&bytes(fields)).expect_err("refused").state;
        assert_eq!(state(&[1, 0, 0, 0]), SqlState::ProtocolViolation);
        assert_eq!(state(&[0, 0, 0, 0, 1]), SqlState::InvalidBinaryRepresentation);
        assert_eq!(state(&[1, 0, 0, 0, 10_000]), SqlState::InvalidBinaryRepresentation);
        assert_eq!(state(&[1, 0, 0x1234, 0, 1]), SqlState::InvalidBinaryRepresentation);
        assert_eq!(state(&[0, 0, NAN, 0]), SqlState::FeatureNotSupported);
        assert_eq!(state(&[1, 20, 0, 0, 1]), SqlState::NumericOutOfRange);
        assert_eq!(state(&[1, 0, 0, 500, 1]), SqlState::NumericOutOfRange);
        assert!(read(&[0, 1]).is_err());
    }
}
