//! The fields of a text by a template.

use super::parse::{Field, Node, is_separator, is_space};
use super::pattern::{Convention, Pattern};
use super::source::Source;
use super::write::ROMAN;
use crate::error::{Result, ValueError};
use crate::moment::{MONTHS, MONTHS_SHORT, WEEKDAYS};

const HALVES: [&str; 2] = ["am", "pm"];
const HALVES_DOTTED: [&str; 2] = ["a.m.", "p.m."];
const ERAS: [&str; 2] = ["ad", "bc"];
const ERAS_DOTTED: [&str; 2] = ["a.d.", "b.c."];
const WEEKDAYS_SHORT: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// What the fields say; 0 is as good as not said.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) hour: i32,
    pub(super) is_pm: i32,
    pub(super) minute: i32,
    pub(super) second: i32,
    pub(super) second_of_day: i32,
    pub(super) millis: i32,
    pub(super) micros: i32,
    /// Digits of `FF1` to `FF6`.
    pub(super) precision: i32,
    /// Sunday is 1.
    pub(super) weekday: i32,
    pub(super) day: i32,
    pub(super) day_of_year: i32,
    pub(super) month: i32,
    pub(super) year: i32,
    /// Digits of the year's pattern.
    pub(super) year_digits: u32,
    pub(super) is_bc: i32,
    pub(super) week: i32,
    pub(super) week_of_month: i32,
    pub(super) century: i32,
    pub(super) julian: i32,
    pub(super) is_twelve_hours: bool,
    /// 1 or -1, where a zone was read.
    pub(super) zone_sign: i32,
    pub(super) zone_hours: i32,
    pub(super) zone_minutes: i32,
    pub(super) convention: Option<Convention>,
}

struct Reader<'n, 't> {
    nodes: &'n [Node],
    source: Source<'t>,
    found: Found,
    /// `FX`: every character of the template is one of the text.
    is_fixed: bool,
    /// Characters passed over beyond those of the template.
    extra: i32,
}

/// The fields of a text.
///
/// # Errors
/// 22007 where the text does not go with the template, 22008 where a number is beyond 32 bits, 0A000 for a pattern that only `to_char`
/// knows.
pub(super) fn read(text: &str, nodes: &[Node]) -> Result<Found> {
    let mut reader = Reader {
        nodes,
        source: Source { whole: text, at: 0 },
        found: Found::default(),
        is_fixed: false,
        extra: 0,
    };
    for at in 0..nodes.len() {
        if reader.source.rest().is_empty() {
            break;
        }
        reader.node(at)?;
    }
    Ok(reader.found)
}

/// Sets a field that is not set to another value.
fn set(field: &Field, to: &mut i32, value: i32) -> Result<()> {
    if *to != 0 && *to != value {
        let message =
            format!("conflicting values for \"{}\" field in formatting string", field.key.name);
        let detail = "This value contradicts a previous setting for the same field type.";
        return Err(ValueError {
            detail: Some(detail.into()),
            ..ValueError::new("22007", message)
        });
    }
    *to = value;
    Ok(())
}

impl Reader<'_, '_> {
    fn node(&mut self, at: usize) -> Result<()> {
        let node = &self.nodes[at];
        let is_start = match node {
            Node::Pattern(field) => field.key.pattern != Pattern::Fixed,
            _ => at == 0,
        };
        if !self.is_fixed && is_start {
            self.extra += self.source.skip_spaces();
        }
        match node {
            Node::Space(_) | Node::Separator(_) if self.is_fixed => self.source.skip(),
            Node::Space(_) | Node::Separator(_) => {
                // One of the template is one of the text, or none.
                self.extra -= 1;
                if self.source.peek().is_some_and(|c| is_space(c) || is_separator(c)) {
                    self.source.skip();
                    self.extra += 1;
                }
            }
            // What was passed over already stands for it.
            Node::Text(_) if !self.is_fixed && self.extra > 0 => self.extra -= 1,
            Node::Text(_) => self.source.skip(),
            Node::Pattern(field) => {
                self.set_convention(field.key.convention)?;
                self.pattern(field, at)?;
                if !self.is_fixed {
                    self.extra = self.source.skip_spaces();
                }
            }
        }
        Ok(())
    }

