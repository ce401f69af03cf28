//! One value of any type, as kernels take and return it.

use crate::decimal::Decimal;
use crate::interval::Interval;
use crate::timetz::TimeTz;

/// A value with its type. `Null` stands for NULL of every type.
///
/// Types are added with their modules: a variant holds what the type's module computes with.
#[derive(Clone, Debug)]
pub enum Datum {
    Null,
    Bool(bool),
    Int2(i16),
    Int4(i32),
    Int8(i64),
    Float4(f32),
    Float8(f64),
    Text(String),
    Bytes(Vec<u8>),
    Decimal(Decimal),
    /// Days since 2000-01-01; the least and greatest are the infinities.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    TimeTz(TimeTz),
    /// Microseconds since 2000-01-01; the least and greatest are the infinities.
    Timestamp(i64),
    /// Microseconds since 2000-01-01 00:00 UTC; the least and greatest are the infinities.
    TimestampTz(i64),
    Interval(Interval),
}
