//! What of a value is hashed.

use super::{of_bytes, of_bytes_extended, of_u32, of_u32_extended};
use crate::numeric::{self, Numeric};

/// Either form of a hash: without a seed the short one.
pub(super) trait Form: Copy {
    type Hash;
    fn bytes(self, bytes: &[u8]) -> Self::Hash;
    fn word(self, word: u32) -> Self::Hash;
    /// A hash with some bits turned.
    fn turned(hash: Self::Hash, bits: i64) -> Self::Hash;
    /// The hash of what is not looked at further, with a number added to it.
    fn constant(self, added: i64) -> Self::Hash;
}

/// 32 bits.
#[derive(Clone, Copy)]
pub(super) struct Short;

/// 64 bits, by a seed.
#[derive(Clone, Copy)]
pub(super) struct Extended(pub(super) i64);

impl Form for Short {
    type Hash = i32;

    fn bytes(self, bytes: &[u8]) -> i32 {
        of_bytes(bytes) as i32
    }

    fn word(self, word: u32) -> i32 {
        of_u32(word) as i32
    }

    fn turned(hash: i32, bits: i64) -> i32 {
        hash ^ bits as i32
    }

    fn constant(self, added: i64) -> i32 {
        added as i32
    }
}

impl Form for Extended {
    type Hash = i64;

    fn bytes(self, bytes: &[u8]) -> i64 {
        of_bytes_extended(bytes, self.0 as u64) as i64
    }

    fn word(self, word: u32) -> i64 {
        of_u32_extended(word, self.0 as u64) as i64
    }

    fn turned(hash: i64, bits: i64) -> i64 {
        hash ^ bits
    }

    fn constant(self, added: i64) -> i64 {
        self.0.wrapping_add(added)
    }
}

/// Whole numbers of every width hash alike where they are equal.
pub(super) fn whole<F: Form>(value: i64, form: F) -> F::Hash {
    let (low, high) = (value as u32, (value >> 32) as u32);
    form.word(low ^ if value >= 0 { high } else { !high })
}

/// As a double; both zeros and all that are not a number hash alike.
pub(super) fn float<F: Form>(value: f64, form: F) -> F::Hash {
    if value == 0.0 {
        return form.constant(0);
    }
    let bits = if value.is_nan() { 0x7FF8_0000_0000_0000 } else { value.to_bits() };
    form.bytes(&bits.to_le_bytes())
}

/// By its groups of four digits without zeros around, so that the scale does not matter.
pub(super) fn decimal<F: Form>(value: &Numeric, form: F) -> F::Hash {
    let Numeric::Finite(decimal) = value else {
        return form.constant(0);
    };
    if decimal.is_zero() {
        return form.constant(-1);
    }
    let (weight, groups) = numeric::groups(decimal);
    let bytes: Vec<u8> = groups.iter().flat_map(|group| group.to_le_bytes()).collect();
    F::turned(form.bytes(&bytes), weight.into())
}

/// The hash of a bigint, which is that of an equal integer and smallint.
pub fn of_i64(value: i64) -> i32 {
    whole(value, Short)
}

/// The hash of a double, which is that of an equal real.
pub fn of_f64(value: f64) -> i32 {
    float(value, Short)
}

/// The hash of a numeric.
pub fn of_numeric(value: &Numeric) -> i32 {
    decimal(value, Short)
}
