//! One value of any type, as kernels take and return it.

use crate::interval::Interval;
use crate::numeric::Numeric;
use crate::oid::Oid;
use crate::timetz::TimeTz;
use crate::uuid::Uuid;

/// A value with its type. `Null` stands for NULL of every type.
///
/// Types are added with their modules: a variant holds what the type's module computes with.
#[derive(Clone, Debug)]
pub enum Datum {
    /// NULL of any type.
    Null,
    /// boolean.
    Bool(bool),
    /// smallint.
    Int2(i16),
    /// integer.
    Int4(i32),
    /// bigint.
    Int8(i64),
    /// real.
    Float4(f32),
    /// double precision.
    Float8(f64),
    /// numeric.
    Numeric(Numeric),
    /// text, varchar and char(n), the last with its padding: which of them it is the kernel knows.
    Text(Box<str>),
    /// bytea.
    Bytea(Box<[u8]>),
    /// Days since 2000-01-01; the least and greatest are the infinities.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// `time with time zone`.
    TimeTz(TimeTz),
    /// Microseconds since 2000-01-01; the least and greatest are the infinities.
    Timestamp(i64),
    /// Microseconds since 2000-01-01 00:00 UTC; the least and greatest are the infinities.
    TimestampTz(i64),
    /// `interval`.
    Interval(Interval),
    /// uuid.
    Uuid(Uuid),
    /// oid, regclass and the like.
    Oid(Oid),
}

impl Datum {
    /// A text, varchar or char(n).
    pub fn text(text: impl Into<Box<str>>) -> Self {
        Self::Text(text.into())
    }

    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Bytes that it keeps behind itself, but for those of a numeric, which are few.
    pub fn heap(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytea(bytes) => bytes.len(),
            _ => 0,
        }
    }
}
