//! Instants from numbers.

use super::{ZoneName, of_local, unix_seconds};
use crate::calendar::{EPOCH_DAY, SECOND, UNIX_EPOCH_DAY};
use crate::error::{Result, ValueError};
use crate::moment::{self, Fault, is_timestamp};
use crate::timestamp::{self, INFINITY, MINUS_INFINITY, out_of_range_text, shifted};
use crate::zone::Zone;

/// The instant of a year (negative for BC), month, day, hour, minute and second in a zone.
///
/// # Errors
/// 22008 where there is no such date, time or timestamp.
pub fn make(ymd: [i32; 3], hour: i32, minute: i32, second: f64, zone: &Zone) -> Result<i64> {
    of_local(timestamp::make(ymd, hour, minute, second)?, zone)
}

/// As [`make`], in a zone by displacement, abbreviation or name.
///
/// # Errors
/// 22008 where there is no such date, time or timestamp; 22023 for an unknown zone.
pub fn make_at_zone(ymd: [i32; 3], hour: i32, minute: i32, second: f64, zone: &str) -> Result<i64> {
    let local = timestamp::make(ymd, hour, minute, second)?;
    shifted(local, -offset_of(zone, unix_seconds(local))?)
}

/// Seconds east of a zone at a local time.
fn offset_of(zone: &str, seconds: i64) -> Result<i32> {
    if zone.starts_with(|c: char| c.is_ascii_digit()) {
        let message = format!("invalid input syntax for type numeric time zone: \"{zone}\"");
        let hint = "Numeric time zones must have \"-\" or \"+\" as first character.";
        return Err(ValueError { hint: Some(hint.into()), ..ValueError::new("22023", message) });
    }
    match moment::read_offset(zone) {
        Ok(offset) => return Ok(offset),
        Err(Fault::Format) => {}
        Err(_) => {
            let message = format!("numeric time zone \"{zone}\" out of range");
            return Err(ValueError::new("22023", message));
        }
    }
    Ok(match super::zone_by_name(zone)? {
        ZoneName::Fixed(offset) => offset,
        ZoneName::Abbreviated(of) => of.abbreviation_at_local(zone, seconds).0,
        ZoneName::Zone(zone) => zone.offset_at_local(seconds),
    })
}

/// The instant some seconds after 1970-01-01 00:00 UTC, infinities among them.
///
/// # Errors
/// 22008 for NaN, and outside the range of timestamps.
pub fn of_unix_seconds(seconds: f64) -> Result<i64> {
    if seconds.is_nan() {
        return Err(ValueError::new("22008", "timestamp cannot be NaN"));
    }
    if seconds.is_infinite() {
        return Ok(if seconds > 0.0 { INFINITY } else { MINUS_INFINITY });
    }
    let since_2000 = f64::from(EPOCH_DAY - UNIX_EPOCH_DAY) * 86_400.0;
    let micros = ((seconds - since_2000) * SECOND as f64).round_ties_even();
    // Beyond 64 bits the conversion saturates, outside the range of timestamps.
    let timestamp = micros as i64;
    if !is_timestamp(timestamp) {
        return Err(out_of_range_text(&crate::number_text::six_digits(seconds)));
    }
    Ok(timestamp)
}
