//! Values in and out of Arrow arrays.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, PrimitiveArray, StringViewArray,
};
use arrow_schema::{DataType as ArrowType, TimeUnit};

use super::{DataType, Error, Result, SqlState, ValueRef};

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

/// Calls `visit` with the row and the value of everything in a column of integers or dates that is not NULL.
#[inline(always)]
pub fn for_each_integer(column: &ArrayRef, visit: impl FnMut(usize, i64)) {
    fn of<T: ArrowPrimitiveType>(column: &ArrayRef, mut visit: impl FnMut(usize, i64))
    where
        T::Native: Into<i64>,
    {
        let column: &PrimitiveArray<T> = column.as_primitive();
        match column.nulls() {
            None => {
                let values = column.values().iter().enumerate();
                values.for_each(|(row, &value)| visit(row, value.into()));
            }
            Some(nulls) => {
                nulls.valid_indices().for_each(|row| visit(row, column.value(row).into()));
            }
        }
    }
    match column.data_type() {
        ArrowType::Int16 => of::<Int16Type>(column, visit),
        ArrowType::Int32 => of::<Int32Type>(column, visit),
        ArrowType::Int64 => of::<Int64Type>(column, visit),
        ArrowType::Date32 => of::<Date32Type>(column, visit),
        ArrowType::Null => {}
        other => unreachable!("{other} is no integer"),
    }
}

/// 22003 for a number with digits that an array of the type does not keep. Parameters come as the client wrote them: who puts
/// one into an array asks first, who compares it need not.
pub fn check_digits(data_type: DataType, value: ValueRef<'_>) -> Result<()> {
    let (DataType::Numeric { scale, .. }, ValueRef::Numeric(digits, own)) = (data_type, value)
    else {
        return Ok(());
    };
    match rescaled(digits, own, scale) {
        Some(_) => Ok(()),
        None => {
            let message = format!("a parameter has more digits than {data_type} keeps");
            Err(Error::new(SqlState::NumericOutOfRange, message))
        }
    }
}

/// The same number with `scale` digits after the point; `None` where that would not be the same.
fn rescaled(digits: i128, own: u8, scale: u8) -> Option<i128> {
    let power = 10i128.checked_pow(u32::from(own.abs_diff(scale)));
    match power {
        _ if digits == 0 || own == scale => Some(digits),
        Some(power) if own < scale => digits.checked_mul(power),
        Some(power) => (digits % power == 0).then(|| digits / power),
        None => None,
    }
}

/// Values of one SQL type as an array of `data_type.arrow()`; numbers are converted to the type where they
/// fit exactly. Panics on a value of another type (the planner has coerced it) and on digits that it does not keep: see
/// [`check_digits`].
pub fn array_from_values<'a>(
    data_type: DataType,
    values: impl Iterator<Item = ValueRef<'a>>,
) -> ArrayRef {
    match data_type {
        DataType::Boolean => Arc::new(values.map(boolean).collect::<BooleanArray>()),
        DataType::SmallInt => primitive::<Int16Type>(values, |v| integer(v) as i16),
        DataType::Integer => primitive::<Int32Type>(values, |v| integer(v) as i32),
        DataType::BigInt => primitive::<Int64Type>(values, integer),
        DataType::Real => primitive::<Float32Type>(values, |v| float(v) as f32),
        DataType::Double => primitive::<Float64Type>(values, float),
        DataType::Numeric { precision, scale } => {
            let array: PrimitiveArray<Decimal128Type> =
                values.map(|v| (!v.is_null()).then(|| numeric(v, scale))).collect();
            Arc::new(array.with_data_type(ArrowType::Decimal128(precision, scale as i8)))
        }
        DataType::Text | DataType::Varchar(_) | DataType::Char(_) => {
            Arc::new(values.map(text).collect::<StringViewArray>())
        }
        DataType::Date => primitive::<Date32Type>(values, |v| match v {
            ValueRef::Date(days) => days,
            other => unreachable!("{other:?} is no date"),
        }),
        DataType::Timestamp => primitive::<TimestampMicrosecondType>(values, micros),
        DataType::TimestampTz => {
            let array: PrimitiveArray<TimestampMicrosecondType> =
                values.map(|v| (!v.is_null()).then(|| micros(v))).collect();
            Arc::new(array.with_timezone("+00:00"))
        }
        DataType::Bytea => Arc::new(values.map(bytes).collect::<BinaryArray>()),
    }
}

