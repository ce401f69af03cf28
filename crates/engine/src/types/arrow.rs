//! Values in and out of Arrow arrays.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType as ArrowType, TimeUnit};

use super::ValueRef;

/// The value at `row`. Panics on Arrow types that no SQL type maps to: the `sql` crate casts those away.
pub fn array_cell(array: &ArrayRef, row: usize) -> ValueRef<'_> {
    if array.is_null(row) {
        return ValueRef::Null;
    }
    match array.data_type() {
        ArrowType::Null => ValueRef::Null,
        ArrowType::Boolean => ValueRef::Boolean(array.as_boolean().value(row)),
        ArrowType::Int16 => ValueRef::SmallInt(array.as_primitive::<Int16Type>().value(row)),
        ArrowType::Int32 => ValueRef::Integer(array.as_primitive::<Int32Type>().value(row)),
        ArrowType::Int64 => ValueRef::BigInt(array.as_primitive::<Int64Type>().value(row)),
        ArrowType::Float32 => ValueRef::Real(array.as_primitive::<Float32Type>().value(row)),
        ArrowType::Float64 => ValueRef::Double(array.as_primitive::<Float64Type>().value(row)),
        ArrowType::Decimal128(_, scale) => {
            ValueRef::Numeric(array.as_primitive::<Decimal128Type>().value(row), *scale as u8)
        }
        ArrowType::Utf8View => ValueRef::Text(array.as_string_view().value(row)),
        ArrowType::Utf8 => ValueRef::Text(array.as_string::<i32>().value(row)),
        ArrowType::LargeUtf8 => ValueRef::Text(array.as_string::<i64>().value(row)),
        ArrowType::Binary => ValueRef::Bytea(array.as_binary::<i32>().value(row)),
        ArrowType::BinaryView => ValueRef::Bytea(array.as_binary_view().value(row)),
        ArrowType::Date32 => ValueRef::Date(array.as_primitive::<Date32Type>().value(row)),
        ArrowType::Timestamp(TimeUnit::Microsecond, None) => {
            ValueRef::Timestamp(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        ArrowType::Timestamp(TimeUnit::Microsecond, Some(_)) => {
            ValueRef::TimestampTz(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        other => unreachable!("no SQL type maps to Arrow's {other}"),
    }
}
