//! What the fields of an interval's text add up to. A fraction of a unit spills into the smaller ones.

use super::Interval;
use crate::calendar::{DAY, MONTH_DAYS};
use crate::moment::Fault;

/// Years, months, days and microseconds as they are added up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    years: i32,
    months: i32,
    days: i32,
    pub(super) micros: i64,
}

/// A whole number and what is after its point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Amount {
    pub(super) whole: i64,
    pub(super) fraction: f64,
}

fn add(to: &mut i32, amount: i64, scale: i32) -> Result<(), Fault> {
    let amount = i32::try_from(amount).ok().and_then(|amount| amount.checked_mul(scale));
    *to = amount.and_then(|amount| to.checked_add(amount)).ok_or(Fault::Field)?;
    Ok(())
}

impl Sum {
    /// Adds units of so many years.
    pub(super) fn add_years(&mut self, amount: Amount, scale: i32) -> Result<(), Fault> {
        add(&mut self.years, amount.whole, scale)?;
        let months = (amount.fraction * f64::from(scale) * 12.0).round_ties_even();
        add(&mut self.months, months as i64, 1)
    }

    pub(super) fn add_months(&mut self, amount: Amount) -> Result<(), Fault> {
        add(&mut self.months, amount.whole, 1)?;
        self.add_fraction_of_days(amount.fraction, MONTH_DAYS)
    }

    pub(super) fn add_weeks(&mut self, amount: Amount) -> Result<(), Fault> {
        add(&mut self.days, amount.whole, 7)?;
        self.add_fraction_of_days(amount.fraction, 7)
    }

    pub(super) fn add_days(&mut self, amount: Amount) -> Result<(), Fault> {
        add(&mut self.days, amount.whole, 1)?;
        self.add_fraction(amount.fraction, DAY)
    }

    fn add_fraction_of_days(&mut self, fraction: f64, days: i32) -> Result<(), Fault> {
        let amount = fraction * f64::from(days);
        add(&mut self.days, amount as i64, 1)?;
        self.add_fraction(amount.fract(), DAY)
    }

    /// Adds units of so many microseconds.
    pub(super) fn add_micros(&mut self, amount: Amount, scale: i64) -> Result<(), Fault> {
        let whole = amount.whole.checked_mul(scale);
        let sum = whole.and_then(|whole| self.micros.checked_add(whole));
        self.micros = sum.ok_or(Fault::Field)?;
        self.add_fraction(amount.fraction, scale)
    }

    /// Adds a fraction of so many microseconds, rounded; halves towards zero.
    fn add_fraction(&mut self, fraction: f64, scale: i64) -> Result<(), Fault> {
        let amount = fraction * scale as f64;
        let rest = amount.fract();
        let rounded = if rest > 0.5 {
            1
        } else if rest < -0.5 {
            -1
        } else {
            0
        };
        let micros = amount as i64 + rounded;
        self.micros = self.micros.checked_add(micros).ok_or(Fault::Field)?;
        Ok(())
    }

    /// Changes the sign of everything, as `ago` does.
    pub(super) fn negate(&mut self) -> Result<(), Fault> {
        let negative = |part: i32| part.checked_neg().ok_or(Fault::Field);
        *self = Sum {
            years: negative(self.years)?,
            months: negative(self.months)?,
            days: negative(self.days)?,
            micros: self.micros.checked_neg().ok_or(Fault::Field)?,
        };
        Ok(())
    }

    /// The interval; `None` where it has too many months.
    pub(super) fn interval(&self) -> Option<Interval> {
        let months = i64::from(self.years) * 12 + i64::from(self.months);
        let months = i32::try_from(months).ok()?;
        Some(Interval { months, days: self.days, micros: self.micros })
    }
}
