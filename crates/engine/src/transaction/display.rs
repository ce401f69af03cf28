//! Values as PostgreSQL shows them in the DETAIL of an error.

use std::fmt::Write;

use crate::types::ValueRef;

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// Values in parentheses, separated by commas.
pub(crate) fn list<'a>(values: impl Iterator<Item = ValueRef<'a>>) -> String {
    values.map(text).collect::<Vec<_>>().join(", ")
}

/// One value.
fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "null".into(),
        ValueRef::Boolean(v) => if v { "t" } else { "f" }.into(),
        ValueRef::SmallInt(v) => v.to_string(),
        ValueRef::Integer(v) => v.to_string(),
        ValueRef::BigInt(v) => v.to_string(),
        ValueRef::Real(v) => v.to_string(),
        ValueRef::Double(v) => v.to_string(),
        ValueRef::Numeric(v, scale) => numeric(v, usize::from(scale)),
        ValueRef::Text(v) => v.into(),
        ValueRef::Date(v) => date(i64::from(v)),
        ValueRef::Timestamp(v) => timestamp(v),
        ValueRef::TimestampTz(v) => timestamp(v) + "+00",
        ValueRef::Bytea(v) => v.iter().fold("\\x".into(), |mut hex, byte| {
            // Writing to a String cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        }),
    }
}

fn numeric(value: i128, scale: usize) -> String {
    let digits = format!("{:0width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if value < 0 { "-" } else { "" };
    let point = if scale > 0 { "." } else { "" };
    format!("{sign}{whole}{point}{fraction}")
}

/// The proleptic Gregorian date of a day number (days since 1970-01-01), after Howard Hinnant's
/// `civil_from_days`.
fn date(days: i64) -> String {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

fn timestamp(micros: i64) -> String {
    let (day, rest) = (micros.div_euclid(MICROS_PER_DAY), micros.rem_euclid(MICROS_PER_DAY));
    let seconds = rest / 1_000_000;
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    let mut shown = format!("{} {hours:02}:{minutes:02}:{:02}", date(day), seconds % 60);
    if rest % 1_000_000 != 0 {
        let fraction = format!(".{:06}", rest % 1_000_000);
        shown.push_str(fraction.trim_end_matches('0'));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_look_as_in_postgres() {
        let cases = [
            (ValueRef::Numeric(-5, 2), "-0.05"),
            (ValueRef::Numeric(1234, 2), "12.34"),
            (ValueRef::Numeric(7, 0), "7"),
            (ValueRef::Date(0), "1970-01-01"),
            (ValueRef::Date(-1), "1969-12-31"),
            (ValueRef::Date(11_016), "2000-02-29"),
            (ValueRef::Timestamp(86_400_000_000 * 11_017 + 3_661_500_000), "2000-03-01 01:01:01.5"),
            (ValueRef::Bytea(&[0, 255]), "\\x00ff"),
        ];
        for (value, expected) in cases {
            assert_eq!(text(value), expected);
        }
    }
}
