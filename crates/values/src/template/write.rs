//! `to_char` of timestamps and intervals.

use std::fmt::Write;

use super::ordinal;
use super::parse::{Field, Node, parse};
use super::pattern::{Case, Pattern};
use crate::calendar::{
    HOUR, MINUTE, MONTH_DAYS, SECOND, day_of_week, day_of_year, iso_week, iso_week_day, julian_day,
};
use crate::error::{Result, ValueError};
use crate::interval::Interval;
use crate::kernel::Context;
use crate::moment::{MONTHS, MONTHS_SHORT, Moment, WEEKDAYS};
use crate::timestamp::is_finite;
use crate::timestamptz;

/// December first, as negative months of intervals count.
pub(super) const ROMAN: [&str; 12] =
    ["XII", "XI", "X", "IX", "VIII", "VII", "VI", "V", "IV", "III", "II", "I"];

/// What is written: the parts of a timestamp or of an interval.
struct Written {
    year: i32,
    month: i32,
    day: i32,
    hour: i64,
    minute: i32,
    second: i32,
    micros: i32,
    /// From 1; of an interval, all its days.
    day_of_year: i32,
    is_interval: bool,
    /// Seconds east.
    offset: i32,
    zone: String,
}

/// A timestamp by a template; NULL for infinity, and for an empty template.
///
/// # Errors
/// 22P02 where an ordinal has no number.
pub fn timestamp_to_char(timestamp: i64, template: &str) -> Result<Option<String>> {
    if template.is_empty() || !is_finite(timestamp) {
        return Ok(None);
    }
    let written = Written::of_moment(&Moment::of_timestamp(timestamp), 0, String::new());
    written.by(template).map(Some)
}

/// An instant by a template, as it is in the session's zone; NULL for infinity, and for an empty template.
///
/// # Errors
/// 22P02 where an ordinal has no number.
pub fn timestamptz_to_char(
    context: &Context,
    timestamp: i64,
    template: &str,
) -> Result<Option<String>> {
    if template.is_empty() || !is_finite(timestamp) {
        return Ok(None);
    }
    let at = context.zone.at(timestamptz::unix_seconds(timestamp));
    let local = Moment::of_timestamp(timestamp + i64::from(at.seconds) * SECOND);
    Written::of_moment(&local, at.seconds, at.abbreviation).by(template).map(Some)
}

/// An interval by a template; NULL for an empty template.
///
/// # Errors
/// 22007 for a pattern that only dates have; 22P02 where an ordinal has no number.
pub fn interval_to_char(span: &Interval, template: &str) -> Result<Option<String>> {
    if template.is_empty() {
        return Ok(None);
    }
    let written = Written {
        year: span.months / 12,
        month: span.months % 12,
        day: span.days,
        hour: span.micros / HOUR,
        minute: (span.micros % HOUR / MINUTE) as i32,
        second: (span.micros % MINUTE / SECOND) as i32,
        micros: (span.micros % SECOND) as i32,
        day_of_year: span.months.wrapping_mul(MONTH_DAYS).wrapping_add(span.days),
        is_interval: true,
        offset: 0,
        zone: String::new(),
    };
    written.by(template).map(Some)
}

/// A number padded with zeros to a width, which a sign is one more than; not padded for a width of 0.
fn padded(number: i64, width: usize) -> String {
    let width = if number < 0 && width > 0 { width + 1 } else { width };
    format!("{number:0width$}")
}

fn in_case(name: &str, case: Case) -> String {
    match case {
        Case::Upper => name.to_ascii_uppercase(),
        Case::Capital => name.to_owned(),
        Case::Lower => name.to_ascii_lowercase(),
    }
}

fn only_for_dates() -> ValueError {
    let message = "invalid format specification for an interval value";
    let hint = "Intervals are not tied to specific calendar dates.";
    ValueError { hint: Some(hint.into()), ..ValueError::new("22007", message) }
}

impl Written {
    fn of_moment(moment: &Moment, offset: i32, zone: String) -> Written {
        let Moment { year, month, day, hour, minute, second, micros } = *moment;
        Written {
            year,
            month,
            day,
            hour: hour.into(),
            minute,
            second,
            micros,
            day_of_year: day_of_year(year, month, day),
            is_interval: false,
            offset,
            zone,
        }
    }

