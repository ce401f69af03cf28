//! The binary formats of types: what PostgreSQL's send and receive functions do.

use engine::types::{Error, Result, SqlState, Value, ValueRef};
use sql::text::{BinaryOfText, check_date, check_timestamp};

use super::{EPOCH_DAYS, EPOCH_MICROS, numeric, type_id};
use crate::message::frontend::utf8;

/// A binary format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryFormat {
    /// One byte, 0 or 1.
    Boolean,
    /// 16 bits, big-endian, as all numbers here.
    Int2,
    /// 32 bits.
    Int4,
    /// 64 bits.
    Int8,
    /// 32 bits without a sign: oid and its aliases.
    Oid,
    /// IEEE single.
    Float4,
    /// IEEE double.
    Float8,
    /// See [`numeric`].
    Numeric,
    /// Days since 2000-01-01 in 32 bits.
    Date,
    /// Microseconds since 2000-01-01 in 64 bits; with a time zone: in UTC.
    Timestamp,
    /// The bytes themselves: strings and bytea.
    Bytes,
}

impl BinaryFormat {
    /// The format of a type; `None` for types that only travel as text.
    pub fn of(type_id: u32) -> Option<BinaryFormat> {
        use type_id::*;
        Some(match type_id {
            BOOL => BinaryFormat::Boolean,
            INT2 => BinaryFormat::Int2,
            INT4 => BinaryFormat::Int4,
            INT8 => BinaryFormat::Int8,
            OID | XID | CID | REGPROC | REGPROCEDURE | REGOPER | REGOPERATOR | REGCLASS
            | REGTYPE | REGROLE | REGNAMESPACE => BinaryFormat::Oid,
            FLOAT4 => BinaryFormat::Float4,
            FLOAT8 => BinaryFormat::Float8,
            NUMERIC => BinaryFormat::Numeric,
            DATE => BinaryFormat::Date,
            TIMESTAMP | TIMESTAMPTZ => BinaryFormat::Timestamp,
            BYTEA | TEXT | VARCHAR | BPCHAR | NAME | CHAR | UNKNOWN | JSON | XML | UNSPECIFIED => {
                BinaryFormat::Bytes
            }
            _ => return None,
        })
    }

    /// Appends a value that is not NULL. The value's type is the column's, so that the first arms are the ones
    /// taken; catalog columns may give integers of another width, or ids as text.
    #[inline]
    pub fn write(self, out: &mut Vec<u8>, value: ValueRef<'_>) -> Result<()> {
        match (self, value) {
            (BinaryFormat::Int4, ValueRef::Integer(v)) => put(out, v.to_be_bytes()),
            (BinaryFormat::Int8, ValueRef::BigInt(v)) => put(out, v.to_be_bytes()),
            (BinaryFormat::Bytes, ValueRef::Text(v)) => out.extend_from_slice(v.as_bytes()),
            (BinaryFormat::Numeric, ValueRef::Numeric(v, scale)) => numeric::write(out, v, scale),
            (BinaryFormat::Float8, ValueRef::Double(v)) => put(out, v.to_be_bytes()),
            (BinaryFormat::Float4, ValueRef::Real(v)) => put(out, v.to_be_bytes()),
            (BinaryFormat::Int2, ValueRef::SmallInt(v)) => put(out, v.to_be_bytes()),
            (BinaryFormat::Boolean, ValueRef::Boolean(v)) => out.push(u8::from(v)),
            (BinaryFormat::Date, ValueRef::Date(v)) => put(out, date_out(v).to_be_bytes()),
            (BinaryFormat::Timestamp, ValueRef::Timestamp(v) | ValueRef::TimestampTz(v)) => {
                put(out, timestamp_out(v).to_be_bytes())
            }
            (BinaryFormat::Bytes, ValueRef::Bytea(v)) => out.extend_from_slice(v),
            (format, value) => return format.write_other(out, value),
        }
        Ok(())
    }

