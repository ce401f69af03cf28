//! Durations as settings write them: a number, perhaps with a unit.

/// The longest, in milliseconds.
const LONGEST: u64 = i32::MAX as u64;

/// Units with their microseconds, larger ones first.
const UNITS: [(u64, &str); 6] = [
    (86_400_000_000, "d"),
    (3_600_000_000, "h"),
    (60_000_000, "min"),
    (1_000_000, "s"),
    (1_000, "ms"),
    (1, "us"),
];

/// A whole number of milliseconds, or of a larger unit.
pub fn milliseconds(value: &str) -> Option<u64> {
    let value = value.trim();
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let number: u64 = value[..digits].parse().ok()?;
    let unit = match value[digits..].trim() {
        "" | "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(unit).filter(|milliseconds| *milliseconds <= LONGEST)
}

/// The largest unit that divides it, as SHOW writes it.
pub fn duration_text(milliseconds: u64) -> String {
    microseconds_text(milliseconds * 1_000)
}

/// A number of milliseconds, or of another unit, perhaps with a fraction: in microseconds, rounded. What is more than nothing
/// stays more than nothing, which would mean something else.
pub fn microseconds(value: &str) -> Option<u64> {
    let value = value.trim();
    let end = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    let number: f64 = value[..end].parse().ok()?;
    let name = match value[end..].trim() {
        "" => "ms",
        name => name,
    };
    let (unit, _) = UNITS.iter().find(|(_, unit)| *unit == name)?;
    let microseconds = (number * *unit as f64).round();
    let least = u64::from(number > 0.0);
    (microseconds <= (LONGEST * 1_000) as f64).then(|| (microseconds as u64).max(least))
}

/// The largest unit that divides it.
pub fn microseconds_text(microseconds: u64) -> String {
    let divides = |(unit, _): &&(u64, &str)| microseconds.is_multiple_of(*unit);
    match UNITS.iter().find(divides) {
        Some((unit, name)) if microseconds > 0 => format!("{}{name}", microseconds / unit),
        _ => "0".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_numbers_with_units() {
        for (text, wanted) in [
            ("50ms", Some(50_000)),
            (" 50 ms ", Some(50_000)),
            ("50", Some(50_000)),
            ("0.5", Some(500)),
            ("1.5s", Some(1_500_000)),
            ("250us", Some(250)),
            ("2min", Some(120_000_000)),
            ("0", Some(0)),
            ("0.0us", Some(0)),
            ("0.0001", Some(1)),
            ("2147483647", Some(2_147_483_647_000)),
            ("2147483648", None),
            ("-1", None),
            ("1.2.3", None),
            (".", None),
            ("ms", None),
            ("", None),
            ("5 weeks", None),
            ("1e3", None),
            ("NaN", None),
            ("inf", None),
        ] {
            assert_eq!(microseconds(text), wanted, "{text}");
        }
    }

    #[test]
    fn texts_have_the_largest_unit_that_divides() {
        for (microseconds, text) in [
            (0, "0"),
            (1, "1us"),
            (1_500, "1500us"),
            (50_000, "50ms"),
            (2_000_000, "2s"),
            (90_000_000, "90s"),
            (7_200_000_000, "2h"),
        ] {
            assert_eq!(microseconds_text(microseconds), text);
        }
        assert_eq!(duration_text(1_500), "1500ms");
    }
}
