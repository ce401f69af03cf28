//! Index keys as bytes that compare like the values do.
//!
//! Every column is a marker byte (value before NULL, as `NULLS LAST`) and the value big-endian with
//! its sign turned; strings end with a zero byte that no string contains, `bytea` escapes its
//! zeros. Keys of fixed width up to 16 bytes are then plain numbers.

use super::coerce::{Coerced, coerce};
use crate::types::{
    ColumnId, DataType, IndexKind, IndexSchema, NARROW_PRECISION, TableSchema, Value, ValueRef,
};

const VALUE: u8 = 0;
const NULL: u8 = 1;

/// Bytes of a key that need no allocation.
const INLINE: usize = 64;

/// How a table's rows become keys of one index.
#[derive(Clone, Debug)]
pub(super) struct KeyEncoding {
    pub columns: Vec<(ColumnId, DataType)>,
    pub width: KeyWidth,
}

/// What the tree of an index is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyWidth {
    /// Up to 8 bytes.
    Word,
    /// Up to 16 bytes.
    Wide,
    /// Anything.
    Bytes,
    /// A hash of the bytes: equality only.
    Hash,
}

/// An encoded key, on the stack unless it is long.
#[derive(Clone, Debug)]
pub(super) struct KeyBuffer {
    inline: [u8; INLINE],
    length: usize,
    spilled: Vec<u8>,
}

impl KeyBuffer {
    #[inline]
    pub fn new() -> KeyBuffer {
        KeyBuffer { inline: [0; INLINE], length: 0, spilled: Vec::new() }
    }

    /// A key that was kept as bytes.
    pub fn of_bytes(bytes: &[u8]) -> KeyBuffer {
        let mut key = KeyBuffer::new();
        key.extend(bytes);
        key
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        if self.spilled.is_empty() { &self.inline[..self.length] } else { &self.spilled }
    }

    #[inline]
    fn extend(&mut self, bytes: &[u8]) {
        if self.spilled.is_empty() && self.length + bytes.len() <= INLINE {
            self.inline[self.length..self.length + bytes.len()].copy_from_slice(bytes);
            self.length += bytes.len();
            return;
        }
        if self.spilled.is_empty() {
            self.spilled.extend_from_slice(&self.inline[..self.length]);
        }
        self.spilled.extend_from_slice(bytes);
    }

    /// The first 8 bytes as a number.
    #[inline]
    pub fn word(&self) -> u64 {
        u64::from_be_bytes(*self.inline.first_chunk().expect("64 bytes"))
    }

    /// The first 16 bytes as a number.
    #[inline]
    pub fn wide(&self) -> u128 {
        u128::from_be_bytes(*self.inline.first_chunk().expect("64 bytes"))
    }

    /// A hash of all bytes.
    pub fn hash(&self) -> u64 {
        use std::hash::{BuildHasher, Hasher};
        let mut hasher = foldhash::fast::FixedState::with_seed(23).build_hasher();
        hasher.write(self.bytes());
        hasher.finish()
    }

    /// Turns this prefix into the least key that is above all keys that start with it; `false` if
    /// there is none.
    pub fn advance(&mut self) -> bool {
        let mut bytes = self.bytes().to_vec();
        while let Some(last) = bytes.pop() {
            if last < u8::MAX {
                bytes.push(last + 1);
                *self = KeyBuffer::new();
                self.extend(&bytes);
                return true;
            }
        }
        false
    }
}

impl KeyEncoding {
    pub fn new(schema: &TableSchema, index: &IndexSchema) -> KeyEncoding {
        let columns: Vec<_> =
            index.columns.iter().map(|c| (*c, schema.columns[c.index()].data_type)).collect();
        let fixed = columns.iter().try_fold(0, |sum, (_, t)| Some(sum + 1 + fixed_width(*t)?));
        let width = match fixed {
            Some(0..=8) => KeyWidth::Word,
            Some(9..=16) => KeyWidth::Wide,
            _ if index.kind == IndexKind::Hash => KeyWidth::Hash,
            _ => KeyWidth::Bytes,
        };
        KeyEncoding { columns, width }
    }

