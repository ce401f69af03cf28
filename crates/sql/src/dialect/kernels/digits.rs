//! Digits after the point of what is computed: of a column they are the same for all rows, of PostgreSQL's numerics each has its own.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use values::datum::Datum;
use values::facts::FunctionRow;
use values::kernel::Context;
use values::numeric::Numeric;

use super::data;
use super::names::arrow;
use super::overloads::Overload;

/// Digits of any numeric here.
const PRECISION: u8 = 38;
/// Digits of a field without a fraction, at most.
const WHOLE_FIELD: u8 = 18;
/// Digits of a logarithm.
const LOGARITHM: i8 = 20;
/// Digits of a field whose name is not known before it is computed.
const MICROS: i8 = 6;
/// Most digits that are taken from an argument.
const MOST: i32 = 28;

/// Functions that give numerics whose digits are known before they are computed.
const KNOWN: &[&str] = &[
    "abs",
    "ceil",
    "ceiling",
    "div",
    "extract",
    "factorial",
    "floor",
    "gcd",
    "lcm",
    "mod",
    "numeric_div_trunc",
    "numeric_inc",
    "numeric_larger",
    "numeric_smaller",
    "round",
    "sign",
    "trunc",
];

/// Whether the digits of a function's result are known before it is computed.
pub fn are_known(row: &FunctionRow) -> bool {
    row.result != "numeric" || KNOWN.contains(&row.name) || is_logarithm(row)
}

/// The logarithm by any base, of which there is none of floats.
fn is_logarithm(row: &FunctionRow) -> bool {
    row.name == "log" && row.arguments.len() == 2
}

/// The type of what a function gives; `constants` are the arguments that are known.
pub fn result_type(
    chosen: &Overload,
    arguments: &[DataType],
    constants: &[Option<&ScalarValue>],
) -> DataType {
    let row = chosen.row;
    if row.result != "numeric" {
        return arrow(row.result, None);
    }
    let scale = match row.name {
        "log" => Some(LOGARITHM),
        "extract" => field_scale(chosen, constants[0]),
        "round" | "trunc" => rounded_scale(arguments, constants),
        "ceil" | "ceiling" | "floor" | "sign" | "div" | "factorial" | "numeric_div_trunc" => {
            Some(0)
        }
        _ => largest_scale(arguments),
    };
    match scale {
        Some(0) if row.name == "extract" => DataType::Decimal128(WHOLE_FIELD, 0),
        Some(scale) => DataType::Decimal128(precision(row, arguments, scale), scale),
        None => arrow("numeric", None),
    }
}

/// What is rounded has one digit more at most.
fn precision(row: &FunctionRow, arguments: &[DataType], scale: i8) -> u8 {
    match (row.name, arguments.first()) {
        ("round" | "trunc", Some(DataType::Decimal128(digits, own))) => {
            let before_point = i16::from(*digits) - i16::from(*own) + 1;
            (before_point + i16::from(scale)).clamp(1, PRECISION.into()) as u8
        }
        _ => PRECISION,
    }
}

/// The digits that a field of times has, which its name tells: those of the field of some moment.
fn field_scale(chosen: &Overload, field: Option<&ScalarValue>) -> Option<i8> {
    let Some(field) = field else { return Some(MICROS) };
    let field = data::datum(&field.to_array().ok()?, 0);
    if field.is_null() {
        return Some(0);
    }
    let moment = match chosen.row.arguments[1] {
        "date" => Datum::Date(0),
        "timestamp" => Datum::Timestamp(1),
        "timestamptz" => Datum::TimestampTz(1),
        _ => Datum::Interval(values::interval::Interval::default()),
    };
    match (chosen.kernel.compute)(&Context::default(), &[field, moment]) {
        Ok(Datum::Numeric(number)) => scale_of(&number),
        // What is no field fails where it is computed.
        _ => Some(0),
    }
}

fn scale_of(number: &Numeric) -> Option<i8> {
    i8::try_from(number.scale()?.min(MOST.unsigned_abs())).ok()
}

fn scale(data_type: Option<&DataType>) -> Option<i8> {
    match data_type {
        Some(DataType::Decimal128(_, scale)) => Some(*scale),
        Some(own) if own.is_integer() => Some(0),
        _ => None,
    }
}

fn rounded_scale(arguments: &[DataType], constants: &[Option<&ScalarValue>]) -> Option<i8> {
    let Some(places) = constants.get(1) else { return Some(0) };
    match places {
        Some(ScalarValue::Int32(Some(places))) => Some((*places).clamp(0, MOST) as i8),
        Some(ScalarValue::Int64(Some(places))) => Some((*places).clamp(0, i64::from(MOST)) as i8),
        _ => scale(arguments.first()),
    }
}

fn largest_scale(arguments: &[DataType]) -> Option<i8> {
    arguments.iter().map(|own| scale(Some(own))).max().flatten()
}