    fn set_convention(&mut self, convention: Convention) -> Result<()> {
        if convention == Convention::Any {
            return Ok(());
        }
        if *self.found.convention.get_or_insert(convention) == convention {
            return Ok(());
        }
        let hint = "Do not mix Gregorian and ISO week date conventions in a formatting template.";
        Err(ValueError {
            hint: Some(hint.into()),
            ..ValueError::new("22007", "invalid combination of date conventions")
        })
    }

    /// Whether what follows a number cannot be taken for its digits.
    fn is_open(&self, field: &Field, at: usize) -> bool {
        if field.is_filled || field.ordinal.is_some() {
            return true;
        }
        match self.nodes.get(at + 1) {
            None => true,
            Some(Node::Pattern(next)) => !next.key.is_digit,
            Some(Node::Separator(c) | Node::Space(c) | Node::Text(c)) => !c.is_ascii_digit(),
        }
    }

    fn integer(&mut self, field: &Field, at: usize, width: usize) -> Result<(i32, usize)> {
        let read = self.source.integer(width, field, self.is_open(field, at))?;
        Ok(read)
    }

    fn skip_ordinal(&mut self, field: &Field) {
        if field.ordinal.is_some() {
            self.source.skip();
            self.source.skip();
        }
    }

    fn pattern(&mut self, field: &Field, at: usize) -> Result<()> {
        match field.key.pattern {
            Pattern::Fixed => self.is_fixed = true,
            Pattern::Zone(_) | Pattern::Offset => {
                let name = field.key.name;
                let message = format!("formatting field \"{name}\" is only supported in to_char");
                return Err(ValueError::new("0A000", message));
            }
            Pattern::ZoneHour => {
                self.zone_sign();
                let (hours, _) = self.integer(field, at, 2)?;
                return set(field, &mut self.found.zone_hours, hours);
            }
            Pattern::ZoneMinute => {
                if self.found.zone_sign == 0 {
                    self.found.zone_sign = 1;
                }
                let (minutes, _) = self.integer(field, at, 2)?;
                return set(field, &mut self.found.zone_minutes, minutes);
            }
            Pattern::YearComma => return self.year_with_comma(field),
            _ if self.name(field)? => {}
            _ => {
                self.number(field, at)?;
                self.skip_ordinal(field);
            }
        }
        Ok(())
    }

    /// A sign that was taken for a separator counts.
    fn zone_sign(&mut self) {
        let before = self.source.whole[..self.source.at].chars().next_back();
        let is_west = match self.source.peek() {
            Some(sign @ ('+' | '-' | ' ')) => {
                self.source.skip();
                sign == '-'
            }
            _ => self.extra > 0 && before == Some('-'),
        };
        self.found.zone_sign = if is_west { -1 } else { 1 };
    }

    fn year_with_comma(&mut self, field: &Field) -> Result<()> {
        let fault = || ValueError::new("22007", "invalid input string for \"Y,YYY\"");
        let rest = self.source.rest();
        let trimmed = rest.trim_start_matches(is_space);
        let sign = usize::from(trimmed.starts_with(['+', '-']));
        let length = |text: &str, most: usize| {
            text.bytes().take(most).take_while(u8::is_ascii_digit).count()
        };
        let end = sign + length(&trimmed[sign..], usize::MAX);
        let millennia: i32 = trimmed[..end].parse().map_err(|_| fault())?;
        let after = trimmed[end..].strip_prefix(',').ok_or_else(fault)?;
        let after = after.trim_start_matches(is_space);
        let sign = usize::from(after.starts_with(['+', '-']));
        let end = sign + length(&after[sign..], 3 - sign);
        let years: i32 = after[..end].parse().map_err(|_| fault())?;
        self.source.at = self.source.whole.len() - after.len() + end;
        set(field, &mut self.found.year, years.wrapping_add(millennia.wrapping_mul(1000)))?;
        self.found.year_digits = 4;
        self.skip_ordinal(field);
        Ok(())
    }