    fn by(&self, template: &str) -> Result<String> {
        let mut out = String::with_capacity(template.len() * 2);
        for node in parse(template) {
            match node {
                Node::Pattern(field) => self.push(&mut out, &field)?,
                Node::Separator(c) | Node::Space(c) | Node::Text(c) => out.push(c),
            }
        }
        Ok(out)
    }

    fn push(&self, out: &mut String, field: &Field) -> Result<()> {
        if self.is_interval && is_only_for_dates(field.key.pattern) {
            return Err(only_for_dates());
        }
        if let Some(name) = self.name(field) {
            out.push_str(&name);
            return Ok(());
        }
        let Some(number) = self.number(field) else { return Ok(()) };
        out.push_str(&number);
        if let Some(ordinal) = field.ordinal {
            out.push_str(ordinal::ending(&number, ordinal)?);
        }
        Ok(())
    }

    /// What a pattern of letters stands for; an ordinal's ending does not follow it.
    fn name(&self, field: &Field) -> Option<String> {
        let is_padded = !field.is_filled && !field.is_translated;
        let long = |name: &str, case| {
            let name = in_case(name, case);
            if is_padded { format!("{name:<9}") } else { name }
        };
        let weekday = || WEEKDAYS[day_of_week(self.julian_day()) as usize];
        let is_late = self.hour % 24 >= 12;
        Some(match field.key.pattern {
            Pattern::EraDotted(case) => in_case(if self.year <= 0 { "B.C." } else { "A.D." }, case),
            Pattern::Era(case) => in_case(if self.year <= 0 { "BC" } else { "AD" }, case),
            Pattern::HalfDotted(case) => in_case(if is_late { "P.M." } else { "A.M." }, case),
            Pattern::Half(case) => in_case(if is_late { "PM" } else { "AM" }, case),
            Pattern::MonthName(case) => long(MONTHS[self.month as usize - 1], case),
            Pattern::MonthShort(case) => in_case(MONTHS_SHORT[self.month as usize - 1], case),
            Pattern::Day(case) => long(weekday(), case),
            Pattern::DayShort(case) => in_case(&weekday()[..3], case),
            Pattern::Roman(case) => self.roman(case, !field.is_filled),
            Pattern::Zone(Case::Lower) => self.zone.to_ascii_lowercase(),
            Pattern::Zone(_) => self.zone.clone(),
            Pattern::Offset => self.offset_text(!field.is_filled),
            Pattern::ZoneHour => {
                let sign = if self.offset < 0 { '-' } else { '+' };
                format!("{sign}{:02}", self.offset.abs() / 3600)
            }
            Pattern::ZoneMinute => format!("{:02}", self.offset.abs() % 3600 / 60),
            Pattern::Fixed => String::new(),
            _ => return None,
        })
    }

    fn offset_text(&self, is_padded: bool) -> String {
        let (sign, rest) = (if self.offset < 0 { '-' } else { '+' }, self.offset.abs());
        let width = if is_padded { 2 } else { 0 };
        let mut out = format!("{sign}{:0width$}", rest / 3600);
        if rest % 3600 != 0 {
            let _ = write!(out, ":{:02}", rest % 3600 / 60);
        }
        out
    }

    fn roman(&self, case: Case, is_padded: bool) -> String {
        let place = match self.month {
            // Twelve months of an interval are a year.
            0 if self.year == 0 => return String::new(),
            0 if self.year > 0 => 0,
            0 => 11,
            ..0 => -(self.month + 1),
            _ => 12 - self.month,
        };
        let name = in_case(ROMAN[place as usize], case);
        if is_padded { format!("{name:<4}") } else { name }
    }

    fn julian_day(&self) -> i64 {
        julian_day(self.year, self.month, self.day)
    }

    /// Years as they are shown: 1 BC is 1; those of intervals as they are.
    fn shown(&self, year: i32) -> i32 {
        if self.is_interval || year > 0 { year } else { 1 - year }
    }

