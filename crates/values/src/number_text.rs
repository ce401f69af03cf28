//! Doubles as messages show them.

/// A double in six significant digits, as C's `%g`, but for NaN and infinities.
pub(crate) fn six_digits(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-Infinity" } else { "Infinity" }.to_owned();
    }
    let scientific = format!("{number:.5e}");
    let (digits, exponent) = scientific.split_once('e').expect("written with an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent");
    if !(-4..6).contains(&exponent) {
        let digits = trimmed(digits);
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let decimals = (5 - exponent) as usize;
    trimmed(&format!("{number:.decimals$}")).to_owned()
}

fn trimmed(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

#[cfg(test)]
mod tests {
    use super::six_digits;

    #[test]
    fn as_c_writes_it() {
        assert_eq!(six_digits(0.0), "0");
        assert_eq!(six_digits(60.1), "60.1");
        assert_eq!(six_digits(1e16), "1e+16");
        assert_eq!(six_digits(-0.00001234), "-1.234e-05");
        assert_eq!(six_digits(1_234_567.0), "1.23457e+06");
    }
}
