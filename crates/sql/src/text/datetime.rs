//! Dates and timestamps as text: ISO 8601 as PostgreSQL writes it; what else it reads `values` reads.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use engine::types::{Error, Result, SqlState, limit, midnight};
use values::error::ValueError;
use values::kernel::{Context, Interrupt};
use values::zone::Zone;
use values::{date, timestamp, timestamptz};

use super::zone::{SessionZone, is_utc, session_zone};

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
    let parse = |context: &Context| date::from_text(context, text);
    Ok(days_since_1970(parse(&present()).map_err(of_values)?))
}

/// Microseconds since 1970-01-01 00:00; with `zoned` the text's zone counts (the session's without one), else it is ignored.
pub fn parse_timestamp(text: &str, zoned: bool) -> Result<i64> {
    if let Some(micros) = iso_timestamp(text.as_bytes()).filter(|_| !zoned || is_utc()) {
        return Ok(micros);
    }
    let parse = |context: &Context| match zoned {
        true => timestamptz::from_text(context, text, NO_TYPMOD),
        false => timestamp::from_text(context, text, NO_TYPMOD),
    };
    micros_since_1970(parse(&present()).map_err(of_values)?)
}

/// Whether a date or a moment is told by where the clock stands.
pub fn is_clock_word(text: &str) -> bool {
    let is = |word: &&str| text.trim().eq_ignore_ascii_case(word);
    ["now", "today", "tomorrow", "yesterday"].iter().any(is)
}

const NO_TYPMOD: i32 = -1;

static UTC: LazyLock<Zone> = LazyLock::new(|| Zone::named("UTC").expect("everybody knows it"));

fn at(zone: Zone, now: i64) -> Context {
    Context {
        zone,
        transaction_time: now,
        statement_time: now,
        interrupt: INTERRUPT,
        ..Context::default()
    }
}

/// Ends a computation of `values` with the statement that this thread works for.
pub const INTERRUPT: Interrupt = Interrupt(|| limit::check().map_err(to_values));

/// A failure of ours as one of `values`.
pub fn to_values(fault: Error) -> ValueError {
    ValueError {
        detail: fault.detail.clone().map(Into::into),
        hint: fault.hint.clone().map(Into::into),
        ..ValueError::new(fault.state.code(), fault.message.clone())
    }
}

/// What computations depend on now in the session that something runs for.
pub fn present() -> Context {
    let zone = session_zone().elsewhere().unwrap_or(&UTC).clone();
    at(zone, chrono::Utc::now().timestamp_micros() + timestamp::UNIX_EPOCH)
}

/// A failure of `values` as ours.
pub fn of_values(error: ValueError) -> Error {
    let state = SqlState::of_code(error.sqlstate).unwrap_or(SqlState::InternalError);
    let mut fault = Error::new(state, error.message);
    if let Some(detail) = error.detail {
        fault = fault.detail(detail);
    }
    match error.hint {
        Some(hint) => fault.hint(hint),
        None => fault,
    }
}

/// Days from 1970-01-01, where we count from, to 2000-01-01, where `values` does.
const DAYS_TO_2000: i32 = 10_957;

/// The extremes of all counts stand for infinity; PostgreSQL's last day is counted by 32 bits from 1970, too.
pub fn days_since_1970(days: i32) -> i32 {
    match days {
        i32::MAX | i32::MIN => days,
        _ => days + DAYS_TO_2000,
    }
}

/// The inverse of [`days_since_1970`].
pub fn days_since_2000(days: i32) -> i32 {
    match days {
        i32::MAX | i32::MIN => days,
        _ => days - DAYS_TO_2000,
    }
}

/// A moment that `values` counts, as we do; 22008 for those of the last year that 64 bits do not count from 1970.
pub fn micros_since_1970(micros: i64) -> Result<i64> {
    let out_of_range = || Error::new(SqlState::DatetimeOverflow, "timestamp out of range");
    match micros {
        i64::MAX | i64::MIN => Ok(micros),
        _ => micros
            .checked_sub(timestamp::UNIX_EPOCH)
            .filter(|micros| TIMESTAMPS.contains(micros))
            .ok_or_else(out_of_range),
    }
}

/// The inverse of [`micros_since_1970`]: no moment is as far in the past as both counts are apart.
pub fn micros_since_2000(micros: i64) -> i64 {
    match micros {
        i64::MAX | i64::MIN => micros,
        _ => micros + timestamp::UNIX_EPOCH,
    }
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

/// `YYYY-MM-DD HH:MM:SS`, perhaps with up to six digits of a fraction, and nothing else.
fn iso_timestamp(text: &[u8]) -> Option<i64> {
    let (date, clock) = text.split_at_checked(10)?;
    let days = iso_date(date)?;
    let [b' ' | b'T', h1, h2, b':', m1, m2, b':', s1, s2, rest @ ..] = clock else { return None };
    let pair = |tens: &u8, ones: &u8| Some(digit(*tens)? * 10 + digit(*ones)?);
    let (hour, minute, second) = (pair(h1, h2)?, pair(m1, m2)?, pair(s1, s2)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut micros = 0;
    match rest {
        [] => {}
        [b'.', digits @ ..] if (1..=6).contains(&digits.len()) => {
            for place in 0..6 {
                micros = micros * 10 + digits.get(place).map_or(Some(0), |byte| digit(*byte))?;
            }
        }
        _ => return None,
    }
    let seconds = (hour * 60 + minute) * 60 + second;
    Some(i64::from(days) * MICROS_PER_DAY + seconds * MICROS_PER_SECOND + micros)
}

fn digit(byte: u8) -> Option<i64> {
    byte.checked_sub(b'0').filter(|digit| *digit < 10).map(i64::from)
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

/// `+02`, `-03:30`, `+00:17:30`.
fn write_offset(offset: i32, out: &mut Vec<u8>) {
    out.push(if offset < 0 { b'-' } else { b'+' });
    let seconds = offset.unsigned_abs();
    write_digits(seconds / 3600, 2, out);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    if minutes > 0 || seconds > 0 {
        out.push(b':');
        write_digits(minutes, 2, out);
    }
    if seconds > 0 {
        out.push(b':');
        write_digits(seconds, 2, out);
    }
}

/// An instant as local time with its offset.
pub(super) fn write_instant(micros: i64, zone: &SessionZone, out: &mut Vec<u8>) {
    let offset = match zone.elsewhere() {
        Some(zone) if micros != i64::MAX && micros != i64::MIN => {
            zone.offset_at(micros.div_euclid(MICROS_PER_SECOND))
        }
        _ => 0,
    };
    write_timestamp(micros, Some(offset), out);
}

/// A timestamp, or an instant as local time where it is so many seconds east.
pub(super) fn write_timestamp(micros: i64, offset: Option<i32>, out: &mut Vec<u8>) {
    match micros {
        i64::MAX => return out.extend_from_slice(b"infinity"),
        i64::MIN => return out.extend_from_slice(b"-infinity"),
        _ => {}
    }
    let micros = micros.saturating_add(i64::from(offset.unwrap_or(0)) * MICROS_PER_SECOND);
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
    if let Some(offset) = offset {
        write_offset(offset, out);
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
        write_timestamp(micros, None, &mut text);
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
