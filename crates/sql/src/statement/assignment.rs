//! Values into columns: PostgreSQL's assignment casts, for rows that the query-at-a-time path
//! computed.

use engine::types::{ColumnSchema, DataType, Error, Result, SqlState, Value, day_of};

use crate::text::{
    fit_string, localized, narrowed, parse_value, rescale_numeric, session_zone, timestamp_of,
    write_value_in,
};

/// Whether values of the two types can be compared with `=`.
pub fn is_comparable(left: DataType, right: DataType) -> bool {
    class(left) == class(right)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Boolean,
    Number,
    String,
    Moment,
    Bytes,
}

fn class(data_type: DataType) -> Class {
    match data_type {
        DataType::Boolean => Class::Boolean,
        DataType::SmallInt | DataType::Integer | DataType::BigInt => Class::Number,
        DataType::Real | DataType::Double | DataType::Numeric { .. } => Class::Number,
        DataType::Text | DataType::Varchar(_) | DataType::Char(_) => Class::String,
        DataType::Date | DataType::Timestamp | DataType::TimestampTz => Class::Moment,
        DataType::Bytea => Class::Bytes,
    }
}

/// Refuses (42804) what has no assignment cast. Everything can be assigned to a string.
pub fn check(column: &ColumnSchema, source: DataType) -> Result<()> {
    let target = column.data_type;
    if is_assignable(source, target) {
        return Ok(());
    }
    let message = format!(
        "column \"{}\" is of type {target} but expression is of type {}",
        column.name,
        plain_name(source)
    );
    let hint = "You will need to rewrite or cast the expression.";
    Err(Error::new(SqlState::DatatypeMismatch, message).hint(hint))
}

/// Whether there is an assignment cast.
pub fn is_assignable(source: DataType, target: DataType) -> bool {
    target.is_string() || class(source) == class(target)
}

/// An expression's type has no length.
pub fn plain_name(data_type: DataType) -> String {
    match data_type {
        DataType::Numeric { .. } => "numeric".to_owned(),
        DataType::Varchar(_) => "character varying".to_owned(),
        DataType::Char(_) => "character".to_owned(),
        other => other.to_string(),
    }
}

/// The value as the column keeps it; 22003 and 22001 where it does not fit.
pub fn cast(value: Value, target: DataType) -> Result<Value> {
    let fits = matches!(
        (&value, target),
        (Value::Null, _)
            | (Value::Boolean(_), DataType::Boolean)
            | (Value::SmallInt(_), DataType::SmallInt)
            | (Value::Integer(_), DataType::Integer)
            | (Value::BigInt(_), DataType::BigInt)
            | (Value::Real(_), DataType::Real)
            | (Value::Double(_), DataType::Double)
            | (Value::Text(_), DataType::Text)
            | (Value::Date(_), DataType::Date)
            | (Value::Timestamp(_), DataType::Timestamp)
            | (Value::TimestampTz(_), DataType::TimestampTz)
            | (Value::Bytea(_), DataType::Bytea)
    );
    if fits { Ok(value) } else { convert(value, target) }
}

fn convert(value: Value, target: DataType) -> Result<Value> {
    let value = localized(value, target)?;
    match target {
        DataType::SmallInt => {
            integer(&value)?.try_into().map(Value::SmallInt).map_err(|_| out_of_range(target))
        }
        DataType::Integer => {
            integer(&value)?.try_into().map(Value::Integer).map_err(|_| out_of_range(target))
        }
        DataType::BigInt => integer(&value).map(Value::BigInt),
        DataType::Real => narrowed(float(&value)?).map(Value::Real),
        DataType::Double => Ok(Value::Double(float(&value)?)),
        DataType::Numeric { precision, scale } => {
            let digits = numeric(&value, precision, scale)?;
            Ok(Value::Numeric(digits, scale))
        }
        DataType::Text | DataType::Varchar(_) | DataType::Char(_) => string(&value, target),
        DataType::Date => match value {
            Value::Timestamp(v) | Value::TimestampTz(v) => Ok(Value::Date(day_of(v))),
            own @ Value::Date(_) => Ok(own),
            other => from_text(other, target),
        },
        DataType::Timestamp | DataType::TimestampTz => {
            let micros = match value {
                Value::Date(days) => timestamp_of(days)?,
                Value::Timestamp(v) | Value::TimestampTz(v) => v,
                other => return from_text(other, target),
            };
            let zoned = target == DataType::TimestampTz;
            Ok(if zoned { Value::TimestampTz(micros) } else { Value::Timestamp(micros) })
        }
        DataType::Boolean | DataType::Bytea => from_text(value, target),
    }
}

/// A literal whose type nobody knew came as text.
fn from_text(value: Value, target: DataType) -> Result<Value> {
    match value {
        Value::Text(text) => parse_value(&text, target),
        other => {
            let found = other.borrow().data_type().map_or_else(String::new, plain_name);
            let message = format!("cannot cast type {found} to {target}");
            Err(Error::new(SqlState::CannotCoerce, message))
        }
    }
}