    /// The key of a row whose columns `cell` gives: values of the columns' own types.
    #[inline]
    pub fn row_key<'v>(&self, cell: impl Fn(ColumnId) -> ValueRef<'v>) -> KeyBuffer {
        let mut key = KeyBuffer::new();
        for (column, data_type) in &self.columns {
            match cell(*column) {
                ValueRef::Null => key.extend(&[NULL]),
                value => encode(value, *data_type, &mut key),
            }
        }
        key
    }

    /// The key that equals `values`, or `None` if no key can (a NULL, a value outside the column's
    /// type).
    #[inline]
    pub fn equal_key(&self, values: &[ValueRef<'_>]) -> Option<KeyBuffer> {
        assert_eq!(values.len(), self.columns.len(), "one value per key column");
        let mut key = KeyBuffer::new();
        for (value, (_, data_type)) in values.iter().zip(&self.columns) {
            match coerce(*value, *data_type) {
                Coerced::Exact(value) => encode(value, *data_type, &mut key),
                _ => return None,
            }
        }
        Some(key)
    }

    /// Bytes of the values, if the key is one integer column.
    pub fn integer_width(&self) -> Option<usize> {
        match &self.columns[..] {
            [(_, DataType::SmallInt | DataType::Integer | DataType::BigInt)] => {
                fixed_width(self.columns[0].1)
            }
            _ => None,
        }
    }

    /// The value of a key, or of a bound on keys, of one integer column as an unsigned number;
    /// `None` for NULL.
    #[inline]
    pub fn integer(key: &KeyBuffer, width: usize) -> Option<u64> {
        let digits = key.inline[1..].first_chunk().expect("64 bytes");
        (key.inline[0] == VALUE).then(|| u64::from_be_bytes(*digits) >> (64 - 8 * width))
    }

    /// The key of [`Self::integer`].
    pub fn integer_key(value: u64, width: usize) -> KeyBuffer {
        let mut key = KeyBuffer::new();
        key.extend(&[VALUE]);
        key.extend(&value.to_be_bytes()[8 - width..]);
        key
    }

    /// The least key whose first column is NULL.
    pub fn null_prefix() -> KeyBuffer {
        let mut key = KeyBuffer::new();
        key.extend(&[NULL]);
        key
    }

    /// The least key (`above`: the least key above all those) that starts with `values`.
    /// Keys of fixed width are padded with zeros.
    pub fn bound(&self, values: &[Value], above: bool) -> Result<KeyBuffer, Limit> {
        let mut key = KeyBuffer::new();
        for (value, (_, data_type)) in values.iter().zip(&self.columns) {
            match coerce(value.borrow(), *data_type) {
                Coerced::Exact(value) => encode(value, *data_type, &mut key),
                Coerced::Null => return Err(Limit::Nothing),
                // The bound lies between two keys: everything that follows in it no longer matters.
                Coerced::Above(floor) => {
                    encode(floor, *data_type, &mut key);
                    return above_all(key);
                }
                Coerced::BelowAll => {
                    key.extend(&[VALUE]);
                    return Ok(key);
                }
                Coerced::AboveAll => {
                    key.extend(&[NULL]);
                    return Ok(key);
                }
            }
        }
        if above { above_all(key) } else { Ok(key) }
    }
}

/// Why a bound is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// All keys are below.
    End,
    /// No key compares with it.
    Nothing,
}

fn above_all(mut key: KeyBuffer) -> Result<KeyBuffer, Limit> {
    if key.advance() { Ok(key) } else { Err(Limit::End) }
}

/// Bytes of a type's encoded values, without the marker.
fn fixed_width(data_type: DataType) -> Option<usize> {
    Some(match data_type {
        DataType::Boolean => 1,
        DataType::SmallInt => 2,
        DataType::Integer | DataType::Date | DataType::Real => 4,
        DataType::BigInt | DataType::Timestamp | DataType::TimestampTz | DataType::Double => 8,
        DataType::Numeric { precision, .. } if precision <= NARROW_PRECISION => 8,
        DataType::Numeric { .. } => 16,
        _ => return None,
    })
}

/// A non-NULL value of the column's own type.
#[inline]
fn encode(value: ValueRef<'_>, data_type: DataType, key: &mut KeyBuffer) {
    const SIGN: u64 = 1 << 63;
    match value {
        ValueRef::Null => unreachable!("a NULL has its own marker"),
        ValueRef::Boolean(v) => key.extend(&[VALUE, u8::from(v)]),
        ValueRef::SmallInt(v) => extend_fixed(key, (v as u16 ^ 1 << 15).to_be_bytes()),
        ValueRef::Integer(v) | ValueRef::Date(v) => {
            extend_fixed(key, (v as u32 ^ 1 << 31).to_be_bytes());
        }
        ValueRef::BigInt(v) | ValueRef::Timestamp(v) | ValueRef::TimestampTz(v) => {
            extend_fixed(key, (v as u64 ^ SIGN).to_be_bytes());
        }
        ValueRef::Real(v) => extend_fixed(key, real_order(v).to_be_bytes()),
        ValueRef::Double(v) => extend_fixed(key, double_order(v).to_be_bytes()),
        ValueRef::Numeric(v, _) if fixed_width(data_type) == Some(8) => {
            extend_fixed(key, (v as i64 as u64 ^ SIGN).to_be_bytes());
        }
        ValueRef::Numeric(v, _) => extend_fixed(key, (v as u128 ^ 1 << 127).to_be_bytes()),
        ValueRef::Text(v) => {
            key.extend(&[VALUE]);
            key.extend(v.as_bytes());
            key.extend(&[0]);
        }
        ValueRef::Bytea(v) => {
            key.extend(&[VALUE]);
            for part in v.split_inclusive(|byte| *byte == 0) {
                key.extend(part);
                if part.ends_with(&[0]) {
                    key.extend(&[u8::MAX]);
                }
            }
            key.extend(&[0, 0]);
        }
    }
}

#[inline]
fn extend_fixed<const N: usize>(key: &mut KeyBuffer, bytes: [u8; N]) {
    key.extend(&[VALUE]);
    key.extend(&bytes);
}

/// Bits that compare as unsigned numbers like the floats: -0 as 0, all NaN alike and last.
fn double_order(value: f64) -> u64 {
    let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
    let bits = value.to_bits();
    if value.is_sign_negative() && !value.is_nan() { !bits } else { bits | 1 << 63 }
}

fn real_order(value: f32) -> u32 {
    let value = if value.is_nan() { f32::NAN } else { value + 0.0 };
    let bits = value.to_bits();
    if value.is_sign_negative() && !value.is_nan() { !bits } else { bits | 1 << 31 }
}
