//! One value of any type, as kernels take and return it.

use crate::decimal::Decimal;
use crate::interval::Interval;
use crate::timetz::TimeTz;

/// A value with its type. `Null` stands for NULL of every type.
///
/// Types are added with their modules: a variant holds what the type's module computes with.
#[derive(Clone, Debug)]
pub enum Datum {
    /// NULL of every type.
    Null,
    /// `boolean`.
    Bool(bool),
    /// `smallint`.
    Int2(i16),
    /// `integer`.
    Int4(i32),
    /// `bigint`.
    Int8(i64),
    /// `real`.
    Float4(f32),
    /// `double precision`.
    Float8(f64),
    /// `text`, and what a type is written as.
    Text(Box<str>),
    /// `bytea`, and the binary form of a type.
    Bytea(Box<[u8]>),
    /// What `extract` returns.
    Decimal(Decimal),
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
}

impl Datum {
    /// A text.
    pub fn text(text: impl Into<Box<str>>) -> Self {
        Self::Text(text.into())
    }
}
