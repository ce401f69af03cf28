//! Value to text, by type.

use engine::types::{DataType, Result, ValueRef};
use values::kernel::Context;

use super::bytea::write_bytea;
use super::datetime::{of_values, write_date, write_instant, write_timestamp};
use super::zone::SessionZone;
use crate::evaluation::Binary;

/// The binary form of values of which there is the text form, with times in UTC.
#[derive(Clone, Copy, Debug)]
pub struct BinaryOfText(Binary);

impl BinaryOfText {
    /// Of a type by its OID; `None` where its values are not computed with.
    pub fn of(type_oid: u32) -> Option<BinaryOfText> {
        Binary::of(type_oid).map(BinaryOfText)
    }

    /// Appends it.
    ///
    /// # Errors
    /// What the type's input function says of the text.
    pub fn write(self, text: &str, out: &mut Vec<u8>) -> Result<()> {
        // No text of an answer says "now".
        std::thread_local! {
            static CONTEXT: Context = Context::default();
        }
        CONTEXT.with(|context| self.0.write(context, text, out)).map_err(of_values)
    }
}

/// Appends what the type's output function makes of the value in UTC; NULL appends nothing, its spelling
/// is the caller's business, and so is the padding of `char(n)` (see [`pad`]).
pub fn write_value(value: ValueRef<'_>, out: &mut Vec<u8>) {
    write_value_in(&SessionZone::default(), value, out);
}

/// The same in a session's zone.
pub fn write_value_in(zone: &SessionZone, value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        ValueRef::Null => {}
        ValueRef::Boolean(v) => out.push(if v { b't' } else { b'f' }),
        ValueRef::SmallInt(v) => write_integer(v, out),
        ValueRef::Integer(v) => write_integer(v, out),
        ValueRef::BigInt(v) => write_integer(v, out),
        ValueRef::Real(v) => write_float(f64::from(v), &format!("{v:?}"), 6, out),
        ValueRef::Double(v) => write_float(v, &format!("{v:?}"), 15, out),
        ValueRef::Numeric(v, scale) => write_numeric(v, scale, out),
        ValueRef::Text(v) => out.extend_from_slice(v.as_bytes()),
        ValueRef::Date(v) => write_date(v, out),
        ValueRef::Timestamp(v) => write_timestamp(v, None, out),
        ValueRef::TimestampTz(v) => write_instant(v, zone, out),
        ValueRef::Bytea(v) => write_bytea(v, out),
    }
}

/// Appends the blanks that `char(n)` shows after a stored text.
pub fn pad(text: &str, data_type: DataType, out: &mut Vec<u8>) {
    if let DataType::Char(width) = data_type {
        let padding = (width as usize).saturating_sub(text.chars().count());
        out.extend(std::iter::repeat_n(b' ', padding));
    }
}

fn write_integer(value: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

fn write_numeric(value: i128, scale: u8, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(value.unsigned_abs());
    let scale = usize::from(scale);
    if scale == 0 {
        return out.extend_from_slice(digits.as_bytes());
    }
    let whole = digits.len().saturating_sub(scale);
    out.extend_from_slice(if whole == 0 { b"0" } else { &digits.as_bytes()[..whole] });
    out.push(b'.');
    out.extend(std::iter::repeat_n(b'0', scale.saturating_sub(digits.len())));
    out.extend_from_slice(&digits.as_bytes()[whole..]);
}

/// The shortest digits that read back as the same number, in plain notation for exponents from -4
/// to below `plain_digits`, else as `1.5e+20`: PostgreSQL's rule for `extra_float_digits` of at
/// least 1.
fn write_float(value: f64, shortest: &str, plain_digits: i32, out: &mut Vec<u8>) {
    if value.is_nan() {
        return out.extend_from_slice(b"NaN");
    }
    if value.is_infinite() {
        return out.extend_from_slice(if value > 0.0 { b"Infinity" } else { b"-Infinity" });
    }
    let (negative, digits, exponent) = decimal_digits(shortest);
    if negative {
        out.push(b'-');
    }
    if (-4..plain_digits).contains(&exponent) {
        write_plain(&digits, exponent, out);
    } else {
        out.extend_from_slice(&digits.as_bytes()[..1]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits.as_bytes()[1..]);
        }
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        if exponent.abs() < 10 {
            out.push(b'0');
        }
        write_integer(exponent.abs(), out);
    }
}

/// Sign, significant digits without trailing zeros, and the power of ten of the first one.
fn decimal_digits(shortest: &str) -> (bool, String, i32) {
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((shortest, "0"));
    let exponent: i32 = exponent.parse().expect("Rust writes exponents as integers");
    let negative = mantissa.starts_with('-');
    let unsigned = mantissa.trim_start_matches('-');
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let all = format!("{whole}{fraction}");
    let leading_zeros = all.len() - all.trim_start_matches('0').len();
    let digits = all.trim_matches('0');
    if digits.is_empty() {
        return (negative, "0".to_owned(), 0);
    }
    (negative, digits.to_owned(), whole.len() as i32 - 1 - leading_zeros as i32 + exponent)
}

fn write_plain(digits: &str, exponent: i32, out: &mut Vec<u8>) {
    if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
        return out.extend_from_slice(digits.as_bytes());
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        out.extend_from_slice(digits.as_bytes());
        out.extend(std::iter::repeat_n(b'0', whole - digits.len()));
    } else {
        out.extend_from_slice(&digits.as_bytes()[..whole]);
        out.push(b'.');
        out.extend_from_slice(&digits.as_bytes()[whole..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: ValueRef<'_>, data_type: DataType) -> String {
        let mut out = Vec::new();
        write_value(value, &mut out);
        if let ValueRef::Text(text) = value {
            pad(text, data_type, &mut out);
        }
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn floats_are_written_as_postgresql_writes_them() {
        let cases = [
            (1.0, "1"),
            (0.1, "0.1"),
            (-0.0, "-0"),
            (1e15, "1e+15"),
            (123456789012345.0, "123456789012345"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (1.5e300, "1.5e+300"),
            (100.0, "100"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (value, expected) in cases {
            assert_eq!(text(ValueRef::Double(value), DataType::Double), expected);
        }
        assert_eq!(text(ValueRef::Real(1e6), DataType::Real), "1e+06");
        assert_eq!(text(ValueRef::Real(0.1), DataType::Real), "0.1");
    }

    #[test]
    fn decimals_keep_their_scale() {
        let numeric = DataType::Numeric { precision: 10, scale: 3 };
        assert_eq!(text(ValueRef::Numeric(-5, 3), numeric), "-0.005");
        assert_eq!(text(ValueRef::Numeric(12_340, 3), numeric), "12.340");
    }

    #[test]
    fn integers_reach_both_ends() {
        for value in [0, 7, -10, i64::MAX, i64::MIN] {
            assert_eq!(text(ValueRef::BigInt(value), DataType::BigInt), value.to_string());
        }
    }

    #[test]
    fn chars_are_padded() {
        assert_eq!(text(ValueRef::Text("ab"), DataType::Char(4)), "ab  ");
    }
}
