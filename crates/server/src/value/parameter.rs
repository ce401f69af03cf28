//! The values of a Bind message: from bytes to what `execute` wants.

use engine::types::{DataType, Error, Result, SqlState, Value};
use sql::text::{at_wanted_scale, narrowed, numeric_as_sent};

use super::binary::BinaryFormat;
use super::{Format, array};
use crate::message::frontend::utf8;

/// Reads one parameter that was sent as type `type_id` and is wanted as `wanted`.
pub fn read(bytes: &[u8], format: Format, type_id: u32, wanted: DataType) -> Result<Value> {
    match format {
        Format::Text => read_text(utf8(bytes)?, wanted),
        Format::Binary if array::is_array(type_id) => {
            read_text(&array::read(bytes, type_id)?, wanted)
        }
        Format::Binary => {
            let binary = BinaryFormat::of(type_id).ok_or_else(|| {
                let message = format!("no binary input function available for type {type_id}");
                Error::new(SqlState::FeatureNotSupported, message)
            })?;
            convert(binary.read(bytes, type_id)?, wanted)
        }
    }
}

/// Text as the type's input function takes it. Lengths and scales of the wanted type are not applied: a comparison
/// needs the value as it is, and assignment to a column checks by itself.
fn read_text(text: &str, wanted: DataType) -> Result<Value> {
    match wanted {
        DataType::Text | DataType::Varchar(_) => Ok(Value::Text(text.into())),
        // Blanks at the end of a `char` are no part of the value.
        DataType::Char(_) => Ok(Value::Text(text.trim_end_matches(' ').into())),
        DataType::Numeric { .. } => numeric_as_sent(text, wanted),
        _ => sql::text::parse_value(text, wanted),
    }
}

/// A value sent as one type where the statement wants another: PostgreSQL would have cast it in the statement.
fn convert(value: Value, wanted: DataType) -> Result<Value> {
    if let Some(integer) = integer(&value) {
        return convert_integer(integer, wanted);
    }
    let value = sql::text::localized(value, wanted)?;
    Ok(match (value, wanted) {
        (Value::Numeric(unscaled, own), DataType::Numeric { .. }) => {
            at_wanted_scale(unscaled, own, wanted)?
        }
        (Value::Real(v), DataType::Double) => Value::Double(f64::from(v)),
        (Value::Double(v), DataType::Real) => Value::Real(narrowed(v)?),
        (Value::Date(v), DataType::Timestamp) => Value::Timestamp(sql::text::timestamp_of(v)?),
        (Value::Date(v), DataType::TimestampTz) => Value::TimestampTz(sql::text::timestamp_of(v)?),
        (Value::Timestamp(v), DataType::TimestampTz) => Value::TimestampTz(v),
        (Value::TimestampTz(v), DataType::Timestamp) => Value::Timestamp(v),
        (Value::Text(v), wanted) if !wanted.is_string() => read_text(&v, wanted)?,
        (value, wanted) if fits(&value, wanted) => value,
        (value, wanted) => read_text(&text_of(&value), wanted)?,
    })
}

fn fits(value: &Value, wanted: DataType) -> bool {
    match value.borrow().data_type() {
        None => true,
        Some(own) => own == wanted || (own.is_string() && wanted.is_string()),
    }
}

/// The long way round for pairs of types that hardly ever meet.
fn text_of(value: &Value) -> String {
    let mut written = Vec::new();
    sql::text::write_value(value.borrow(), &mut written);
    String::from_utf8_lossy(&written).into_owned()
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::SmallInt(v) => Some(i64::from(*v)),
        Value::Integer(v) => Some(i64::from(*v)),
        Value::BigInt(v) => Some(*v),
        _ => None,
    }
}

fn convert_integer(value: i64, wanted: DataType) -> Result<Value> {
    let out_of_range =
        |_| Error::new(SqlState::NumericOutOfRange, format!("{wanted} out of range"));
    Ok(match wanted {
        DataType::SmallInt => Value::SmallInt(value.try_into().map_err(out_of_range)?),
        DataType::Integer => Value::Integer(value.try_into().map_err(out_of_range)?),
        DataType::BigInt => Value::BigInt(value),
        DataType::Real => Value::Real(value as f32),
        DataType::Double => Value::Double(value as f64),
        DataType::Numeric { .. } => at_wanted_scale(i128::from(value), 0, wanted)?,
        _ => read_text(&value.to_string(), wanted)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::type_id;
    use super::*;

    #[test]
    fn widths_that_the_client_chose_are_adapted() {
        let sent = |type_id, bytes: &[u8], wanted| read(bytes, Format::Binary, type_id, wanted);
        let five = 5i32.to_be_bytes();
        assert_eq!(sent(type_id::INT4, &five, DataType::BigInt), Ok(Value::BigInt(5)));
        let price = DataType::Numeric { precision: 10, scale: 2 };
        assert_eq!(sent(type_id::INT4, &five, price), Ok(Value::Numeric(500, 2)));
        let large = 70_000i32.to_be_bytes();
        let fault = sent(type_id::INT4, &large, DataType::SmallInt).expect_err("refused");
        assert_eq!(fault.state, SqlState::NumericOutOfRange);
        assert_eq!(sent(type_id::TEXT, b"7", DataType::Integer), Ok(Value::Integer(7)));
    }

    #[test]
    fn numerics_keep_the_digits_that_the_wanted_scale_would_round_away() {
        let price = DataType::Numeric { precision: 10, scale: 2 };
        let text = |text: &str| read(text.as_bytes(), Format::Text, 0, price);
        assert_eq!(text("1.5"), Ok(Value::Numeric(150, 2)));
        assert_eq!(text("1.239"), Ok(Value::Numeric(1_239, 3)));
        assert_eq!(text("12e-4"), Ok(Value::Numeric(12, 4)));
        let plain = |text: &str| read(text.as_bytes(), Format::Text, 0, DataType::PLAIN_NUMERIC);
        assert_eq!(plain("0.00000000010"), Ok(Value::Numeric(1, 10)));
        let fault = plain("54.23424645165").expect_err("eleven digits");
        assert_eq!(fault.state, SqlState::NumericOutOfRange);
        assert!(text("1.2.3").is_err());
    }

    #[test]
    fn strings_are_not_cut_to_a_columns_length() {
        let read = read(b"abcdef", Format::Text, 0, DataType::Varchar(3));
        assert_eq!(read, Ok(Value::Text("abcdef".into())));
    }
}
