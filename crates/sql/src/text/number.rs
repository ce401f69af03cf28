//! Text to floating-point and decimal numbers.

use engine::types::{DataType, Error, Result, SqlState, Value};

use super::input::invalid;

pub(super) fn parse_double(text: &str) -> Result<f64> {
    let value = parse_float::<f64>(text, "double precision")?;
    if value.is_infinite() && !is_infinity(text) || value == 0.0 && is_nonzero(text) {
        return Err(float_out_of_range(text, "double precision"));
    }
    Ok(value)
}

pub(super) fn parse_real(text: &str) -> Result<f32> {
    let value = parse_float::<f32>(text, "real")?;
    if value.is_infinite() && !is_infinity(text) || value == 0.0 && is_nonzero(text) {
        return Err(float_out_of_range(text, "real"));
    }
    Ok(value)
}

/// A double as a `real`; 22003 where it would become infinite, or nothing.
pub fn narrowed(value: f64) -> Result<f32> {
    let narrow = value as f32;
    let fault = match () {
        () if narrow.is_infinite() && value.is_finite() => "overflow",
        () if narrow == 0.0 && value != 0.0 => "underflow",
        () => return Ok(narrow),
    };
    Err(Error::new(SqlState::NumericOutOfRange, format!("value out of range: {fault}")))
}

fn parse_float<T: std::str::FromStr>(text: &str, type_name: &str) -> Result<T> {
    text.trim().parse().map_err(|_| invalid(text, type_name))
}

fn is_infinity(text: &str) -> bool {
    text.bytes().any(|b| b == b'n' || b == b'N')
}

/// Whether a number has a digit other than 0 before its exponent.
fn is_nonzero(text: &str) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    mantissa.bytes().any(|b| (b'1'..=b'9').contains(&b))
}

fn float_out_of_range(text: &str, type_name: &str) -> Error {
    let message = format!("\"{text}\" is out of range for type {type_name}");
    Error::new(SqlState::NumericOutOfRange, message)
}

/// The unscaled digits of a decimal with `scale` digits after the point, rounded half away from
/// zero; 22003 where `numeric` without a precision would lose some.
pub fn parse_numeric(text: &str, precision: u8, scale: u8) -> Result<i128> {
    let decimal = parse_decimal(text)?;
    if decimal.is_cut && is_plain(precision, scale) {
        return Err(Error::lost_digits());
    }
    fitted(decimal.digits, decimal.scale, precision, scale)
}

/// A decimal with another scale, rounded half away from zero; 22003 where it does not fit the
/// precision, or where `numeric` without one would lose digits.
pub fn rescale_numeric(value: i128, from: u8, precision: u8, scale: u8) -> Result<i128> {
    fitted(value, i32::from(from), precision, scale)
}

/// A number as a numeric of the wanted type, rounded half away from zero; 22003 where that has too few digits.
pub fn rounded_numeric(unscaled: i128, own: u8, wanted: DataType) -> Result<Value> {
    let DataType::Numeric { precision, scale } = wanted else {
        unreachable!("{wanted} is no numeric")
    };
    Ok(Value::Numeric(rescale_numeric(unscaled, own, precision, scale)?, scale))
}

/// A parameter's number with all digits that it was sent with: a comparison needs it as it is, and a column that it goes into
/// rounds by itself. 22003 where 38 digits are not enough, or `numeric` without a precision would lose some.
pub fn numeric_as_sent(text: &str, wanted: DataType) -> Result<Value> {
    let DataType::Numeric { scale, .. } = wanted else { unreachable!("{wanted} is no numeric") };
    let own = scale_of(text);
    match parse_numeric(text, 38, own) {
        Ok(unscaled) => at_wanted_scale(unscaled, own, wanted),
        // 38 digits do not hold it at its own scale; perhaps at the wanted one.
        Err(_) => at_wanted_scale(parse_numeric(text, 38, scale)?, scale, wanted),
    }
}

/// A number at the scale of the wanted type where that loses nothing, else as it is; 22003 where the type is `numeric` without a
/// precision.
pub fn at_wanted_scale(unscaled: i128, own: u8, wanted: DataType) -> Result<Value> {
    let DataType::Numeric { precision, scale } = wanted else {
        unreachable!("{wanted} is no numeric")
    };
    let power = scale.checked_sub(own).and_then(|zeros| 10i128.checked_pow(u32::from(zeros)));
    if let Some(widened) = power.and_then(|power| unscaled.checked_mul(power)) {
        return Ok(Value::Numeric(widened, scale));
    }
    match own > scale && is_plain(precision, scale) {
        true => rounded_numeric(unscaled, own, wanted),
        false => Ok(Value::Numeric(unscaled, own)),
    }
}

/// Digits after the point that the text needs, at most 38.
fn scale_of(text: &str) -> u8 {
    let text = text.trim();
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().unwrap_or(0)),
        None => (text, 0),
    };
    let fraction = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i64);
    fraction.saturating_sub(exponent).clamp(0, 38) as u8
}

fn is_plain(precision: u8, scale: u8) -> bool {
    DataType::Numeric { precision, scale } == DataType::PLAIN_NUMERIC
}

fn fitted(digits: i128, from: i32, precision: u8, scale: u8) -> Result<i128> {
    if is_plain(precision, scale) && loses(digits, from - i32::from(scale)) {
        return Err(Error::lost_digits());
    }
    rescale(digits, from, scale)
        .filter(|value| fits(*value, precision))
        .ok_or_else(|| overflow(precision, scale))
}

