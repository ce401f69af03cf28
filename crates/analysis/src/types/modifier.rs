//! Type modifiers, as the types' own functions read them.

use crate::error::{Location, Result, fault};
use crate::facts::{Oid, oid};

/// Bytes that a length's typmod counts beside the letters.
const HEADER: i32 = 4;
/// Letters of a varchar or char at most.
const MOST_LETTERS: i32 = 10_485_760;
/// Bits of a bit string at most.
const MOST_BITS: i32 = i32::MAX / 8 * 8;
/// Digits of a numeric at most.
const MOST_DIGITS: i32 = 1_000;
/// Digits of seconds at most.
const MOST_FRACTION: i32 = 6;
/// Any number of digits of an interval's seconds.
const ANY_FRACTION: i32 = 0xffff;
/// All fields of an interval.
const ALL_FIELDS: i32 = 0x7fff;

/// The typmod that modifiers make of a type.
///
/// # Errors
/// 22023 for modifiers that the type does not have.
pub(super) fn modifier(type_oid: Oid, numbers: &[i32], at: Location) -> Result<i32> {
    let invalid = |message: String| fault("22023", at, message);
    let one = || match numbers {
        [number] => Ok(*number),
        _ => Err(invalid("invalid type modifier".to_owned())),
    };
    match type_oid {
        oid::BPCHAR => length("char", one()?, MOST_LETTERS, at).map(|length| length + HEADER),
        oid::VARCHAR => length("varchar", one()?, MOST_LETTERS, at).map(|length| length + HEADER),
        oid::BIT => length("bit", one()?, MOST_BITS, at),
        oid::VARBIT => length("bit varying", one()?, MOST_BITS, at),
        oid::NUMERIC => numeric(numbers, at),
        oid::TIME | oid::TIMETZ => fraction("TIME", type_oid == oid::TIMETZ, one()?, at),
        oid::TIMESTAMP | oid::TIMESTAMPTZ => {
            fraction("TIMESTAMP", type_oid == oid::TIMESTAMPTZ, one()?, at)
        }
        oid::INTERVAL => interval(numbers, at),
        _ => Err(invalid("invalid type modifier".to_owned())),
    }
}

fn length(name: &str, length: i32, most: i32, at: Location) -> Result<i32> {
    if length < 1 {
        return Err(fault("22023", at, format!("length for type {name} must be at least 1")));
    }
    if length > most {
        return Err(fault("22023", at, format!("length for type {name} cannot exceed {most}")));
    }
    Ok(length)
}

fn numeric(numbers: &[i32], at: Location) -> Result<i32> {
    let (precision, scale) = match numbers {
        [precision] => (*precision, 0),
        [precision, scale] => (*precision, *scale),
        _ => return Err(fault("22023", at, "invalid NUMERIC type modifier")),
    };
    if !(1..=MOST_DIGITS).contains(&precision) {
        let message = format!("NUMERIC precision {precision} must be between 1 and {MOST_DIGITS}");
        return Err(fault("22023", at, message));
    }
    if !(-MOST_DIGITS..=MOST_DIGITS).contains(&scale) {
        let message =
            format!("NUMERIC scale {scale} must be between -{MOST_DIGITS} and {MOST_DIGITS}");
        return Err(fault("22023", at, message));
    }
    Ok((precision << 16 | scale & 0x7ff) + HEADER)
}

fn fraction(name: &str, has_zone: bool, digits: i32, at: Location) -> Result<i32> {
    let zone = if has_zone { " WITH TIME ZONE" } else { "" };
    if digits < 0 {
        let message = format!("{name}({digits}){zone} precision must not be negative");
        return Err(fault("22023", at, message));
    }
    // PostgreSQL warns and takes the most.
    Ok(digits.min(MOST_FRACTION))
}

fn interval(numbers: &[i32], at: Location) -> Result<i32> {
    let (fields, digits) = match numbers {
        [fields] => (*fields, ANY_FRACTION),
        [fields, digits] => (*fields, *digits),
        _ => return Err(fault("22023", at, "invalid INTERVAL type modifier")),
    };
    if digits == ANY_FRACTION {
        return Ok(if fields == ALL_FIELDS { -1 } else { fields << 16 | ANY_FRACTION });
    }
    if digits < 0 {
        let message = format!("INTERVAL({digits}) precision must not be negative");
        return Err(fault("22023", at, message));
    }
    Ok(fields << 16 | digits.min(MOST_FRACTION))
}
