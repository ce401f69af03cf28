//! `oid`: numbers of 32 bits without a sign, and the types that name objects by them (`regclass` and its kin), whose texts need a catalog.

mod kernels;

pub(crate) use kernels::KERNELS;

use crate::error::{Result, ValueError};
use crate::spaces::trimmed;

/// A value, as an argument of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Oid(pub u32);

/// Reads decimal digits with a sign, and spaces around; a negative number stands for the one of the same 32 bits.
///
/// # Errors
/// 22P02 for anything else; 22003 out of range.
pub fn parse(text: &str) -> Result<Oid> {
    let number = trimmed(text);
    let (is_negative, digits) = match number.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let message = format!("invalid input syntax for type oid: \"{text}\"");
        return Err(ValueError::new("22P02", message));
    }
    let wide = digits.parse::<u64>().ok();
    let wide = wide.map(|value| if is_negative { value.wrapping_neg() } else { value });
    // As it is, or with its sign extended.
    let fits = |wide: &u64| *wide == u64::from(*wide as u32) || *wide == *wide as u32 as i32 as u64;
    wide.filter(fits).map(|wide| Oid(wide as u32)).ok_or_else(|| {
        ValueError::new("22003", format!("value \"{text}\" is out of range for type oid"))
    })
}

/// An OID of a bigint.
///
/// # Errors
/// 22003 out of range.
pub fn from_i64(value: i64) -> Result<Oid> {
    let oid = u32::try_from(value).map(Oid);
    oid.map_err(|_| ValueError::new("22003", "OID out of range"))
}