/// Whether some of so many last digits is not 0.
fn loses(digits: i128, last: i32) -> bool {
    let power = u32::try_from(last).ok().map(|last| 10i128.checked_pow(last));
    power.is_some_and(|power| digits != 0 && power.is_none_or(|power| digits % power != 0))
}

/// What a text says.
struct Decimal {
    digits: i128,
    /// How many of them are after the point; negative after a positive exponent.
    scale: i32,
    /// More digits follow than there is room for.
    is_cut: bool,
}

fn parse_decimal(text: &str) -> Result<Decimal> {
    let trimmed = text.trim();
    let refuse = || invalid(text, "numeric");
    if trimmed.eq_ignore_ascii_case("nan") {
        let message = "numeric values that are not numbers are not supported";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    let negative = trimmed.starts_with('-');
    let unsigned = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().map_err(|_| refuse())?),
        None => (unsigned, 0),
    };
    let mut value = 0i128;
    let (mut scale, mut seen_point, mut seen_digit, mut full) = (0i32, false, false, false);
    let mut is_cut = false;
    for byte in mantissa.bytes() {
        match byte {
            b'0'..=b'9' => {
                seen_digit = true;
                let digit = i128::from(byte - b'0');
                let next = value.checked_mul(10).and_then(|v| v.checked_add(digit));
                match next.filter(|_| !full) {
                    Some(next) => {
                        value = next;
                        scale += i32::from(seen_point);
                    }
                    // Digits beyond 38 after the point do not count; before it the number is too
                    // large.
                    None if seen_point => (full, is_cut) = (true, is_cut || digit != 0),
                    None => return Err(overflow(38, 0)),
                }
            }
            b'.' if !seen_point => seen_point = true,
            _ => return Err(refuse()),
        }
    }
    if !seen_digit {
        return Err(refuse());
    }
    let digits = if negative { -value } else { value };
    Ok(Decimal { digits, scale: scale.saturating_sub(exponent), is_cut })
}

fn rescale(value: i128, from: i32, to: u8) -> Option<i128> {
    let shift = i32::from(to) - from;
    if value == 0 {
        return Some(0);
    }
    if shift >= 0 {
        return value.checked_mul(10i128.checked_pow(shift.unsigned_abs())?);
    }
    let Some(divisor) = 10i128.checked_pow(shift.unsigned_abs()) else { return Some(0) };
    let (quotient, remainder) = (value / divisor, value % divisor);
    let round = remainder.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2);
    Some(if round { quotient + value.signum() } else { quotient })
}

fn fits(value: i128, precision: u8) -> bool {
    match 10u128.checked_pow(u32::from(precision)) {
        Some(limit) => value.unsigned_abs() < limit,
        None => true,
    }
}

fn overflow(precision: u8, scale: u8) -> Error {
    let limit = match precision - scale.min(precision) {
        0 => "1".to_owned(),
        digits => format!("10^{digits}"),
    };
    let detail = format!(
        "A field with precision {precision}, scale {scale} must round to an absolute value \
         less than {limit}."
    );
    Error::new(SqlState::NumericOutOfRange, "numeric field overflow").detail(detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_round_half_away_from_zero() {
        assert_eq!(parse_numeric("1.005", 10, 2), Ok(101));
        assert_eq!(parse_numeric("-1.005", 10, 2), Ok(-101));
        assert_eq!(parse_numeric("1.0049999", 10, 2), Ok(100));
        assert_eq!(parse_numeric("12e3", 10, 0), Ok(12000));
        assert_eq!(parse_numeric("1.5e-1", 10, 2), Ok(15));
        assert_eq!(parse_numeric(".5", 10, 0), Ok(1));
    }

    #[test]
    fn a_numeric_without_precision_keeps_its_digits_or_is_refused() {
        for text in [
            "54.23424645165",
            "0.000000000007",
            "1e-11",
            "1.00000000000000000000000000000000000000001",
        ] {
            assert_eq!(
                parse_numeric(text, 38, 10).expect_err(text).state.code(),
                "22003",
                "{text}"
            );
        }
        assert_eq!(parse_numeric("1.23456789010000", 38, 10), Ok(12_345_678_901));
        assert_eq!(rescale_numeric(15, 11, 38, 10).expect_err("a digit").state.code(), "22003");
        assert_eq!(rescale_numeric(150, 12, 38, 10).expect_err("a digit").state.code(), "22003");
        assert_eq!(rescale_numeric(1500, 12, 38, 10), Ok(15));
    }

    #[test]
    fn decimals_refuse_garbage_and_excess() {
        assert_eq!(parse_numeric("1.2.3", 10, 2).expect_err("points").state.code(), "22P02");
        assert_eq!(parse_numeric("", 10, 2).expect_err("empty").state.code(), "22P02");
        let fault = parse_numeric("100", 4, 2).expect_err("too large");
        assert_eq!(fault.state.code(), "22003");
        assert!(fault.detail.as_deref().is_some_and(|detail| detail.contains("10^2")));
    }

    #[test]
    fn a_real_is_what_it_was_or_refused() {
        assert_eq!(narrowed(0.1), Ok(0.1_f32));
        assert_eq!(narrowed(f64::INFINITY), Ok(f32::INFINITY));
        for value in [1e300, -1e300, 1e-300] {
            assert_eq!(narrowed(value).expect_err("no real").state.code(), "22003", "{value}");
        }
    }

    #[test]
    fn doubles_tell_infinity_from_overflow() {
        assert_eq!(parse_double("-Infinity"), Ok(f64::NEG_INFINITY));
        assert_eq!(parse_double("1e400").expect_err("overflow").state.code(), "22003");
        assert!(parse_double("NaN").is_ok_and(f64::is_nan));
    }
}
