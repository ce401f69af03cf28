//! Dates, times and timestamps as text, by `DateStyle`.

use std::fmt::Write;

use super::{Moment, write_offset};
use crate::calendar::day_of_week;
use crate::settings::{DateFormat, DateOrder, DateStyle};

/// Names of months, January first.
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Months in three letters, January first.
pub(crate) const MONTHS_SHORT: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// Names of days, Sunday first.
pub(crate) const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
/// Zones' abbreviations are cut to this.
const LONGEST_ZONE: usize = 10;

/// A zone to be written after a time.
pub(crate) struct ZoneText<'z> {
    /// Seconds east.
    pub(crate) offset: i32,
    pub(crate) abbreviation: &'z str,
}

/// Years as they are written: 1 BC is 1.
fn shown_year(year: i32) -> i32 {
    if year > 0 { year } else { 1 - year }
}

fn push_era(out: &mut String, year: i32) {
    if year <= 0 {
        out.push_str(" BC");
    }
}

/// Appends seconds and microseconds of one sign without it, two digits before the point where `is_padded`.
pub(crate) fn push_seconds(out: &mut String, second: i32, micros: i32, is_padded: bool) {
    let (second, micros) = (second.abs(), micros.abs());
    let width = if is_padded { 2 } else { 1 };
    let _ = write!(out, "{second:0width$}");
    if micros != 0 {
        let digits = format!("{micros:06}");
        out.push('.');
        out.push_str(digits.trim_end_matches('0'));
    }
}

/// Month and day, in the order of the setting.
fn month_and_day(moment: &Moment, style: DateStyle) -> (i32, i32) {
    match style.order {
        DateOrder::Dmy => (moment.day, moment.month),
        _ => (moment.month, moment.day),
    }
}

fn push_date(out: &mut String, moment: &Moment, style: DateStyle) {
    let year = shown_year(moment.year);
    let (first, second) = month_and_day(moment, style);
    let _ = match style.format {
        DateFormat::Iso => write!(out, "{year:04}-{:02}-{:02}", moment.month, moment.day),
        DateFormat::Sql => write!(out, "{first:02}/{second:02}/{year:04}"),
        DateFormat::German => write!(out, "{:02}.{:02}.{year:04}", moment.day, moment.month),
        DateFormat::Postgres => write!(out, "{first:02}-{second:02}-{year:04}"),
    };
}

/// A date.
pub(crate) fn write_date(moment: &Moment, style: DateStyle) -> String {
    let mut out = String::with_capacity(16);
    push_date(&mut out, moment, style);
    push_era(&mut out, moment.year);
    out
}

fn push_time(out: &mut String, moment: &Moment) {
    let _ = write!(out, "{:02}:{:02}:", moment.hour, moment.minute);
    push_seconds(out, moment.second, moment.micros, true);
}

/// A time of day, with an offset in seconds east where one is given.
pub(crate) fn write_time(moment: &Moment, offset: Option<i32>) -> String {
    let mut out = String::with_capacity(24);
    push_time(&mut out, moment);
    if let Some(offset) = offset {
        write_offset(&mut out, offset);
    }
    out
}

/// A date and time, with a zone where one is given.
pub(crate) fn write_moment(
    moment: &Moment,
    style: DateStyle,
    zone: Option<ZoneText<'_>>,
) -> String {
    let mut out = String::with_capacity(32);
    if style.format == DateFormat::Postgres {
        push_traditional(&mut out, moment, style);
    } else {
        push_date(&mut out, moment, style);
        out.push(' ');
        push_time(&mut out, moment);
    }
    match zone {
        Some(zone) if style.format == DateFormat::Iso => write_offset(&mut out, zone.offset),
        Some(zone) => {
            let length = zone.abbreviation.len().min(LONGEST_ZONE);
            out.push(' ');
            out.push_str(&zone.abbreviation[..length]);
        }
        None => {}
    }
    push_era(&mut out, moment.year);
    out
}

/// `Wed Dec 17 07:37:16 1997`
fn push_traditional(out: &mut String, moment: &Moment, style: DateStyle) {
    let weekday = &WEEKDAYS[day_of_week(moment.julian_day()) as usize][..3];
    let month = MONTHS_SHORT[moment.month as usize - 1];
    let day = moment.day;
    let _ = match style.order {
        DateOrder::Dmy => write!(out, "{weekday} {day:02} {month} "),
        _ => write!(out, "{weekday} {month} {day:02} "),
    };
    push_time(out, moment);
    let _ = write!(out, " {:04}", shown_year(moment.year));
}