    /// Reads a name; whether the pattern has names.
    fn name(&mut self, field: &Field) -> Result<bool> {
        let (source, found) = (&mut self.source, &mut self.found);
        let is_half = matches!(field.key.pattern, Pattern::HalfDotted(_) | Pattern::Half(_));
        let (names, to, first): (&[&str], _, _) = match field.key.pattern {
            Pattern::HalfDotted(_) => (&HALVES_DOTTED, &mut found.is_pm, 0),
            Pattern::Half(_) => (&HALVES, &mut found.is_pm, 0),
            Pattern::EraDotted(_) => (&ERAS_DOTTED, &mut found.is_bc, 0),
            Pattern::Era(_) => (&ERAS, &mut found.is_bc, 0),
            Pattern::MonthName(_) => (&MONTHS, &mut found.month, 1),
            Pattern::MonthShort(_) => (&MONTHS_SHORT, &mut found.month, 1),
            Pattern::Roman(_) => {
                let place = source.name(&ROMAN, field)? as i32;
                set(field, &mut found.month, 12 - place)?;
                return Ok(true);
            }
            Pattern::Day(_) | Pattern::DayShort(_) => {
                let is_short = matches!(field.key.pattern, Pattern::DayShort(_));
                let names = if is_short { &WEEKDAYS_SHORT } else { &WEEKDAYS };
                let day = source.name(names, field)? as i32;
                // Set by its number from 0, and then counted from 1.
                set(field, &mut found.weekday, day)?;
                found.weekday += 1;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        let name = source.name(names, field)? as i32;
        set(field, to, name + first)?;
        self.found.is_twelve_hours |= is_half;
        Ok(true)
    }

    fn number(&mut self, field: &Field, at: usize) -> Result<()> {
        let width = match field.key.pattern {
            Pattern::Hour12 | Pattern::Hour24 => 2,
            Pattern::IsoDayOfYear | Pattern::Millisecond => 3,
            Pattern::IsoDayOfWeek => 1,
            Pattern::Microsecond => 6,
            Pattern::Fraction(digits) => digits as usize,
            _ => field.key.name.len(),
        };
        let (value, length) = self.integer(field, at, width)?;
        let found = &mut self.found;
        let to = match field.key.pattern {
            Pattern::Hour12 => {
                found.is_twelve_hours = true;
                &mut found.hour
            }
            Pattern::Hour24 => &mut found.hour,
            Pattern::Minute => &mut found.minute,
            Pattern::Second => &mut found.second,
            Pattern::SecondOfDay => &mut found.second_of_day,
            Pattern::Millisecond | Pattern::Microsecond | Pattern::Fraction(_) => {
                return self.fraction(field, value, length);
            }
            Pattern::Month => &mut found.month,
            Pattern::DayOfYear | Pattern::IsoDayOfYear => &mut found.day_of_year,
            Pattern::DayOfMonth => &mut found.day,
            Pattern::DayOfWeek => &mut found.weekday,
            Pattern::IsoDayOfWeek => {
                set(field, &mut found.weekday, value)?;
                // Counted from Sunday.
                found.weekday = if value.wrapping_add(1) > 7 { 1 } else { value.wrapping_add(1) };
                return Ok(());
            }
            Pattern::WeekOfYear | Pattern::IsoWeek => &mut found.week,
            Pattern::WeekOfMonth => &mut found.week_of_month,
            // Which day of a quarter is not known.
            Pattern::Quarter => return Ok(()),
            Pattern::Century => &mut found.century,
            Pattern::Julian => &mut found.julian,
            Pattern::Year(digits) | Pattern::IsoYear(digits) => {
                set(field, &mut found.year, value)?;
                if digits < 4 && length < 4 {
                    found.year = nearest_to_2020(value);
                }
                found.year_digits = digits;
                return Ok(());
            }
            other => unreachable!("{other:?} is not a number"),
        };
        set(field, to, value)
    }

    /// Digits after a point: 25 of milliseconds are 250.
    fn fraction(&mut self, field: &Field, value: i32, length: usize) -> Result<()> {
        let found = &mut self.found;
        let (to, width) = match field.key.pattern {
            Pattern::Millisecond => (&mut found.millis, 3),
            Pattern::Fraction(digits) => {
                found.precision = digits as i32;
                (&mut found.micros, 6)
            }
            _ => (&mut found.micros, 6),
        };
        set(field, to, value)?;
        let missing = if (1..width).contains(&length) { width - length } else { 0 };
        *to = to.wrapping_mul(10i32.pow(missing as u32));
        Ok(())
    }
}

/// A year of less than four digits, in the century around 2020.
fn nearest_to_2020(year: i32) -> i32 {
    match year {
        ..70 => year.wrapping_add(2000),
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}
