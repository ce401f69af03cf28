//! Values of Arrow arrays as `values` takes them, and back.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, Decimal128Array,
    Float32Array, Float64Array, Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray,
    StringViewArray, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, IntervalMonthDayNanoType, TimeUnit};
use datafusion::common::Result;
use engine::types::{Error, SqlState, ValueRef, array_cell, check_digits};
use values::datum::Datum;
use values::numeric::Numeric;

use super::super::intervals::{INTERVAL, interval, kept};
use crate::catalog::types::from_arrow;
use crate::text::{days_since_1970, days_since_2000, micros_since_1970, micros_since_2000};

/// The value at a row of an array, which is of one of the types that [`named`] names.
pub fn datum(array: &ArrayRef, row: usize) -> Datum {
    if *array.data_type() == INTERVAL {
        return match array.is_null(row) {
            true => Datum::Null,
            false => Datum::Interval(interval(
                array.as_primitive::<IntervalMonthDayNanoType>().value(row),
            )),
        };
    }
    match array_cell(array, row) {
        ValueRef::Null => Datum::Null,
        ValueRef::Boolean(value) => Datum::Bool(value),
        ValueRef::SmallInt(value) => Datum::Int2(value),
        ValueRef::Integer(value) => Datum::Int4(value),
        ValueRef::BigInt(value) => Datum::Int8(value),
        ValueRef::Real(value) => Datum::Float4(value),
        ValueRef::Double(value) => Datum::Float8(value),
        ValueRef::Numeric(digits, scale) => {
            Datum::Numeric(Numeric::of_digits(digits, u32::from(scale)))
        }
        ValueRef::Text(text) => Datum::text(text),
        ValueRef::Bytea(bytes) => Datum::Bytea(bytes.into()),
        ValueRef::Date(days) => Datum::Date(days_since_2000(days)),
        ValueRef::Timestamp(micros) => Datum::Timestamp(micros_since_2000(micros)),
        ValueRef::TimestampTz(micros) => Datum::TimestampTz(micros_since_2000(micros)),
    }
}

/// Values of one type as an array.
///
/// # Errors
/// 22003 and 22008 for what the array does not hold.
pub fn array(data_type: &DataType, data: &[Datum]) -> Result<ArrayRef, Error> {
    macro_rules! collected {
        ($array:ty, $variant:ident) => {
            Arc::new(
                data.iter()
                    .map(|datum| match datum {
                        Datum::$variant(value) => Some(*value),
                        _ => None,
                    })
                    .collect::<$array>(),
            )
        };
    }
    let moments = || -> Result<TimestampMicrosecondArray, Error> {
        let moment = |datum: &Datum| match datum {
            Datum::Timestamp(micros) | Datum::TimestampTz(micros) => {
                micros_since_1970(*micros).map(Some)
            }
            _ => Ok(None),
        };
        data.iter().map(moment).collect()
    };
    Ok(match data_type {
        DataType::Boolean => collected!(BooleanArray, Bool),
        DataType::Int16 => collected!(Int16Array, Int2),
        DataType::Int32 => collected!(Int32Array, Int4),
        DataType::Int64 => collected!(Int64Array, Int8),
        DataType::Float32 => collected!(Float32Array, Float4),
        DataType::Float64 => collected!(Float64Array, Float8),
        DataType::Utf8View => Arc::new(texts(data)),
        DataType::Binary => Arc::new(bytes(data)),
        DataType::Date32 => Arc::new(data.iter().map(days).collect::<Date32Array>()),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            Arc::new(moments()?.with_timezone_opt(zone.clone()))
        }
        DataType::Decimal128(..) => Arc::new(numerics(data_type, data)?),
        _ if *data_type == INTERVAL => Arc::new(intervals(data)?),
        other => unreachable!("no kernel gives Arrow's {other}"),
    })
}

fn texts(data: &[Datum]) -> StringViewArray {
    let texts = data.iter().map(|datum| match datum {
        Datum::Text(text) => Some(text),
        _ => None,
    });
    texts.collect()
}

fn bytes(data: &[Datum]) -> BinaryArray {
    let bytes = data.iter().map(|datum| match datum {
        Datum::Bytea(bytes) => Some(bytes),
        _ => None,
    });
    bytes.collect()
}

fn days(datum: &Datum) -> Option<i32> {
    match datum {
        Datum::Date(days) => Some(days_since_1970(*days)),
        _ => None,
    }
}

fn intervals(data: &[Datum]) -> Result<IntervalMonthDayNanoArray, Error> {
    let interval = |datum: &Datum| match datum {
        Datum::Interval(interval) => kept(*interval).map(Some),
        _ => Ok(None),
    };
    data.iter().map(interval).collect()
}

fn numerics(data_type: &DataType, data: &[Datum]) -> Result<Decimal128Array, Error> {
    let numeric = from_arrow(data_type);
    let DataType::Decimal128(precision, scale) = *data_type else {
        unreachable!("{data_type} is no numeric")
    };
    let digits = |datum: &Datum| match datum {
        Datum::Numeric(number) => {
            let digits = number.digits_at(u32::from(scale.unsigned_abs()));
            let digits = digits.ok_or_else(|| not_held(number, scale))?;
            check_digits(numeric, ValueRef::Numeric(digits, scale.unsigned_abs()))?;
            Ok(Some(digits))
        }
        _ => Ok(None),
    };
    let numbers = data.iter().map(digits).collect::<Result<Decimal128Array, Error>>()?;
    Ok(numbers.with_precision_and_scale(precision, scale).expect("a decimal's type"))
}

fn not_held(number: &Numeric, scale: i8) -> Error {
    match number.scale() {
        Some(own) if own > u32::from(scale.unsigned_abs()) => Error::lost_digits(),
        Some(_) => Error::new(SqlState::NumericOutOfRange, "value overflows numeric format"),
        None => {
            let message = "numeric values that are not numbers are not supported";
            Error::new(SqlState::FeatureNotSupported, message)
        }
    }
}
