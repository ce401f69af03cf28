//! `div`, `width_bucket`, `to_number`, `make_timestamp`, `convert_from` and `convert_to`.

use engine::types::{DataType, Error, Result, SqlState, Value};

use super::by_row::{ByRow, Takes};
use crate::text::{days_from_civil, parse_numeric};

const NUMERIC: DataType = DataType::Numeric { precision: 38, scale: 10 };
const INTEGER: DataType = DataType::Integer;

/// The functions.
pub const FUNCTIONS: [ByRow; 6] = [
    ByRow { name: "div", takes: Takes::Values(&[NUMERIC, NUMERIC]), gives: NUMERIC, compute: div },
    ByRow {
        name: "width_bucket",
        takes: Takes::Values(&[DataType::Double, DataType::Double, DataType::Double, INTEGER]),
        gives: INTEGER,
        compute: width_bucket,
    },
    ByRow {
        name: "to_number",
        takes: Takes::Values(&[DataType::Text, DataType::Text]),
        gives: NUMERIC,
        compute: to_number,
    },
    ByRow {
        name: "make_timestamp",
        takes: Takes::Values(&[INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, DataType::Double]),
        gives: DataType::Timestamp,
        compute: make_timestamp,
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

/// The quotient without its fraction.
fn div(values: &[Value]) -> Result<Value> {
    let [Value::Numeric(left, scale), Value::Numeric(right, _)] = values else {
        unreachable!("cast before: {values:?}")
    };
    if *right == 0 {
        return Err(Error::new(SqlState::DivisionByZero, "division by zero"));
    }
    let whole = (left / right).checked_mul(10_i128.pow(u32::from(*scale)));
    let overflow = || Error::new(SqlState::NumericOutOfRange, "value overflows numeric format");
    Ok(Value::Numeric(whole.ok_or_else(overflow)?, *scale))
}

/// In which of `count` equal buckets between the bounds a number lies; 0 before them, `count + 1` behind.
fn width_bucket(values: &[Value]) -> Result<Value> {
    let [Value::Double(x), Value::Double(low), Value::Double(high), Value::Integer(count)] = values
    else {
        unreachable!("cast before: {values:?}")
    };
    let refuse = |message| Err(Error::new(SqlState::InvalidBucket, message));
    match () {
        () if *count <= 0 => return refuse("count must be greater than zero"),
        () if x.is_nan() || low.is_nan() || high.is_nan() => {
            return refuse("operand, lower bound, and upper bound cannot be NaN");
        }
        () if low.is_infinite() || high.is_infinite() => {
            return refuse("lower and upper bounds must be finite");
        }
        () if low == high => return refuse("lower bound cannot equal upper bound"),
        () => {}
    }
    let along = (x - low) / (high - low);
    let bucket = match along {
        along if along < 0.0 => 0,
        along if along >= 1.0 => {
            let behind = count.checked_add(1);
            let fault = || Error::new(SqlState::NumericOutOfRange, "integer out of range");
            return behind.map(Value::Integer).ok_or_else(fault);
        }
        along => (along * f64::from(*count)).floor() as i32 + 1,
    };
    Ok(Value::Integer(bucket.min(*count)))
}

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

fn make_timestamp(values: &[Value]) -> Result<Value> {
    let parts: Vec<i32> = values.iter().filter_map(integer).collect();
    let ([year, month, day, hour, minute], Some(Value::Double(second))) =
        (parts.as_slice(), values.last())
    else {
        unreachable!("cast before: {values:?}")
    };
    let (year, month, day, hour, minute) = (*year, *month, *day, *hour, *minute);
    let month_is_valid = (1..=12).contains(&month) && (1..=9999).contains(&year);
    if !month_is_valid || day < 1 || day > days_in(year, month as u32) {
        let message = format!("date field value out of range: {year}-{month:02}-{day:02}");
        return Err(Error::new(SqlState::DatetimeOverflow, message));
    }
    let in_day = (0..24).contains(&hour) && (0..60).contains(&minute);
    let midnight = hour == 24 && minute == 0 && *second == 0.0;
    let in_time = in_day && (0.0..=60.0).contains(second);
    if !(midnight || in_time) {
        let message = format!("time field value out of range: {hour}:{minute:02}:{second:02}");
        return Err(Error::new(SqlState::DatetimeOverflow, message));
    }
    let days = i64::from(days_from_civil(year, month as u32, day as u32));
    let minutes = (days * 24 + i64::from(hour)) * 60 + i64::from(minute);
    Ok(Value::Timestamp(minutes * 60_000_000 + (second * 1e6).round() as i64))
}

fn integer(value: &Value) -> Option<i32> {
    match value {
        Value::Integer(value) => Some(*value),
        _ => None,
    }
}

/// The days of a month.
pub fn days_in(year: i32, month: u32) -> i32 {
    let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days_from_civil(next.0, next.1, 1) - days_from_civil(year, month, 1)
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

    #[test]
    fn buckets_are_counted_from_one() {
        let bucket = |x: f64| {
            let values =
                [Value::Double(x), Value::Double(0.0), Value::Double(10.0), Value::Integer(5)];
            width_bucket(&values)
        };
        let buckets: Vec<_> = [-1.0, 0.0, 1.9, 2.0, 9.99, 10.0].map(bucket).into();
        assert_eq!(buckets, [0, 1, 1, 2, 5, 6].map(|b| Ok(Value::Integer(b))));
    }
}