    #[cold]
    fn write_other(self, out: &mut Vec<u8>, value: ValueRef<'_>) -> Result<()> {
        if let ValueRef::Text(text) = value
            && let Some(binary) = self.carried().and_then(BinaryOfText::of)
        {
            return binary.write(text, out);
        }
        let number = integer(value).ok_or_else(|| self.mismatch(value));
        match self {
            BinaryFormat::Int2 => put(out, self.narrow::<i16>(number?)?.to_be_bytes()),
            BinaryFormat::Int4 => put(out, self.narrow::<i32>(number?)?.to_be_bytes()),
            BinaryFormat::Oid => put(out, self.narrow::<u32>(number?)?.to_be_bytes()),
            BinaryFormat::Int8 => put(out, number?.to_be_bytes()),
            BinaryFormat::Bytes => sql::text::write_value(value, out),
            _ => return Err(self.mismatch(value)),
        }
        Ok(())
    }

    /// The type of values that may be carried as their texts; both timestamps are carried in UTC.
    fn carried(self) -> Option<u32> {
        Some(match self {
            BinaryFormat::Boolean => type_id::BOOL,
            BinaryFormat::Float4 => type_id::FLOAT4,
            BinaryFormat::Float8 => type_id::FLOAT8,
            BinaryFormat::Numeric => type_id::NUMERIC,
            BinaryFormat::Date => type_id::DATE,
            BinaryFormat::Timestamp => type_id::TIMESTAMP,
            _ => return None,
        })
    }

    fn narrow<T: TryFrom<i64>>(self, value: i64) -> Result<T> {
        T::try_from(value).map_err(|_| self.mismatch(ValueRef::BigInt(value)))
    }

    fn mismatch(self, value: ValueRef<'_>) -> Error {
        let message = format!("no binary output of {value:?} in the format {self:?}");
        Error::new(SqlState::FeatureNotSupported, message)
    }

    /// Reads a parameter; `timezone` tells the two timestamp types apart, `binary` bytea from strings.
    pub fn read(self, bytes: &[u8], type_id: u32) -> Result<Value> {
        Ok(match self {
            BinaryFormat::Boolean => Value::Boolean(fixed::<1>(bytes)?[0] != 0),
            BinaryFormat::Int2 => Value::SmallInt(i16::from_be_bytes(fixed(bytes)?)),
            BinaryFormat::Int4 => Value::Integer(i32::from_be_bytes(fixed(bytes)?)),
            BinaryFormat::Int8 => Value::BigInt(i64::from_be_bytes(fixed(bytes)?)),
            BinaryFormat::Oid => Value::BigInt(i64::from(u32::from_be_bytes(fixed(bytes)?))),
            BinaryFormat::Float4 => Value::Real(f32::from_be_bytes(fixed(bytes)?)),
            BinaryFormat::Float8 => Value::Double(f64::from_be_bytes(fixed(bytes)?)),
            BinaryFormat::Numeric => {
                let (unscaled, scale) = numeric::read(bytes)?;
                Value::Numeric(unscaled, scale)
            }
            BinaryFormat::Date => Value::Date(date_in(i32::from_be_bytes(fixed(bytes)?))?),
            BinaryFormat::Timestamp => {
                let micros = timestamp_in(i64::from_be_bytes(fixed(bytes)?))?;
                match type_id {
                    type_id::TIMESTAMPTZ => Value::TimestampTz(micros),
                    _ => Value::Timestamp(micros),
                }
            }
            BinaryFormat::Bytes if type_id == type_id::BYTEA => Value::Bytea(bytes.into()),
            BinaryFormat::Bytes => Value::Text(utf8(bytes)?.into()),
        })
    }
}

fn put<const N: usize>(out: &mut Vec<u8>, bytes: [u8; N]) {
    out.extend_from_slice(&bytes);
}

fn integer(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::SmallInt(v) => Some(i64::from(v)),
        ValueRef::Integer(v) => Some(i64::from(v)),
        ValueRef::BigInt(v) => Some(v),
        ValueRef::Text("-") => Some(0), // how the catalog writes "no object"
        ValueRef::Text(v) => v.parse().ok(),
        _ => None,
    }
}

fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| match bytes.len() < N {
        true => Error::new(SqlState::ProtocolViolation, "insufficient data left in message"),
        false => {
            let message = "incorrect binary data format in bind parameter";
            Error::new(SqlState::InvalidBinaryRepresentation, message)
        }
    })
}

// The extremes of both counts mean infinity, so they stay what they are.

