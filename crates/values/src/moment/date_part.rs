//! Dates in numbers and month names, and digits run together.

use super::Fault;
use super::number::{fraction, fraction_micros, leading_i32, wrapping};
use super::reading::{Reading, seen};
use super::words::{Word, word};
use crate::settings::DateOrder;

/// Parts of a date beyond these are not looked at.
const MOST_PARTS: usize = 25;

/// What a number turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunTogether {
    Date,
    Time,
}

/// The parts of a date: runs of digits and of letters. One character after each is taken as what separates.
fn parts(text: &str) -> Result<Vec<&str>, Fault> {
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.is_empty() && found.len() < MOST_PARTS {
        rest = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let first = rest.chars().next().ok_or(Fault::Format)?;
        let is_digit = first.is_ascii_digit();
        let is_end = |c: char| {
            if is_digit { !c.is_ascii_digit() } else { !c.is_ascii_alphabetic() }
        };
        let end = rest.find(is_end).unwrap_or(rest.len());
        found.push(&rest[..end]);
        rest = rest.get(end + 1..).unwrap_or("");
    }
    Ok(found)
}

impl Reading<'_> {
    /// A date in one field, as `1999-01-08` or `08-jan-1999`: which parts it has.
    pub(super) fn date(&mut self, text: &str) -> Result<u32, Fault> {
        let parts = parts(text)?;
        let before = self.seen;
        let mut found = 0;
        let mut has_text_month = false;
        // A month by name first: it tells what the numbers are.
        let mut numbers = Vec::new();
        for part in parts {
            if !part.starts_with(|c: char| c.is_ascii_alphabetic()) {
                numbers.push(part);
                continue;
            }
            match word(part) {
                Some(Word::Ignored) => continue,
                Some(Word::Month(month)) => self.moment.month = month,
                _ => return Err(Fault::Format),
            }
            has_text_month = true;
            found = self.add(found, seen::MONTH)?;
        }
        for number in numbers {
            let part = self.number(number, has_text_month, before | found)?;
            found = self.add(found | before, part)? & !before;
        }
        if (before | found) & !(seen::DAY_OF_YEAR | seen::ZONE) != seen::DATE {
            return Err(Fault::Format);
        }
        Ok(found)
    }

    fn add(&self, found: u32, part: u32) -> Result<u32, Fault> {
        if (self.seen | found) & part != 0 {
            return Err(Fault::Format);
        }
        Ok(found | part)
    }

    /// A number by itself, whose meaning depends on what is `known`: which part it is.
    pub(super) fn number(
        &mut self,
        text: &str,
        has_text_month: bool,
        known: u32,
    ) -> Result<u32, Fault> {
        let (value, rest) = leading_i32(text)?;
        let digits = text.len() - rest.len();
        if digits == 0 {
            return Err(Fault::Format);
        }
        if rest.starts_with('.') {
            if digits > 2 {
                return Ok(self.run_together(text, known | seen::DATE)?.1);
            }
            self.moment.micros = fraction_micros(rest)?;
        } else if !rest.is_empty() {
            return Err(Fault::Format);
        }
        if text.len() == 3 && known & seen::DATE == seen::YEAR && (1..=366).contains(&value) {
            self.day_of_year = value;
            return Ok(seen::DAY_OF_YEAR | seen::MONTH | seen::DAY);
        }
        if known & seen::DATE == seen::DATE {
            return Ok(self.run_together(text, known)?.1);
        }
        self.part_of_date(value, text.len(), has_text_month, known & seen::DATE)
    }

    fn part_of_date(
        &mut self,
        value: i32,
        length: usize,
        has_text_month: bool,
        known: u32,
    ) -> Result<u32, Fault> {
        const YEAR_AND_MONTH: u32 = seen::YEAR | seen::MONTH;
        const MONTH_AND_DAY: u32 = seen::MONTH | seen::DAY;
        let order = self.context.date_style.order;
        let is_year = length >= 3 || order == DateOrder::Ymd;
        let part = match known {
            0 if is_year => seen::YEAR,
            0 if order == DateOrder::Dmy => seen::DAY,
            0 | seen::YEAR | seen::DAY => seen::MONTH,
            seen::MONTH if has_text_month && is_year => seen::YEAR,
            YEAR_AND_MONTH if has_text_month && length >= 3 && self.is_two_digits => {
                // The number before was the day, not the year.
                self.moment.day = self.moment.year;
                self.moment.year = value;
                self.is_two_digits = false;
                return Ok(seen::DAY);
            }
            seen::MONTH | YEAR_AND_MONTH => seen::DAY,
            MONTH_AND_DAY => seen::YEAR,
            _ => return Err(Fault::Format),
        };
        match part {
            seen::YEAR => {
                self.moment.year = value;
                self.is_two_digits = length <= 2;
            }
            seen::MONTH => self.moment.month = value,
            _ => self.moment.day = value,
        }
        Ok(part)
    }

    /// Digits run together: `yyyymmdd`, `hhmmss` or `hhmm`, perhaps with a fraction.
    pub(super) fn run_together(
        &mut self,
        text: &str,
        known: u32,
    ) -> Result<(RunTogether, u32), Fault> {
        let digits = match text.find('.') {
            Some(point) => {
                self.moment.micros = loose_fraction(&text[point..]);
                &text[..point]
            }
            None if known & seen::DATE != seen::DATE && text.len() >= 6 => {
                let (rest, day) = text.split_at(text.len() - 2);
                let (year, month) = rest.split_at(rest.len() - 2);
                self.moment.day = wrapping(day);
                self.moment.month = wrapping(month);
                self.moment.year = wrapping(year);
                self.is_two_digits |= year.len() == 2;
                return Ok((RunTogether::Date, seen::DATE));
            }
            None => text,
        };
        if known & seen::TIME == seen::TIME || !matches!(digits.len(), 4 | 6) {
            return Err(Fault::Format);
        }
        self.moment.hour = wrapping(&digits[..2]);
        self.moment.minute = wrapping(&digits[2..4]);
        self.moment.second = wrapping(&digits[4..]);
        Ok((RunTogether::Time, seen::TIME))
    }
}

/// The fraction at the beginning of a text; what follows it is ignored.
fn loose_fraction(text: &str) -> i32 {
    let end = text[1..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |end| end + 1);
    let value = fraction(&text[..end]).expect("a point and digits");
    (value * 1_000_000.0).round_ties_even() as i32
}
