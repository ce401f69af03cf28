//! Intervals from fields, read backwards so that a unit is known before its number.

use super::sum::{Amount, Sum};
use super::typmod::{DAY_FIELD, HOUR_FIELD, MINUTE_FIELD, MONTH, SECOND_FIELD, YEAR};
use crate::calendar::{HOUR, MINUTE, SECOND};
use crate::kernel::Context;
use crate::moment::{
    self, Fault, Field, FieldKind, Unit, clock, fraction, interval_unit, leading_i64,
};
use crate::settings::IntervalStyle;

/// Which parts have been read, a bit each, so that none is read twice. Subseconds are two: a fraction of a second is both.
mod seen {
    pub(super) const MICROSECOND: u32 = 1;
    pub(super) const MILLISECOND: u32 = 1 << 1;
    pub(super) const SECOND: u32 = 1 << 2;
    pub(super) const SECONDS: u32 = SECOND | MILLISECOND | MICROSECOND;
    pub(super) const MINUTE: u32 = 1 << 3;
    pub(super) const HOUR: u32 = 1 << 4;
    pub(super) const TIME: u32 = HOUR | MINUTE | SECONDS;
    pub(super) const DAY: u32 = 1 << 5;
    pub(super) const WEEK: u32 = 1 << 6;
    pub(super) const MONTH: u32 = 1 << 7;
    pub(super) const YEAR: u32 = 1 << 8;
    pub(super) const DECADE: u32 = 1 << 9;
    pub(super) const CENTURY: u32 = 1 << 10;
    pub(super) const MILLENNIUM: u32 = 1 << 11;
}

pub(super) struct Reading {
    sum: Sum,
    seen: u32,
    /// The unit of the next number.
    unit: Option<Unit>,
    /// The fields of the type.
    range: i32,
    /// Whether a sign before everything holds for everything.
    is_all_negative: bool,
    is_ago: bool,
}

impl Reading {
    /// What fields add up to; `range` has the fields of the type.
    pub(super) fn read(context: &Context, range: i32, fields: &[Field]) -> Result<Sum, Fault> {
        let is_signed = |field: &Field| field.text.starts_with(['-', '+']);
        let is_all_negative = context.interval_style == IntervalStyle::SqlStandard
            && fields.first().is_some_and(|field| field.text.starts_with('-'))
            && !fields[1..].iter().any(is_signed);
        let mut reading = Reading {
            sum: Sum::default(),
            seen: 0,
            unit: None,
            range,
            is_all_negative,
            is_ago: false,
        };
        for field in fields.iter().rev() {
            let found = reading.field(field)?;
            if found & reading.seen != 0 {
                return Err(Fault::Format);
            }
            reading.seen |= found;
        }
        if reading.seen == 0 {
            return Err(Fault::Format);
        }
        if reading.is_ago {
            reading.sum.negate()?;
        }
        Ok(reading.sum)
    }

    fn field(&mut self, field: &Field) -> Result<u32, Fault> {
        match field.kind {
            FieldKind::Time => {
                self.sum.micros = self.clock(&field.text)?;
                self.end_of_time();
                Ok(seen::TIME)
            }
            FieldKind::Offset => self.signed(&field.text),
            FieldKind::Date | FieldKind::Number => self.number(&field.text),
            FieldKind::Word | FieldKind::Signed => self.word(&field.text),
        }
    }

    /// Before a time there are days, unless a unit says otherwise.
    fn end_of_time(&mut self) {
        if self.is_all_negative && self.sum.micros > 0 {
            self.sum.micros = -self.sum.micros;
        }
        self.unit = Some(Unit::Day);
    }

    fn clock(&self, text: &str) -> Result<i64, Fault> {
        let is_short = self.range == MINUTE_FIELD | SECOND_FIELD;
        let (hours, minutes, seconds, micros) = clock(text, is_short)?;
        let minutes = i64::from(minutes) * MINUTE;
        let rest = minutes + i64::from(seconds) * SECOND + i64::from(micros);
        let hours = hours.checked_mul(HOUR);
        hours.and_then(|hours| hours.checked_add(rest)).ok_or(Fault::Field)
    }

    /// `-02:03` is a time; other signed fields are numbers.
    fn signed(&mut self, text: &str) -> Result<u32, Fault> {
        let unsigned = &text[1..];
        if unsigned.contains(':')
            && let Ok(micros) = self.clock(unsigned)
        {
            self.sum.micros = if text.starts_with('-') { -micros } else { micros };
            self.end_of_time();
            return Ok(seen::TIME);
        }
        self.number(text)
    }

