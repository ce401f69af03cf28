//! Values to Arrow arrays.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringViewBuilder};
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, new_null_array,
};

use crate::types::{DataType, Value};

/// An array of `data_type.arrow()`. Panics on values of other types: the planner has coerced them. Decimals
/// are brought to the type's scale.
pub fn values_array<'a>(
    data_type: DataType,
    values: impl Iterator<Item = &'a Value> + Clone,
) -> ArrayRef {
    match data_type {
        DataType::Boolean => Arc::new(values.map(boolean).collect::<BooleanArray>()),
        DataType::SmallInt => primitive::<Int16Type>(values.map(|v| integer(v).map(|v| v as i16))),
        DataType::Integer => primitive::<Int32Type>(values.map(|v| integer(v).map(|v| v as i32))),
        DataType::BigInt => primitive::<Int64Type>(values.map(integer)),
        DataType::Real => primitive::<Float32Type>(values.map(|v| double(v).map(|v| v as f32))),
        DataType::Double => primitive::<Float64Type>(values.map(double)),
        DataType::Numeric { precision, scale } => {
            let array: PrimitiveArray<Decimal128Type> =
                values.map(|value| decimal(value, scale)).collect();
            let typed = array.with_precision_and_scale(precision, scale as i8);
            Arc::new(typed.expect("numeric types have precisions that Arrow allows"))
        }
        DataType::Text | DataType::Varchar(_) | DataType::Char(_) => strings(values),
        DataType::Date => primitive::<Date32Type>(values.map(date)),
        DataType::Timestamp => primitive::<TimestampMicrosecondType>(values.map(micros)),
        DataType::TimestampTz => {
            let array: PrimitiveArray<TimestampMicrosecondType> = values.map(micros).collect();
            Arc::new(array.with_timezone("+00:00"))
        }
        DataType::Bytea => bytes(values),
    }
}

/// An array of one value, `rows` times.
pub fn constant_array(data_type: DataType, value: &Value, rows: usize) -> ArrayRef {
    match value {
        Value::Null => new_null_array(&data_type.arrow(), rows),
        _ => values_array(data_type, std::iter::repeat_n(value, rows)),
    }
}

fn primitive<T: ArrowPrimitiveType>(values: impl Iterator<Item = Option<T::Native>>) -> ArrayRef {
    let values: Vec<Option<T::Native>> = values.collect();
    Arc::new(PrimitiveArray::<T>::from_iter(values))
}

fn strings<'a>(values: impl Iterator<Item = &'a Value>) -> ArrayRef {
    let mut builder = StringViewBuilder::new();
    for value in values {
        match value {
            Value::Null => builder.append_null(),
            Value::Text(text) => builder.append_value(text),
            other => unreachable!("{other:?} is no string"),
        }
    }
    Arc::new(builder.finish())
}

fn bytes<'a>(values: impl Iterator<Item = &'a Value>) -> ArrayRef {
    let mut builder = BinaryBuilder::new();
    for value in values {
        match value {
            Value::Null => builder.append_null(),
            Value::Bytea(bytes) => builder.append_value(bytes),
            other => unreachable!("{other:?} is no bytea"),
        }
    }
    Arc::new(builder.finish())
}

fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Null => None,
        Value::Boolean(v) => Some(*v),
        other => unreachable!("{other:?} is no boolean"),
    }
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Null => None,
        Value::SmallInt(v) => Some(i64::from(*v)),
        Value::Integer(v) => Some(i64::from(*v)),
        Value::BigInt(v) => Some(*v),
        other => unreachable!("{other:?} is no integer"),
    }
}

fn double(value: &Value) -> Option<f64> {
    match value {
        Value::Null => None,
        Value::Real(v) => Some(f64::from(*v)),
        Value::Double(v) => Some(*v),
        other => unreachable!("{other:?} is no float"),
    }
}

fn decimal(value: &Value, scale: u8) -> Option<i128> {
    match value {
        Value::Null => None,
        Value::Numeric(v, own) if *own <= scale => Some(v * 10i128.pow(u32::from(scale - own))),
        Value::Numeric(v, own) => Some(v / 10i128.pow(u32::from(own - scale))),
        other => integer(other).map(|v| i128::from(v) * 10i128.pow(u32::from(scale))),
    }
}

fn date(value: &Value) -> Option<i32> {
    match value {
        Value::Null => None,
        Value::Date(v) => Some(*v),
        other => unreachable!("{other:?} is no date"),
    }
}

fn micros(value: &Value) -> Option<i64> {
    match value {
        Value::Null => None,
        Value::Timestamp(v) | Value::TimestampTz(v) => Some(*v),
        other => unreachable!("{other:?} is no timestamp"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::array_cell;

    #[test]
    fn values_come_back_as_they_went_in() {
        let numeric = DataType::Numeric { precision: 10, scale: 2 };
        let cases = [
            (DataType::Boolean, Value::Boolean(true)),
            (DataType::SmallInt, Value::SmallInt(-3)),
            (DataType::Integer, Value::Integer(7)),
            (DataType::BigInt, Value::BigInt(1 << 40)),
            (DataType::Real, Value::Real(0.5)),
            (DataType::Double, Value::Double(-0.25)),
            (numeric, Value::Numeric(12345, 2)),
            (DataType::Varchar(9), Value::Text("längere Zeichenkette".into())),
            (DataType::Date, Value::Date(20_000)),
            (DataType::Timestamp, Value::Timestamp(1)),
            (DataType::TimestampTz, Value::TimestampTz(2)),
            (DataType::Bytea, Value::Bytea([1, 0, 255].into())),
        ];
        for (data_type, value) in cases {
            let array = values_array(data_type, [&value, &Value::Null].into_iter());
            assert_eq!(*array.data_type(), data_type.arrow());
            assert_eq!(array_cell(&array, 0).to_owned(), value);
            assert!(array.is_null(1));
            assert_eq!(constant_array(data_type, &value, 2).to_data().len(), 2);
            assert_eq!(constant_array(data_type, &Value::Null, 3).null_count(), 3);
        }
    }

    #[test]
    fn decimals_take_the_scale_of_their_type() {
        let numeric = DataType::Numeric { precision: 38, scale: 4 };
        let array = values_array(numeric, [&Value::Numeric(15, 1)].into_iter());
        assert_eq!(array_cell(&array, 0).to_owned(), Value::Numeric(15_000, 4));
    }
}