fn out_of_range(target: DataType) -> Error {
    Error::new(SqlState::NumericOutOfRange, format!("{target} out of range"))
}

fn integer(value: &Value) -> Result<i64> {
    match value {
        Value::SmallInt(v) => Ok(i64::from(*v)),
        Value::Integer(v) => Ok(i64::from(*v)),
        Value::BigInt(v) => Ok(*v),
        Value::Numeric(v, scale) => {
            let whole = rescale_numeric(*v, *scale, 38, 0)?;
            i64::try_from(whole).map_err(|_| out_of_range(DataType::BigInt))
        }
        Value::Real(_) | Value::Double(_) => {
            let rounded = float(value)?.round_ties_even();
            // 2^63 is the first double above all 64-bit integers.
            let in_range =
                (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded);
            in_range.then_some(rounded as i64).ok_or_else(|| out_of_range(DataType::BigInt))
        }
        other => match from_text(other.clone(), DataType::BigInt)? {
            Value::BigInt(v) => Ok(v),
            _ => unreachable!("parsed as bigint"),
        },
    }
}

fn float(value: &Value) -> Result<f64> {
    Ok(match value {
        Value::SmallInt(v) => f64::from(*v),
        Value::Integer(v) => f64::from(*v),
        Value::BigInt(v) => *v as f64,
        Value::Real(v) => f64::from(*v),
        Value::Double(v) => *v,
        Value::Numeric(v, scale) => *v as f64 / 10f64.powi(i32::from(*scale)),
        other => match from_text(other.clone(), DataType::Double)? {
            Value::Double(v) => v,
            _ => unreachable!("parsed as double precision"),
        },
    })
}

fn numeric(value: &Value, precision: u8, scale: u8) -> Result<i128> {
    let plain = |v: i64| rescale_numeric(i128::from(v), 0, precision, scale);
    match value {
        Value::SmallInt(v) => plain(i64::from(*v)),
        Value::Integer(v) => plain(i64::from(*v)),
        Value::BigInt(v) => plain(*v),
        Value::Numeric(v, from) => rescale_numeric(*v, *from, precision, scale),
        // As many digits as PostgreSQL takes of a float.
        Value::Real(v) => crate::text::parse_numeric(&format!("{v:.5e}"), precision, scale),
        Value::Double(v) => crate::text::parse_numeric(&format!("{v:.14e}"), precision, scale),
        other => match from_text(other.clone(), DataType::Numeric { precision, scale })? {
            Value::Numeric(v, _) => Ok(v),
            _ => unreachable!("parsed as numeric"),
        },
    }
}

fn string(value: &Value, target: DataType) -> Result<Value> {
    if let Value::Text(text) = value {
        return Ok(Value::Text(fit_string(text, target)?.into()));
    }
    let mut bytes = Vec::new();
    match value {
        // A cast writes the whole word, output the letter.
        Value::Boolean(v) => bytes.extend_from_slice(if *v { b"true" } else { b"false" }),
        other => write_value_in(&session_zone(), other.borrow(), &mut bytes),
    }
    let text = String::from_utf8(bytes).expect("values are written as text");
    Ok(Value::Text(fit_string(&text, target)?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_and_checked() {
        assert_eq!(cast(Value::Double(2.5), DataType::Integer), Ok(Value::Integer(2)));
        assert_eq!(cast(Value::Numeric(25, 1), DataType::Integer), Ok(Value::Integer(3)));
        let fault = cast(Value::BigInt(70_000), DataType::SmallInt).expect_err("too large");
        assert_eq!(
            (fault.state.code(), fault.message.as_str()),
            ("22003", "smallint out of range")
        );
        let money = DataType::Numeric { precision: 4, scale: 2 };
        assert_eq!(cast(Value::Integer(12), money), Ok(Value::Numeric(1200, 2)));
        assert!(cast(Value::Integer(123), money).is_err());
    }

    #[test]
    fn anything_becomes_a_string_that_fits() {
        assert_eq!(cast(Value::Boolean(true), DataType::Text), Ok(Value::Text("true".into())));
        let fault = cast(Value::Integer(12345), DataType::Varchar(3)).expect_err("too long");
        assert_eq!(fault.state.code(), "22001");
    }

    #[test]
    fn classes_do_not_mix() {
        let column = ColumnSchema {
            name: "d".into(),
            data_type: DataType::Date,
            not_null: false,
            default: engine::types::ColumnDefault::None,
            dropped: false,
            missing: Value::Null,
        };
        let fault = check(&column, DataType::Integer).expect_err("refused");
        assert_eq!(fault.message, "column \"d\" is of type date but expression is of type integer");
        assert!(check(&column, DataType::Timestamp).is_ok());
    }
}