    fn word(&mut self, text: &str) -> Result<u32, Fault> {
        if moment::is_ignored(text) {
            return Ok(0);
        }
        match interval_unit(text).ok_or(Fault::Format)? {
            Unit::Ago => {
                self.is_ago = true;
                // No number follows it.
                self.unit = Some(Unit::Ago);
            }
            unit => self.unit = Some(unit),
        }
        Ok(0)
    }

    /// What a number without a unit is, by the type's fields.
    fn unit_of_range(&self) -> Unit {
        const DAY_TO_HOUR: i32 = DAY_FIELD | HOUR_FIELD;
        const HOUR_TO_MINUTE: i32 = HOUR_FIELD | MINUTE_FIELD;
        const DAY_TO_MINUTE: i32 = DAY_FIELD | HOUR_TO_MINUTE;
        const YEAR_TO_MONTH: i32 = YEAR | MONTH;
        match self.range {
            YEAR => Unit::Year,
            MONTH | YEAR_TO_MONTH => Unit::Month,
            DAY_FIELD => Unit::Day,
            HOUR_FIELD | DAY_TO_HOUR => Unit::Hour,
            MINUTE_FIELD | HOUR_TO_MINUTE | DAY_TO_MINUTE => Unit::Minute,
            _ => Unit::Second,
        }
    }

    fn number(&mut self, text: &str) -> Result<u32, Fault> {
        let mut unit = self.unit.unwrap_or_else(|| self.unit_of_range());
        self.unit = Some(unit);
        let is_negative = text.starts_with('-');
        let (mut whole, rest) = leading_i64(text)?;
        let mut part = 0.0;
        match rest.bytes().next() {
            None => {}
            Some(b'.') => part = fraction(rest)? * if is_negative { -1.0 } else { 1.0 },
            Some(b'-') => {
                whole = years_and_months(whole, &rest[1..], is_negative)?;
                unit = Unit::Month;
                self.unit = Some(unit);
            }
            Some(_) => return Err(Fault::Format),
        }
        if self.is_all_negative {
            whole = if whole > 0 { -whole } else { whole };
            part = -part.abs();
        }
        self.add(unit, Amount { whole, fraction: part })
    }

    fn add(&mut self, unit: Unit, amount: Amount) -> Result<u32, Fault> {
        let sum = &mut self.sum;
        Ok(match unit {
            Unit::Microsecond => {
                sum.add_micros(amount, 1)?;
                seen::MICROSECOND
            }
            Unit::Millisecond => {
                sum.add_micros(amount, 1000)?;
                seen::MILLISECOND
            }
            Unit::Second => {
                sum.add_micros(amount, SECOND)?;
                if amount.fraction == 0.0 { seen::SECOND } else { seen::SECONDS }
            }
            Unit::Minute => {
                sum.add_micros(amount, MINUTE)?;
                seen::MINUTE
            }
            Unit::Hour => {
                sum.add_micros(amount, HOUR)?;
                self.unit = Some(Unit::Day);
                seen::HOUR
            }
            Unit::Day => {
                sum.add_days(amount)?;
                seen::DAY
            }
            Unit::Week => {
                sum.add_weeks(amount)?;
                seen::WEEK
            }
            Unit::Month => {
                sum.add_months(amount)?;
                seen::MONTH
            }
            _ => return self.add_years(unit, amount),
        })
    }

    fn add_years(&mut self, unit: Unit, amount: Amount) -> Result<u32, Fault> {
        let (scale, found) = match unit {
            Unit::Year => (1, seen::YEAR),
            Unit::Decade => (10, seen::DECADE),
            Unit::Century => (100, seen::CENTURY),
            Unit::Millennium => (1000, seen::MILLENNIUM),
            _ => return Err(Fault::Format),
        };
        self.sum.add_years(amount, scale)?;
        Ok(found)
    }
}

/// Months of `years-months`.
fn years_and_months(years: i64, months: &str, is_negative: bool) -> Result<i64, Fault> {
    let (months, rest) = leading_i64(months)?;
    if !(0..12).contains(&months) {
        return Err(Fault::Field);
    }
    if !rest.is_empty() {
        return Err(Fault::Format);
    }
    let months = if is_negative { -months } else { months };
    let whole = years.checked_mul(12);
    whole.and_then(|whole| whole.checked_add(months)).ok_or(Fault::Field)
}
