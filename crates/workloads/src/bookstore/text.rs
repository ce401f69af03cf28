//! Random strings as the specification draws them.

use rand::{Rng, RngExt};

/// Letters, punctuation and blank: the alphabet of a-strings. No backslash, quote, tab or `%`, so that rows
/// need no escaping in COPY and parameters none in LIKE.
const ALPHABET: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!@#^&*()-= .";

/// Appends an a-string of `low..=high` characters.
pub fn a_string(rng: &mut impl Rng, low: usize, high: usize, out: &mut Vec<u8>) {
    let mut left = rng.random_range(low..=high);
    while left > 0 {
        let mut bits = rng.next_u64();
        for _ in 0..left.min(10) {
            out.push(ALPHABET[(bits & 63) as usize]);
            bits >>= 6;
        }
        left -= left.min(10);
    }
}

/// Appends `low..=high` digits.
pub fn n_string(rng: &mut impl Rng, low: usize, high: usize, out: &mut Vec<u8>) {
    let length = rng.random_range(low..=high);
    out.extend((0..length).map(|_| b'0' + rng.random_range(0..10u8)));
}

/// Two letters per decimal digit of `number`, padded with zeros to `width` digits (0: as it is).
pub fn digit_syllables(number: u64, width: usize) -> String {
    const SYLLABLES: [&str; 10] = ["BA", "OG", "AL", "RI", "RE", "SE", "AT", "UL", "IN", "NG"];
    let digits = format!("{number:0width$}");
    digits.bytes().map(|digit| SYLLABLES[usize::from(digit - b'0')]).collect()
}

/// The specification's non-uniform random number in `low..=high`.
pub fn non_uniform(rng: &mut impl Rng, a: u64, low: u64, high: u64) -> u64 {
    let mixed = rng.random_range(0..=a) | rng.random_range(low..=high);
    mixed % (high - low + 1) + low
}

/// A day counted from 1970-01-01 as `YYYY-MM-DD` (the civil calendar of Howard Hinnant's `chrono` notes).
pub fn date_text(days: i32) -> String {
    let z = i64::from(days) + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Microseconds since 1970 as `YYYY-MM-DD HH:MM:SS`.
pub fn timestamp_text(micros: i64) -> String {
    let date = date_text(micros.div_euclid(86_400_000_000) as i32);
    let seconds = micros.rem_euclid(86_400_000_000) / 1_000_000;
    format!("{date} {:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syllables_spell_digits() {
        assert_eq!(digit_syllables(42, 7), "BABABABABAREAL");
        assert_eq!(digit_syllables(42, 0), "REAL");
    }

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(date_text(0), "1970-01-01");
        assert_eq!(date_text(10_957), "2000-01-01");
        assert_eq!(date_text(-1), "1969-12-31");
        assert_eq!(date_text(19_782), "2024-02-29");
    }
}
