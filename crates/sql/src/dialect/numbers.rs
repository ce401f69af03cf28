//! `to_number`, `convert_from` and `convert_to`.

use engine::types::{DataType, Error, Result, SqlState, Value};

use super::by_row::{ByRow, Takes};
use crate::text::parse_numeric;

const NUMERIC: DataType = DataType::Numeric { precision: 38, scale: 10 };

/// The functions.
pub const FUNCTIONS: [ByRow; 3] = [
    ByRow {
        name: "to_number",
        takes: Takes::Values(&[DataType::Text, DataType::Text]),
        gives: NUMERIC,
        compute: to_number,
    },
    ByRow {
        name: "convert_from",
        takes: Takes::Values(&[DataType::Bytea, DataType::Text]),
        gives: DataType::Text,
        compute: convert_from,
    },
    ByRow {
        name: "convert_to",
        takes: Takes::Values(&[DataType::Text, DataType::Text]),
        gives: DataType::Bytea,
        compute: convert_to,
    },
];

/// Reads a number as a format says: digits, a point, separators and a sign; other letters of the format skip one.
fn to_number(values: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(format)] = values else {
        unreachable!("cast before: {values:?}")
    };
    let (mut digits, mut negative, mut pointed) = (String::new(), false, false);
    let mut letters = text.trim_start().chars().peekable();
    let mut pattern = format.to_ascii_uppercase();
    pattern.retain(|c| c != '"');
    for wanted in pattern.replace("FM", "").replace("PL", "S").replace("MI", "S").chars() {
        while letters.next_if(|c| *c == ' ').is_some() {}
        if let Some(sign) = letters.next_if(|c| matches!(c, '-' | '+')) {
            negative |= sign == '-';
        }
        match wanted {
            '9' | '0' => digits.extend(letters.next_if(char::is_ascii_digit)),
            '.' | 'D' if !pointed => {
                if letters.next_if(|c| *c == '.').is_some() {
                    digits.push('.');
                    pointed = true;
                }
            }
            ',' | 'G' => drop(letters.next_if(|c| *c == ',')),
            'S' | 'V' => {}
            _ => drop(letters.next_if(|c| !c.is_ascii_digit())),
        }
    }
    negative |= letters.next() == Some('-');
    if digits.is_empty() || digits == "." {
        let message = "invalid input syntax for type numeric: \" \"";
        return Err(Error::new(SqlState::InvalidTextRepresentation, message));
    }
    let signed = if negative { format!("-{digits}") } else { digits };
    Ok(Value::Numeric(parse_numeric(&signed, 38, 10)?, 10))
}

/// Names under which PostgreSQL knows UTF-8, the only encoding here.
fn is_utf8(encoding: &str) -> bool {
    ["utf8", "utf-8", "unicode"].iter().any(|known| encoding.eq_ignore_ascii_case(known))
}

fn unknown_encoding(kind: &str, encoding: &str) -> Error {
    let message = format!("invalid {kind} encoding name \"{encoding}\"");
    Error::new(SqlState::InvalidParameterValue, message)
}

fn convert_from(values: &[Value]) -> Result<Value> {
    let [Value::Bytea(bytes), Value::Text(encoding)] = values else {
        unreachable!("cast before: {values:?}")
    };
    if !is_utf8(encoding) {
        return Err(unknown_encoding("source", encoding));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(Value::Text(text.into())),
        outcome => {
            let at =
                outcome.map_or_else(|fault| fault.valid_up_to(), |t| t.find('\0').unwrap_or(0));
            let wrong = bytes.get(at).copied().unwrap_or_default();
            let message = format!("invalid byte sequence for encoding \"UTF8\": 0x{wrong:02x}");
            Err(Error::new(SqlState::InvalidByteSequence, message))
        }
    }
}

fn convert_to(values: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(encoding)] = values else {
        unreachable!("cast before: {values:?}")
    };
    match is_utf8(encoding) {
        true => Ok(Value::Bytea(text.as_bytes().into())),
        false => Err(unknown_encoding("destination", encoding)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str, format: &str) -> Result<String> {
        let values = [Value::Text(text.into()), Value::Text(format.into())];
        to_number(&values).map(|value| match value {
            Value::Numeric(digits, 10) => (digits as f64 / 1e10).to_string(),
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn numbers_are_read_as_the_format_says() {
        assert_eq!(number("12,454.8-", "99G999D9S"), Ok("-12454.8".into()));
        assert_eq!(number("-34,338,492", "99,999,999"), Ok("-34338492".into()));
        assert_eq!(number("$1,234.50", "L9,999.99"), Ok("1234.5".into()));
        assert_eq!(number("  42", "999"), Ok("42".into()));
        assert_eq!(number("x", "999").expect_err("no digit").state.code(), "22P02");
    }
}
