//! Intervals as ISO 8601 writes them: `P1Y2M3DT4H5M6S`, `P0001-02-03T04:05:06`, `P00010203T040506`.

use super::sum::{Amount, Sum};
use crate::calendar::{HOUR, MINUTE, SECOND};
use crate::moment::Fault;

/// Numbers are at most this far from zero.
const MOST: f64 = 1e15;

struct Reading<'t> {
    rest: &'t str,
    sum: Sum,
    /// Whether a unit has been read in this half.
    has_unit: bool,
}

/// What the text of an interval adds up to.
pub(super) fn read(text: &str) -> Result<Sum, Fault> {
    let rest = text.strip_prefix('P').filter(|rest| !rest.is_empty()).ok_or(Fault::Format)?;
    let mut reading = Reading { rest, sum: Sum::default(), has_unit: false };
    reading.dates()?;
    Ok(reading.sum)
}

/// Digits before the point.
fn width(number: &str) -> usize {
    let digits = number.strip_prefix('-').unwrap_or(number);
    digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())
}

impl<'t> Reading<'t> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    /// A number and its text.
    fn number(&mut self) -> Result<(Amount, &'t str), Fault> {
        if !self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
            return Err(Fault::Format);
        }
        let (number, rest) = self.rest.split_at(length(self.rest));
        let value: f64 = number.parse().map_err(|_| Fault::Format)?;
        if !(-MOST..=MOST).contains(&value) {
            return Err(Fault::Field);
        }
        self.rest = rest;
        Ok((Amount { whole: value.trunc() as i64, fraction: value.fract() }, number))
    }

    /// Before `T`.
    fn dates(&mut self) -> Result<(), Fault> {
        while !self.rest.is_empty() {
            if self.rest.starts_with('T') {
                self.next();
                return self.times();
            }
            let (amount, number) = self.number()?;
            match self.next() {
                Some('Y') => self.sum.add_years(amount, 1)?,
                Some('M') => self.sum.add_months(amount)?,
                Some('W') => self.sum.add_weeks(amount)?,
                Some('D') => self.sum.add_days(amount)?,
                after @ (None | Some('T')) if width(number) == 8 && !self.has_unit => {
                    self.run_together_date(amount)?;
                    return if after.is_some() { self.times() } else { Ok(()) };
                }
                after @ (None | Some('T' | '-')) if !self.has_unit => {
                    self.sum.add_years(amount, 1)?;
                    return match after {
                        None => Ok(()),
                        Some('-') => self.month_and_day(),
                        Some(_) => self.times(),
                    };
                }
                _ => return Err(Fault::Format),
            }
            self.has_unit = true;
        }
        Ok(())
    }

    fn run_together_date(&mut self, amount: Amount) -> Result<(), Fault> {
        let whole = |whole| Amount { whole, fraction: 0.0 };
        self.sum.add_years(whole(amount.whole / 10_000), 1)?;
        self.sum.add_months(whole(amount.whole / 100 % 100))?;
        self.sum.add_days(Amount { whole: amount.whole % 100, ..amount })
    }

    /// After `years-`.
    fn month_and_day(&mut self) -> Result<(), Fault> {
        let (months, _) = self.number()?;
        self.sum.add_months(months)?;
        match self.next() {
            None => return Ok(()),
            Some('T') => return self.times(),
            Some('-') => {}
            Some(_) => return Err(Fault::Format),
        }
        let (days, _) = self.number()?;
        self.sum.add_days(days)?;
        match self.next() {
            None => Ok(()),
            Some('T') => self.times(),
            Some(_) => Err(Fault::Format),
        }
    }

    /// After `T`.
    fn times(&mut self) -> Result<(), Fault> {
        self.has_unit = false;
        while !self.rest.is_empty() {
            if self.rest.starts_with('T') {
                self.next();
                self.has_unit = false;
                continue;
            }
            let (amount, number) = self.number()?;
            match self.next() {
                Some('H') => self.sum.add_micros(amount, HOUR)?,
                Some('M') => self.sum.add_micros(amount, MINUTE)?,
                Some('S') => self.sum.add_micros(amount, SECOND)?,
                None if width(number) == 6 && !self.has_unit => {
                    return self.run_together_time(amount);
                }
                after @ (None | Some(':')) if !self.has_unit => {
                    self.sum.add_micros(amount, HOUR)?;
                    return if after.is_some() { self.minutes_and_seconds() } else { Ok(()) };
                }
                _ => return Err(Fault::Format),
            }
            self.has_unit = true;
        }
        Ok(())
    }

    fn run_together_time(&mut self, amount: Amount) -> Result<(), Fault> {
        let whole = |whole| Amount { whole, fraction: 0.0 };
        self.sum.add_micros(whole(amount.whole / 10_000), HOUR)?;
        self.sum.add_micros(whole(amount.whole / 100 % 100), MINUTE)?;
        self.sum.add_micros(whole(amount.whole % 100), SECOND)?;
        // PostgreSQL takes the fraction for one of a microsecond.
        self.sum.add_micros(Amount { whole: 0, ..amount }, 1)
    }

    /// After `hours:`.
    fn minutes_and_seconds(&mut self) -> Result<(), Fault> {
        let (minutes, _) = self.number()?;
        self.sum.add_micros(minutes, MINUTE)?;
        match self.next() {
            None => return Ok(()),
            Some(':') => {}
            Some(_) => return Err(Fault::Format),
        }
        let (seconds, _) = self.number()?;
        self.sum.add_micros(seconds, SECOND)?;
        if self.rest.is_empty() { Ok(()) } else { Err(Fault::Format) }
    }
}

/// Bytes of the number at the beginning of a text, perhaps with a fraction and an exponent.
fn length(text: &str) -> usize {
    let digits = |from: usize| {
        let rest = &text[from..];
        from + rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
    };
    let mut end = digits(usize::from(text.starts_with('-')));
    if text[end..].starts_with('.') {
        end = digits(end + 1);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['-', '+']));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            return exponent;
        }
    }
    end
}
