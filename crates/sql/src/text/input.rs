//! Text to value, by type.

use engine::types::{DataType, Error, Result, SqlState, Value};

use super::bytea::parse_bytea;
use super::datetime::{parse_date, parse_timestamp};
use super::number::{parse_double, parse_numeric, parse_real};

/// What the type's input function makes of the text.
pub fn parse_value(text: &str, data_type: DataType) -> Result<Value> {
    Ok(match data_type {
        DataType::Boolean => Value::Boolean(parse_boolean(text)?),
        DataType::SmallInt => Value::SmallInt(parse_integer(text, "smallint")?),
        DataType::Integer => Value::Integer(parse_integer(text, "integer")?),
        DataType::BigInt => Value::BigInt(parse_integer(text, "bigint")?),
        DataType::Real => Value::Real(parse_real(text)?),
        DataType::Double => Value::Double(parse_double(text)?),
        DataType::Numeric { precision, scale } => {
            Value::Numeric(parse_numeric(text, precision, scale)?, scale)
        }
        DataType::Text | DataType::Varchar(_) | DataType::Char(_) => {
            Value::Text(fit_string(text, data_type)?.into())
        }
        DataType::Date => Value::Date(parse_date(text)?),
        DataType::Timestamp => Value::Timestamp(parse_timestamp(text, false)?),
        DataType::TimestampTz => Value::TimestampTz(parse_timestamp(text, true)?),
        DataType::Bytea => Value::Bytea(parse_bytea(text)?.into()),
    })
}

/// The fault that an input function raises for a text that is no value of its type.
pub(super) fn invalid(text: &str, type_name: &str) -> Error {
    let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
    Error::new(SqlState::InvalidTextRepresentation, message)
}

fn parse_boolean(text: &str) -> Result<bool> {
    let word = text.trim();
    let is_prefix = |whole: &str, least: usize| {
        word.len() >= least
            && word.len() <= whole.len()
            && whole.as_bytes()[..word.len()].eq_ignore_ascii_case(word.as_bytes())
    };
    if is_prefix("true", 1) || is_prefix("yes", 1) || is_prefix("on", 2) || word == "1" {
        return Ok(true);
    }
    if is_prefix("false", 1) || is_prefix("no", 1) || is_prefix("off", 2) || word == "0" {
        return Ok(false);
    }
    Err(invalid(text, "boolean"))
}

/// Digits with an optional sign and surrounding blanks. The fast path of COPY: no allocation, one
/// pass.
fn parse_integer<T: TryFrom<i64>>(text: &str, type_name: &str) -> Result<T> {
    let digits = text.trim_matches(|c: char| c.is_ascii_whitespace());
    match digits.parse::<i64>() {
        Ok(value) => T::try_from(value).map_err(|_| out_of_range(text, type_name)),
        Err(_) if is_integer(digits) => Err(out_of_range(text, type_name)),
        Err(_) => Err(invalid(text, type_name)),
    }
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

fn out_of_range(text: &str, type_name: &str) -> Error {
    let message = format!("value \"{text}\" is out of range for type {type_name}");
    Error::new(SqlState::NumericOutOfRange, message)
}

/// The text as a string type keeps it: excess blanks cut, anything else too long refused (22001);
/// `char(n)` loses its padding, since trailing blanks carry no meaning there.
pub fn fit_string(text: &str, data_type: DataType) -> Result<&str> {
    match data_type {
        DataType::Varchar(limit) => fit_length(text, limit, data_type),
        DataType::Char(limit) => Ok(fit_length(text, limit, data_type)?.trim_end_matches(' ')),
        _ => Ok(text),
    }
}

fn fit_length(text: &str, limit: u32, data_type: DataType) -> Result<&str> {
    let limit = limit as usize;
    if text.len() <= limit {
        return Ok(text); // characters are at least a byte each
    }
    match text.char_indices().nth(limit) {
        None => Ok(text),
        Some((end, _)) if text[end..].bytes().all(|b| b == b' ') => Ok(&text[..end]),
        Some(_) => {
            let message = format!("value too long for type {data_type}");
            Err(Error::new(SqlState::StringTooLong, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str, data_type: DataType) -> &'static str {
        parse_value(text, data_type).expect_err("should fail").state.code()
    }

    #[test]
    fn booleans_take_prefixes() {
        for text in ["t", "TRUE", " yes ", "on", "1", "y"] {
            assert_eq!(parse_value(text, DataType::Boolean), Ok(Value::Boolean(true)), "{text}");
        }
        assert_eq!(parse_value("of", DataType::Boolean), Ok(Value::Boolean(false)));
        assert_eq!(state("o", DataType::Boolean), "22P02");
    }

    #[test]
    fn integers_tell_garbage_from_overflow() {
        assert_eq!(parse_value(" -42 ", DataType::SmallInt), Ok(Value::SmallInt(-42)));
        assert_eq!(state("40000", DataType::SmallInt), "22003");
        assert_eq!(state("99999999999999999999", DataType::BigInt), "22003");
        assert_eq!(state("12x", DataType::Integer), "22P02");
        assert_eq!(state("", DataType::Integer), "22P02");
    }

    #[test]
    fn strings_are_measured_in_characters_and_lose_only_blanks() {
        assert_eq!(fit_string("äöü", DataType::Varchar(3)), Ok("äöü"));
        assert_eq!(fit_string("abc  ", DataType::Varchar(3)), Ok("abc"));
        assert_eq!(state("abcd", DataType::Varchar(3)), "22001");
        assert_eq!(fit_string("ab ", DataType::Char(5)), Ok("ab"));
    }
}