fn primitive<'a, T: ArrowPrimitiveType>(
    values: impl Iterator<Item = ValueRef<'a>>,
    native: impl Fn(ValueRef<'a>) -> T::Native,
) -> ArrayRef
where
    PrimitiveArray<T>: FromIterator<Option<T::Native>>,
{
    Arc::new(values.map(|v| (!v.is_null()).then(|| native(v))).collect::<PrimitiveArray<T>>())
}

fn boolean(value: ValueRef<'_>) -> Option<bool> {
    match value {
        ValueRef::Null => None,
        ValueRef::Boolean(v) => Some(v),
        other => unreachable!("{other:?} is no boolean"),
    }
}

fn integer(value: ValueRef<'_>) -> i64 {
    match value {
        ValueRef::SmallInt(v) => i64::from(v),
        ValueRef::Integer(v) => i64::from(v),
        ValueRef::BigInt(v) => v,
        other => unreachable!("{other:?} is no integer"),
    }
}

fn float(value: ValueRef<'_>) -> f64 {
    match value {
        ValueRef::Real(v) => f64::from(v),
        ValueRef::Double(v) => v,
        ValueRef::Numeric(v, scale) => v as f64 / 10f64.powi(i32::from(scale)),
        other => integer(other) as f64,
    }
}

fn numeric(value: ValueRef<'_>, scale: u8) -> i128 {
    match value {
        ValueRef::Numeric(digits, own) => match rescaled(digits, own, scale) {
            Some(digits) => digits,
            None => unreachable!("{digits}e-{own} has more digits than asked for, {scale}"),
        },
        other => i128::from(integer(other)) * 10i128.pow(u32::from(scale)),
    }
}

fn text(value: ValueRef<'_>) -> Option<&str> {
    match value {
        ValueRef::Null => None,
        ValueRef::Text(v) => Some(v),
        other => unreachable!("{other:?} is no string"),
    }
}

fn bytes(value: ValueRef<'_>) -> Option<&[u8]> {
    match value {
        ValueRef::Null => None,
        ValueRef::Bytea(v) => Some(v),
        other => unreachable!("{other:?} is no bytea"),
    }
}

fn micros(value: ValueRef<'_>) -> i64 {
    match value {
        ValueRef::Timestamp(v) | ValueRef::TimestampTz(v) => v,
        other => unreachable!("{other:?} is no timestamp"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: DataType = DataType::Numeric { precision: 10, scale: 2 };

    #[test]
    fn digits_are_kept_or_refused() {
        for (digits, own, kept) in [(15, 1, 150), (1_500, 3, 150), (150, 2, 150), (0, 38, 0)] {
            let value = ValueRef::Numeric(digits, own);
            check_digits(PRICE, value).expect("it keeps them");
            let array = array_from_values(PRICE, std::iter::once(value));
            assert_eq!(array_cell(&array, 0), ValueRef::Numeric(kept, 2));
        }
        for (digits, own) in [(1_239, 3), (1, 38), (i128::MAX, 0), (i128::MAX, 1)] {
            let fault =
                check_digits(PRICE, ValueRef::Numeric(digits, own)).expect_err("it does not");
            assert_eq!(fault.state, SqlState::NumericOutOfRange);
        }
        check_digits(DataType::Integer, ValueRef::Integer(7)).expect("no numeric");
    }
}
