//! Dates and timestamps as text: ISO 8601 as PostgreSQL writes it, and the common variants it
//! reads.

use std::ops::RangeInclusive;

use engine::types::{Error, Result, SqlState, day_of, midnight};

use super::zone::{is_utc, zone_refused};

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// Days since 1970-01-01 of a day in the proleptic Gregorian calendar (H. Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms"): years start in March, so that the leap day is
/// their last.
pub fn days_from_civil(year: i32, month: u32, day: u32) -> i32 {
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = i64::from((month + 9) % 12);
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era - 719_468) as i32
}

/// Year, month and day; the inverse of [`days_from_civil`].
pub fn civil_from_days(days: i32) -> (i32, u32, u32) {
    let days = i64::from(days) + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year as i32, month as u32, day)
}

/// PostgreSQL's first day, 4714-11-24 BC, and its last, 5874897-12-31.
const DATES: RangeInclusive<i32> = -2_440_588..=2_145_042_905;

/// PostgreSQL's first moment, and the last that 64 bits count from 1970, in the year 294247. Beyond it is infinity.
const TIMESTAMPS: RangeInclusive<i64> = -210_866_803_200_000_000..=i64::MAX - 1;

/// 22008 for a day that PostgreSQL has not.
pub fn check_date(days: i32) -> Result<i32> {
    match DATES.contains(&days) || days == i32::MAX || days == i32::MIN {
        true => Ok(days),
        false => Err(Error::new(SqlState::DatetimeOverflow, "date out of range")),
    }
}

/// 22008 for a moment that PostgreSQL has not.
pub fn check_timestamp(micros: i64) -> Result<i64> {
    match TIMESTAMPS.contains(&micros) || micros == i64::MAX || micros == i64::MIN {
        true => Ok(micros),
        false => Err(Error::new(SqlState::DatetimeOverflow, "timestamp out of range")),
    }
}

/// Where a day begins; 22008 for one that no timestamp reaches.
pub fn timestamp_of(days: i32) -> Result<i64> {
    let overflow = || Error::new(SqlState::DatetimeOverflow, "date out of range for timestamp");
    midnight(days).ok_or_else(overflow)
}

/// Days since 1970-01-01. A time of day is read and dropped, as PostgreSQL does.
pub fn parse_date(text: &str) -> Result<i32> {
    if let Some(days) = iso_date(text.as_bytes()) {
        return Ok(days);
    }
    refuse_relative(text)?;
    if let Some(micros) = special(text) {
        return Ok(day_of(micros));
    }
    let moment = Moment::parse(text, "date")?;
    match DATES.contains(&moment.days) {
        true => Ok(moment.days),
        false => Err(out_of_range("date", text)),
    }
}

/// Microseconds since 1970-01-01 00:00; with `zoned` the text's zone counts (UTC without one, see [`is_utc`]), else
/// it is ignored.
pub fn parse_timestamp(text: &str, zoned: bool) -> Result<i64> {
    refuse_relative(text)?;
    if let Some(micros) = special(text) {
        return Ok(micros);
    }
    let type_name = if zoned { "timestamp with time zone" } else { "timestamp" };
    let moment = Moment::parse(text, type_name)?;
    if zoned && !moment.names_zone && !is_utc() {
        return Err(zone_refused("a timestamp with time zone without an offset"));
    }
    let local = i64::from(moment.days)
        .checked_mul(MICROS_PER_DAY)
        .and_then(|micros| micros.checked_add(moment.micros));
    let offset = if zoned { moment.offset_seconds * MICROS_PER_SECOND } else { 0 };
    local
        .and_then(|micros| micros.checked_sub(offset))
        .filter(|micros| TIMESTAMPS.contains(micros))
        .ok_or_else(|| out_of_range("timestamp", text))
}

/// `YYYY-MM-DD` and nothing else: what COPY and drivers send.
fn iso_date(text: &[u8]) -> Option<i32> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else { return None };
    let mut digits = [0u32; 8];
    for (digit, byte) in digits.iter_mut().zip([y1, y2, y3, y4, m1, m2, d1, d2]) {
        *digit = u32::from(byte.checked_sub(b'0').filter(|d| *d < 10)?);
    }
    let year = digits[0] * 1000 + digits[1] * 100 + digits[2] * 10 + digits[3];
    let (month, day) = (digits[4] * 10 + digits[5], digits[6] * 10 + digits[7]);
    let is_date = year > 0 && is_date(year as i32, month, day);
    is_date.then(|| days_from_civil(year as i32, month, day))
}

