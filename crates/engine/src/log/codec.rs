//! Numbers, strings and values as bytes: little-endian, variable-length integers.
//!
//! Decoding checks every length against the bytes that are there: it runs on what a disk gave back.

use crate::types::{Value, ValueRef};

/// Appends to a byte buffer.
#[derive(Debug, Default)]
pub struct Encoder {
    /// What was encoded so far.
    pub bytes: Vec<u8>,
}

/// The bytes do not say what they should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Reads from a byte slice.
#[derive(Clone, Copy, Debug)]
pub struct Decoder<'a> {
    bytes: &'a [u8],
}

impl Encoder {
    /// One byte.
    #[inline]
    pub fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// An unsigned number, seven bits per byte, lowest first.
    #[inline]
    pub fn unsigned(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// A signed number, small magnitudes short.
    #[inline]
    pub fn signed(&mut self, value: i64) {
        self.unsigned((value << 1 ^ value >> 63) as u64);
    }

    /// A truth value.
    pub fn flag(&mut self, value: bool) {
        self.byte(u8::from(value));
    }

    /// Bytes after their number.
    #[inline]
    pub fn slice(&mut self, value: &[u8]) {
        self.unsigned(value.len() as u64);
        self.bytes.extend_from_slice(value);
    }

    /// A string.
    pub fn text(&mut self, value: &str) {
        self.slice(value.as_bytes());
    }

    /// Items after their number.
    pub fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Encoder, &T)) {
        self.unsigned(items.len() as u64);
        items.iter().for_each(|value| item(self, value));
    }

    /// A value with its type.
    #[inline]
    pub fn value(&mut self, value: ValueRef<'_>) {
        match value {
            ValueRef::Null => self.byte(0),
            ValueRef::Boolean(v) => self.byte(1 + u8::from(v)),
            ValueRef::SmallInt(v) => self.tagged(3, i64::from(v)),
            ValueRef::Integer(v) => self.tagged(4, i64::from(v)),
            ValueRef::BigInt(v) => self.tagged(5, v),
            ValueRef::Real(v) => self.fixed(6, &v.to_bits().to_le_bytes()),
            ValueRef::Double(v) => self.fixed(7, &v.to_bits().to_le_bytes()),
            ValueRef::Numeric(v, scale) => self.numeric(v, scale),
            ValueRef::Text(v) => {
                self.byte(10);
                self.text(v);
            }
            ValueRef::Date(v) => self.tagged(11, i64::from(v)),
            ValueRef::Timestamp(v) => self.tagged(12, v),
            ValueRef::TimestampTz(v) => self.tagged(13, v),
            ValueRef::Bytea(v) => {
                self.byte(14);
                self.slice(v);
            }
        }
    }

    fn tagged(&mut self, tag: u8, value: i64) {
        self.byte(tag);
        self.signed(value);
    }

    fn fixed(&mut self, tag: u8, bytes: &[u8]) {
        self.byte(tag);
        self.bytes.extend_from_slice(bytes);
    }

    fn numeric(&mut self, value: i128, scale: u8) {
        match i64::try_from(value) {
            Ok(small) => {
                self.bytes.extend_from_slice(&[8, scale]);
                self.signed(small);
            }
            Err(_) => {
                self.bytes.extend_from_slice(&[9, scale]);
                self.bytes.extend_from_slice(&value.to_le_bytes());
            }
        }
    }
}

impl<'a> Decoder<'a> {
    /// Reads from the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Decoder<'a> {
        Decoder { bytes }
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or(Malformed)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(Malformed)?;
        self.bytes = rest;
        Ok(*taken)
    }

    /// See [`Encoder::byte`].
    #[inline]
    pub fn byte(&mut self) -> Result<u8, Malformed> {
        let (first, rest) = self.bytes.split_first().ok_or(Malformed)?;
        self.bytes = rest;
        Ok(*first)
    }

    /// See [`Encoder::unsigned`].
    #[inline]
    pub fn unsigned(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    /// See [`Encoder::signed`].
    #[inline]
    pub fn signed(&mut self) -> Result<i64, Malformed> {
        let value = self.unsigned()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// An unsigned number that fits 32 bits.
    pub fn number(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.unsigned()?).map_err(|_| Malformed)
    }

    /// See [`Encoder::flag`].
    pub fn flag(&mut self) -> Result<bool, Malformed> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }

    /// See [`Encoder::slice`].
    #[inline]
    pub fn slice(&mut self) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.unsigned()?).map_err(|_| Malformed)?;
        self.take(length)
    }

    /// See [`Encoder::text`].
    #[inline]
    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.slice()?).map_err(|_| Malformed)
    }

    /// See [`Encoder::list`].
    pub fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Decoder<'a>) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let length = self.unsigned()?;
        (0..length).map(|_| item(self)).collect()
    }

    /// See [`Encoder::value`].
    #[inline]
    pub fn value(&mut self) -> Result<Value, Malformed> {
        Ok(match self.byte()? {
            0 => Value::Null,
            1 => Value::Boolean(false),
            2 => Value::Boolean(true),
            3 => Value::SmallInt(self.narrow()?),
            4 => Value::Integer(self.narrow()?),
            5 => Value::BigInt(self.signed()?),
            6 => Value::Real(f32::from_bits(u32::from_le_bytes(self.array()?))),
            7 => Value::Double(f64::from_bits(u64::from_le_bytes(self.array()?))),
            8 => {
                let scale = self.byte()?;
                Value::Numeric(i128::from(self.signed()?), scale)
            }
            9 => {
                let scale = self.byte()?;
                Value::Numeric(i128::from_le_bytes(self.array()?), scale)
            }
            10 => Value::Text(self.text()?.into()),
            11 => Value::Date(self.narrow()?),
            12 => Value::Timestamp(self.signed()?),
            13 => Value::TimestampTz(self.signed()?),
            14 => Value::Bytea(self.slice()?.into()),
            _ => return Err(Malformed),
        })
    }

    fn narrow<T: TryFrom<i64>>(&mut self) -> Result<T, Malformed> {
        T::try_from(self.signed()?).map_err(|_| Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_they_went() {
        let values = [
            Value::Null,
            Value::Boolean(true),
            Value::SmallInt(-3),
            Value::Integer(i32::MIN),
            Value::BigInt(i64::MAX),
            Value::Real(-0.0),
            Value::Double(1e300),
            Value::Numeric(-12345, 2),
            Value::Numeric(i128::MIN, 38),
            Value::Text("äöü".into()),
            Value::Date(-1),
            Value::Timestamp(i64::MIN),
            Value::TimestampTz(0),
            Value::Bytea([0, 255].as_slice().into()),
        ];
        let mut encoder = Encoder::default();
        values.iter().for_each(|value| encoder.value(value.borrow()));
        let mut decoder = Decoder::new(&encoder.bytes);
        for value in &values {
            assert_eq!(decoder.value().as_ref(), Ok(value));
        }
        assert!(decoder.is_empty());
    }

    #[test]
    fn no_bytes_make_the_decoder_panic() {
        let mut state = 1u64;
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..12)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 56) as u8 % 24
                })
                .collect();
            let mut decoder = Decoder::new(&bytes);
            while !decoder.is_empty() && decoder.value().is_ok() {}
        }
    }
}