fn date_out(days: i32) -> i32 {
    match days {
        i32::MAX | i32::MIN => days,
        _ => days.saturating_sub(EPOCH_DAYS),
    }
}

fn timestamp_out(micros: i64) -> i64 {
    match micros {
        i64::MAX | i64::MIN => micros,
        _ => micros.saturating_sub(EPOCH_MICROS),
    }
}

fn date_in(days: i32) -> Result<i32> {
    match days {
        i32::MAX | i32::MIN => Ok(days),
        _ => days.checked_add(EPOCH_DAYS).ok_or_else(|| out_of_range("date")).and_then(check_date),
    }
}

fn timestamp_in(micros: i64) -> Result<i64> {
    match micros {
        i64::MAX | i64::MIN => Ok(micros),
        _ => {
            let moved = micros.checked_add(EPOCH_MICROS).filter(|moved| *moved != i64::MAX);
            moved.ok_or_else(|| out_of_range("timestamp")).and_then(check_timestamp)
        }
    }
}

fn out_of_range(type_name: &str) -> Error {
    Error::new(SqlState::DatetimeOverflow, format!("{type_name} out of range"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(type_id: u32, value: ValueRef<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        let format = BinaryFormat::of(type_id).expect("has one");
        format.write(&mut out, value).expect("fits");
        out
    }

    fn read(type_id: u32, bytes: &[u8]) -> Result<Value> {
        BinaryFormat::of(type_id).expect("has one").read(bytes, type_id)
    }

    #[test]
    fn all_types_come_back() {
        let values = [
            (type_id::BOOL, Value::Boolean(true)),
            (type_id::INT2, Value::SmallInt(-2)),
            (type_id::INT4, Value::Integer(i32::MIN)),
            (type_id::INT8, Value::BigInt(1 << 40)),
            (type_id::FLOAT4, Value::Real(1.5)),
            (type_id::FLOAT8, Value::Double(-0.1)),
            (type_id::NUMERIC, Value::Numeric(-12_345, 2)),
            (type_id::TEXT, Value::Text("grüß".into())),
            (type_id::DATE, Value::Date(-800_000)),
            (type_id::DATE, Value::Date(i32::MAX)),
            (type_id::TIMESTAMP, Value::Timestamp(i64::MIN)),
            (type_id::TIMESTAMPTZ, Value::TimestampTz(1_234_567)),
            (type_id::BYTEA, Value::Bytea([0, 255].into())),
        ];
        for (type_id, value) in values {
            assert_eq!(read(type_id, &written(type_id, value.borrow())), Ok(value));
        }
    }

    #[test]
    fn times_count_from_2000() {
        assert_eq!(written(type_id::DATE, ValueRef::Date(10_957)), 0i32.to_be_bytes());
        let noon = ValueRef::Timestamp(946_684_800_000_000 + 5);
        assert_eq!(written(type_id::TIMESTAMP, noon), 5i64.to_be_bytes());
    }

    #[test]
    fn catalog_ids_may_come_as_text_or_as_wider_integers() {
        assert_eq!(written(type_id::OID, ValueRef::Text("25")), 25u32.to_be_bytes());
        assert_eq!(written(type_id::OID, ValueRef::BigInt(4_000_000_000)), [238, 107, 40, 0]);
        assert_eq!(written(type_id::INT2, ValueRef::Integer(7)), [0, 7]);
        let mut out = Vec::new();
        assert!(BinaryFormat::Int2.write(&mut out, ValueRef::Integer(70_000)).is_err());
    }

    #[test]
    fn wrong_lengths_and_broken_text_are_refused() {
        let state = |type_id, bytes| read(type_id, bytes).expect_err("refused").state;
        assert_eq!(state(type_id::INT4, &[0, 0, 1]), SqlState::ProtocolViolation);
        assert_eq!(state(type_id::INT2, &[0, 0, 1]), SqlState::InvalidBinaryRepresentation);
        assert_eq!(state(type_id::BOOL, &[]), SqlState::ProtocolViolation);
        assert_eq!(state(type_id::TEXT, b"a\0"), SqlState::InvalidByteSequence);
        assert_eq!(state(type_id::DATE, &[0x7f, 255, 255, 0]), SqlState::DatetimeOverflow);
    }
}