fn is_date(year: i32, month: u32, day: u32) -> bool {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=last).contains(&day)
}

/// `now`, `today`, `infinity` and their like.
fn special(text: &str) -> Option<i64> {
    let word = text.trim();
    let now = || chrono::Utc::now().timestamp_micros();
    let today = || now().div_euclid(MICROS_PER_DAY) * MICROS_PER_DAY;
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    match () {
        () if is("now") => Some(now()),
        () if is("today") => Some(today()),
        () if is("tomorrow") => Some(today() + MICROS_PER_DAY),
        () if is("yesterday") => Some(today() - MICROS_PER_DAY),
        () if is("epoch") => Some(0),
        () if is("infinity") => Some(i64::MAX),
        () if is("-infinity") => Some(i64::MIN),
        () => None,
    }
}

/// `today` is another day in another zone.
fn refuse_relative(text: &str) -> Result<()> {
    let is = |name: &str| text.trim().eq_ignore_ascii_case(name);
    match !is_utc() && (is("today") || is("tomorrow") || is("yesterday")) {
        true => Err(zone_refused("a day relative to the present one")),
        false => Ok(()),
    }
}

fn out_of_range(type_name: &str, text: &str) -> Error {
    Error::new(SqlState::DatetimeOverflow, format!("{type_name} out of range: \"{text}\""))
}

fn no_such_field(text: &str) -> Error {
    let message = format!("date/time field value out of range: \"{text}\"");
    Error::new(SqlState::DatetimeOverflow, message)
}

/// A point on a local calendar, with the zone that the text named.
struct Moment {
    days: i32,
    micros: i64,
    offset_seconds: i64,
    names_zone: bool,
}

impl Moment {
    fn parse(text: &str, type_name: &str) -> Result<Moment> {
        let invalid = || {
            let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
            Error::new(SqlState::DatetimeFormat, message)
        };
        let mut body = text.trim();
        let mut before_christ = false;
        if let Some(rest) = strip_suffix_ignoring_case(body, "bc") {
            (body, before_christ) = (rest.trim_end(), true);
        } else if let Some(rest) = strip_suffix_ignoring_case(body, "ad") {
            body = rest.trim_end();
        }
        let (date, rest) = split_date(body);
        let (digits, month, day) = date_fields(date).ok_or_else(invalid)?;
        let written: i32 = number(digits).ok_or_else(invalid)?;
        let year = match before_christ {
            true => 1 - written,
            false => written + century(digits, written),
        };
        let rest = rest.trim_start_matches(['T', 't', ' ']);
        let (clock, zone) = split_zone(rest);
        let (micros, valid_clock) = clock_micros(clock).ok_or_else(invalid)?;
        let offset_seconds = zone_seconds(zone).ok_or_else(invalid)?;
        // No calendar has a year 0. What lies behind these years no type goes to: its callers look closer.
        let has_year = written != 0 && (-4713..=5_874_897).contains(&year);
        if !has_year || !is_date(year, month, day) || !valid_clock {
            return Err(no_such_field(text));
        }
        let days = days_from_civil(year, month, day);
        Ok(Moment { days, micros, offset_seconds, names_zone: !zone.trim().is_empty() })
    }
}

fn strip_suffix_ignoring_case<'a>(text: &'a str, suffix: &str) -> Option<&'a str> {
    let at = text.len().checked_sub(suffix.len())?;
    let tail = text.get(at..)?;
    (tail.eq_ignore_ascii_case(suffix)).then(|| &text[..at])
}

fn split_date(text: &str) -> (&str, &str) {
    let named_month =
        text.bytes().any(|b| b.is_ascii_alphabetic() && !b"TtZzUuCcGgMm".contains(&b));
    if named_month {
        // `Jan 2, 2020 10:00`: the date is all before a word with a colon.
        let clock = text.find(':').and_then(|colon| text[..colon].rfind(' '));
        return clock.map_or((text, ""), |at| text.split_at(at));
    }
    let end = text.find(['T', 't', ' ']).unwrap_or(text.len());
    text.split_at(end)
}

/// What a year of one or two digits leaves out, as PostgreSQL has it.
fn century(digits: &str, year: i32) -> i32 {
    match (digits.len(), year) {
        (1 | 2, 70..) => 1900,
        (1 | 2, _) => 2000,
        _ => 0,
    }
}