    /// What a pattern of digits stands for; `None` for nothing.
    fn number(&self, field: &Field) -> Option<String> {
        let width = |width| if field.is_filled { 0 } else { width };
        let micros = i64::from(self.micros);
        Some(match field.key.pattern {
            Pattern::Hour12 => {
                let hour = if self.hour % 12 == 0 { 12 } else { self.hour % 12 };
                // The sign of hours that are shown as 12 widens them, too.
                let wide = if self.hour < 0 && hour > 0 { width(3) } else { width(2) };
                padded(hour, wide)
            }
            Pattern::Hour24 => padded(self.hour, width(2)),
            Pattern::Minute => padded(self.minute.into(), width(2)),
            Pattern::Second => padded(self.second.into(), width(2)),
            Pattern::Fraction(digits) => self.fraction(digits),
            Pattern::Millisecond => self.fraction(3),
            Pattern::Microsecond => format!("{micros:06}"),
            Pattern::SecondOfDay => {
                let minutes = self.hour * 60 + i64::from(self.minute);
                (minutes * 60 + i64::from(self.second)).to_string()
            }
            Pattern::Month => padded(self.month.into(), width(2)),
            Pattern::Quarter if self.month == 0 => return None,
            Pattern::Quarter => ((self.month - 1) / 3 + 1).to_string(),
            _ => return Some(self.day_or_year(field)),
        })
    }

    fn fraction(&self, digits: u32) -> String {
        let width = digits as usize;
        format!("{:0width$}", self.micros / 10i32.pow(6 - digits))
    }

    fn day_or_year(&self, field: &Field) -> String {
        let width = |width| if field.is_filled { 0 } else { width };
        let plain = |number: i32, width| format!("{number:0width$}");
        match field.key.pattern {
            Pattern::DayOfYear => plain(self.day_of_year, width(3)),
            Pattern::IsoDayOfYear => {
                let first = iso_week_day(iso_week(self.julian_day()).0, 1);
                plain((self.julian_day() - first + 1) as i32, width(3))
            }
            Pattern::DayOfMonth => plain(self.day, width(2)),
            Pattern::DayOfWeek => (day_of_week(self.julian_day()) + 1).to_string(),
            Pattern::IsoDayOfWeek => iso_week(self.julian_day()).2.to_string(),
            Pattern::WeekOfYear => plain((self.day_of_year - 1) / 7 + 1, width(2)),
            Pattern::WeekOfMonth => ((self.day - 1) / 7 + 1).to_string(),
            Pattern::IsoWeek => plain(iso_week(self.julian_day()).1, width(2)),
            Pattern::Julian => self.julian_day().to_string(),
            Pattern::Century => self.century(width(2)),
            Pattern::YearComma => {
                let year = self.shown(self.year);
                format!("{},{:03}", year / 1000, year - year / 1000 * 1000)
            }
            Pattern::Year(digits) => self.year_text(self.year, digits, field.is_filled),
            Pattern::IsoYear(digits) => {
                let year = iso_week(self.julian_day()).0;
                self.year_text(year, digits, field.is_filled)
            }
            other => unreachable!("{other:?} is not a number"),
        }
    }

    fn century(&self, width: usize) -> String {
        let century = if self.is_interval {
            self.year / 100
        } else if self.year > 0 {
            (self.year - 1) / 100 + 1
        } else {
            self.year / 100 - 1
        };
        if (-99..=99).contains(&century) {
            padded(century.into(), width)
        } else {
            century.to_string()
        }
    }

    fn year_text(&self, year: i32, digits: u32, is_filled: bool) -> String {
        let width = match digits {
            1 => 1,
            _ if is_filled => 0,
            _ => digits as usize + usize::from(self.shown(self.year) < 0),
        };
        let shown = self.shown(year);
        let number = if digits == 4 { shown } else { shown % 10i32.pow(digits) };
        format!("{number:0width$}")
    }
}

fn is_only_for_dates(pattern: Pattern) -> bool {
    matches!(
        pattern,
        Pattern::EraDotted(_)
            | Pattern::Era(_)
            | Pattern::MonthName(_)
            | Pattern::MonthShort(_)
            | Pattern::Day(_)
            | Pattern::DayShort(_)
            | Pattern::DayOfWeek
            | Pattern::IsoDayOfWeek
            | Pattern::Zone(_)
            | Pattern::ZoneHour
            | Pattern::ZoneMinute
            | Pattern::Offset
    )
}
