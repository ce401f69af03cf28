//! The SQL types that columns can have.

use arrow_schema::{DataType as ArrowType, TimeUnit};

/// Digits of the widest `numeric` whose unscaled values fit 64 bits.
pub(crate) const NARROW_PRECISION: u8 = 18;

/// A column's SQL type, as PostgreSQL names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataType {
    /// `boolean`
    Boolean,
    /// `smallint`, 16 bits
    SmallInt,
    /// `integer`, 32 bits
    Integer,
    /// `bigint`, 64 bits
    BigInt,
    /// `real`
    Real,
    /// `double precision`
    Double,
    /// `numeric(precision, scale)`; precision at most 38
    Numeric {
        /// Decimal digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// `text`
    Text,
    /// `varchar(n)`: at most n characters (not bytes)
    Varchar(u32),
    /// `char(n)`: blank-padded on output; trailing blanks carry no meaning, so storage keeps none
    Char(u32),
    /// `date`: days since 1970-01-01
    Date,
    /// `timestamp`: microseconds since 1970-01-01 00:00
    Timestamp,
    /// `timestamptz`: microseconds since 1970-01-01 00:00 UTC
    TimestampTz,
    /// `bytea`
    Bytea,
}

impl DataType {
    /// `numeric` without a precision. PostgreSQL keeps every digit of it; what has more digits than these is refused, never
    /// rounded.
    pub const PLAIN_NUMERIC: DataType = DataType::Numeric { precision: 38, scale: 10 };

    /// The Arrow type that columns of this type have outside storage. Strings travel as views, times in
    /// microseconds, `timestamptz` in UTC.
    pub fn arrow(self) -> ArrowType {
        match self {
            DataType::Boolean => ArrowType::Boolean,
            DataType::SmallInt => ArrowType::Int16,
            DataType::Integer => ArrowType::Int32,
            DataType::BigInt => ArrowType::Int64,
            DataType::Real => ArrowType::Float32,
            DataType::Double => ArrowType::Float64,
            DataType::Numeric { precision, scale } => ArrowType::Decimal128(precision, scale as i8),
            DataType::Text | DataType::Varchar(_) | DataType::Char(_) => ArrowType::Utf8View,
            DataType::Date => ArrowType::Date32,
            DataType::Timestamp => ArrowType::Timestamp(TimeUnit::Microsecond, None),
            DataType::TimestampTz => {
                ArrowType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()))
            }
            DataType::Bytea => ArrowType::Binary,
        }
    }

    /// Whether values are character strings.
    pub fn is_string(self) -> bool {
        matches!(self, DataType::Text | DataType::Varchar(_) | DataType::Char(_))
    }
}

impl std::fmt::Display for DataType {
    /// PostgreSQL's spelling (`format_type`).
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DataType::Boolean => f.write_str("boolean"),
            DataType::SmallInt => f.write_str("smallint"),
            DataType::Integer => f.write_str("integer"),
            DataType::BigInt => f.write_str("bigint"),
            DataType::Real => f.write_str("real"),
            DataType::Double => f.write_str("double precision"),
            DataType::Numeric { precision, scale } => write!(f, "numeric({precision},{scale})"),
            DataType::Text => f.write_str("text"),
            DataType::Varchar(n) => write!(f, "character varying({n})"),
            DataType::Char(n) => write!(f, "character({n})"),
            DataType::Date => f.write_str("date"),
            DataType::Timestamp => f.write_str("timestamp without time zone"),
            DataType::TimestampTz => f.write_str("timestamp with time zone"),
            DataType::Bytea => f.write_str("bytea"),
        }
    }
}