/// The year's digits, month, day, unchecked.
fn date_fields(date: &str) -> Option<(&str, u32, u32)> {
    let parts: Vec<&str> =
        date.split(['-', '/', '.', ' ', ',']).filter(|part| !part.is_empty()).collect();
    match parts[..] {
        [all] if all.len() == 8 && all.bytes().all(|b| b.is_ascii_digit()) => {
            Some((&all[..4], number(&all[4..6])?, number(&all[6..])?))
        }
        [a, b, c] => match (month_number(a), month_number(b)) {
            (Some(month), _) => Some((c, month, number(b)?)),
            (_, Some(month)) if a.len() > 2 => Some((a, month, number(c)?)),
            (_, Some(month)) => Some((c, month, number(a)?)),
            _ if a.len() > 2 => Some((a, number(b)?, number(c)?)),
            // Month first, as DateStyle MDY says.
            _ => Some((c, number(a)?, number(b)?)),
        },
        _ => None,
    }
}

fn number<T: std::str::FromStr>(digits: &str) -> Option<T> {
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

fn month_number(word: &str) -> Option<u32> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let is = |month: &&str| {
        let short = word.eq_ignore_ascii_case("sept") && *month == "september";
        short || word.eq_ignore_ascii_case(&month[..3]) || word.eq_ignore_ascii_case(month)
    };
    MONTHS.iter().position(is).map(|month| month as u32 + 1)
}

/// The time of day and what follows it.
fn split_zone(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == ':' || c == '.'));
    text.split_at(end.unwrap_or(text.len()))
}

/// Microseconds since midnight, and whether each field is in its range. `24:00` is the next
/// midnight.
fn clock_micros(clock: &str) -> Option<(i64, bool)> {
    if clock.is_empty() {
        return Some((0, true));
    }
    let mut fields = clock.splitn(3, ':');
    let hour: i64 = number(fields.next()?)?;
    let minute: i64 = number(fields.next()?)?;
    let (second, fraction) = match fields.next() {
        Some(seconds) => seconds.split_once('.').unwrap_or((seconds, "")),
        None => ("0", ""),
    };
    let second: i64 = number(second)?;
    let micros =
        (hour * 3600 + minute * 60 + second) * MICROS_PER_SECOND + fraction_micros(fraction)?;
    Some((micros, minute < 60 && second <= 60 && micros <= MICROS_PER_DAY))
}

/// The digits after the decimal point as microseconds, rounded.
fn fraction_micros(digits: &str) -> Option<i64> {
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mut micros = 0;
    for place in 0..6 {
        let digit = digits.as_bytes().get(place).map_or(0, |b| i64::from(b - b'0'));
        micros = micros * 10 + digit;
    }
    Some(micros + i64::from(digits.as_bytes().get(6).is_some_and(|b| *b >= b'5')))
}

/// Seconds east of Greenwich; none is UTC.
fn zone_seconds(zone: &str) -> Option<i64> {
    let zone = zone.trim();
    let named = ["", "z", "utc", "gmt"].iter().any(|name| zone.eq_ignore_ascii_case(name));
    if named {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits: String = zone[1..].chars().filter(|c| *c != ':').collect();
    let (hours, minutes, seconds): (i64, i64, i64) = match digits.len() {
        1 | 2 => (number(&digits)?, 0, 0),
        4 => (number(&digits[..2])?, number(&digits[2..])?, 0),
        6 => (number(&digits[..2])?, number(&digits[2..4])?, number(&digits[4..])?),
        _ => return None,
    };
    let in_range = hours < 16 && minutes < 60 && seconds < 60;
    in_range.then_some(sign * (hours * 3600 + minutes * 60 + seconds))
}

/// Appends at least `width` digits.
fn write_digits(value: u32, width: u32, out: &mut Vec<u8>) {
    let mut place = 10u32.pow(width - 1);
    while value / place >= 10 {
        place *= 10;
    }
    while place > 0 {
        out.push(b'0' + (value / place % 10) as u8);
        place /= 10;
    }
}

fn write_civil(days: i32, out: &mut Vec<u8>) -> bool {
    let (year, month, day) = civil_from_days(days);
    let before_christ = year <= 0;
    write_digits(if before_christ { 1 - year } else { year } as u32, 4, out);
    for field in [month, day] {
        out.push(b'-');
        write_digits(field, 2, out);
    }
    before_christ
}

pub(super) fn write_date(days: i32, out: &mut Vec<u8>) {
    match days {
        i32::MAX => out.extend_from_slice(b"infinity"),
        i32::MIN => out.extend_from_slice(b"-infinity"),
        _ if write_civil(days, out) => out.extend_from_slice(b" BC"),
        _ => {}
    }
}

pub(super) fn write_timestamp(micros: i64, zoned: bool, out: &mut Vec<u8>) {
    match micros {
        i64::MAX => return out.extend_from_slice(b"infinity"),
        i64::MIN => return out.extend_from_slice(b"-infinity"),
        _ => {}
    }
    let before_christ = write_civil(micros.div_euclid(MICROS_PER_DAY) as i32, out);
    let of_day = micros.rem_euclid(MICROS_PER_DAY);
    let seconds = (of_day / MICROS_PER_SECOND) as u32;
    for (mark, field) in [(b' ', seconds / 3600), (b':', seconds / 60 % 60), (b':', seconds % 60)] {
        out.push(mark);
        write_digits(field, 2, out);
    }
    let fraction = (of_day % MICROS_PER_SECOND) as u32;
    if fraction != 0 {
        out.push(b'.');
        write_digits(fraction, 6, out);
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
    if zoned {
        out.extend_from_slice(b"+00");
    }
    if before_christ {
        out.extend_from_slice(b" BC");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_civil_dates_are_inverse() {
        for days in (-800_000..800_000).step_by(997) {
            let (year, month, day) = civil_from_days(days);
            assert!(is_date(year, month, day));
            assert_eq!(days_from_civil(year, month, day), days);
        }
        assert_eq!(days_from_civil(2000, 3, 1), 11_017);
    }

    #[test]
    fn dates_come_in_several_shapes() {
        for text in [
            "2020-02-29",
            "20200229",
            "2/29/2020",
            "Feb 29, 2020",
            "29-Feb-2020",
            "2020-02-29 10:11",
        ] {
            assert_eq!(parse_date(text), Ok(days_from_civil(2020, 2, 29)), "{text}");
        }
        for (text, year) in
            [("1/8/99", 1999), ("8-Jan-70", 1970), ("1/8/69", 2069), ("1/8/3 BC", -2)]
        {
            assert_eq!(parse_date(text), Ok(days_from_civil(year, 1, 8)), "{text}");
        }
        for text in ["2021-02-29", "99-01-08", "0000-01-01", "5874898-01-01", "4714-11-23 BC"] {
            assert_eq!(parse_date(text).expect_err("no such day").state.code(), "22008", "{text}");
        }
        assert_eq!(parse_date("5874897-12-31"), Ok(*DATES.end()));
        assert_eq!(parse_date("4714-11-24 BC"), Ok(*DATES.start()));
        assert_eq!(parse_date("Janx 8, 1999").expect_err("no month").state.code(), "22007");
        assert_eq!(parse_date("soon").expect_err("no date").state.code(), "22007");
    }

    #[test]
    fn timestamps_end_where_postgresql_or_64_bits_do() {
        let parsed = |text| parse_timestamp(text, false);
        assert_eq!(parsed("4714-11-24 00:00 BC"), Ok(*TIMESTAMPS.start()));
        assert_eq!(parsed("294247-01-10 04:00:54.775806"), Ok(*TIMESTAMPS.end()));
        for text in
            ["4714-11-23 23:59 BC", "294247-01-10 04:00:54.775807", "294276-12-31", "5874897-01-01"]
        {
            assert_eq!(parsed(text).expect_err("out of range").state.code(), "22008", "{text}");
        }
        assert_eq!(timestamp_of(i32::MAX), Ok(i64::MAX));
        assert_eq!(timestamp_of(*DATES.end()).expect_err("too far").state.code(), "22008");
    }

    #[test]
    fn timestamps_round_trip_with_fraction_and_zone() {
        let micros = parse_timestamp("2024-01-02T03:04:05.678901", false).expect("valid");
        let mut text = Vec::new();
        write_timestamp(micros, false, &mut text);
        assert_eq!(text, b"2024-01-02 03:04:05.678901");
        let zoned = parse_timestamp("2024-01-02 03:04:05+02:30", true).expect("valid");
        let utc = parse_timestamp("2024-01-02 00:34:05Z", true).expect("valid");
        assert_eq!(zoned, utc);
        assert_eq!(
            parse_timestamp("2024-01-02 25:00", false).expect_err("hour").state.code(),
            "22008"
        );
    }
}
