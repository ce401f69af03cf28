//! Intervals as text, by `IntervalStyle`.

use std::fmt::Write;

use super::{Interval, Parts};
use crate::kernel::Context;
use crate::moment::push_seconds;
use crate::settings::IntervalStyle;

/// As `IntervalStyle` says.
pub fn to_text(context: &Context, span: &Interval) -> String {
    let parts = Parts::of(span);
    let mut out = String::with_capacity(32);
    match context.interval_style {
        IntervalStyle::Postgres => parts.push_postgres(&mut out),
        IntervalStyle::PostgresVerbose => parts.push_verbose(&mut out),
        IntervalStyle::SqlStandard => parts.push_sql(&mut out),
        IntervalStyle::Iso8601 => parts.push_iso(&mut out),
    }
    out
}

impl Parts {
    fn is_any(&self, is_it: impl Fn(i64) -> bool) -> bool {
        is_it(self.years.into())
            || is_it(self.months.into())
            || is_it(self.days.into())
            || self.is_any_of_time(is_it)
    }

    fn is_any_of_time(&self, is_it: impl Fn(i64) -> bool) -> bool {
        is_it(self.hours)
            || is_it(self.minutes.into())
            || is_it(self.seconds.into())
            || is_it(self.micros.into())
    }

    /// `hh:mm:ss` without a sign.
    fn push_clock(&self, out: &mut String, width: usize) {
        let _ = write!(out, "{:0width$}:{:02}:", self.hours.unsigned_abs(), self.minutes.abs());
        push_seconds(out, self.seconds, self.micros, true);
    }

    fn push_postgres(&self, out: &mut String) {
        let mut is_after_negative = false;
        for (amount, unit) in [(self.years, "year"), (self.months, "mon"), (self.days, "day")] {
            if amount == 0 {
                continue;
            }
            let space = if out.is_empty() { "" } else { " " };
            let sign = if is_after_negative && amount > 0 { "+" } else { "" };
            let plural = if amount == 1 { "" } else { "s" };
            let _ = write!(out, "{space}{sign}{amount} {unit}{plural}");
            is_after_negative = amount < 0;
        }
        if out.is_empty() || self.is_any_of_time(|part| part != 0) {
            let space = if out.is_empty() { "" } else { " " };
            let sign = match self.is_any_of_time(|part| part < 0) {
                true => "-",
                false if is_after_negative => "+",
                false => "",
            };
            out.push_str(space);
            out.push_str(sign);
            self.push_clock(out, 2);
        }
    }

    fn push_verbose(&self, out: &mut String) {
        out.push('@');
        // The sign of the first part is told by `ago`.
        let mut is_ago = None;
        let parts = [
            (i64::from(self.years), "year"),
            (self.months.into(), "mon"),
            (self.days.into(), "day"),
            (self.hours, "hour"),
            (self.minutes.into(), "min"),
        ];
        for (amount, unit) in parts {
            if amount == 0 {
                continue;
            }
            let is_negated = *is_ago.get_or_insert(amount < 0);
            let amount = if is_negated { -amount } else { amount };
            let plural = if amount == 1 { "" } else { "s" };
            let _ = write!(out, " {amount} {unit}{plural}");
        }
        if self.seconds != 0 || self.micros != 0 {
            let is_negative = self.seconds < 0 || self.micros < 0;
            let is_negated = *is_ago.get_or_insert(is_negative);
            out.push_str(if is_negative == is_negated { " " } else { " -" });
            push_seconds(out, self.seconds, self.micros, false);
            let is_one = self.seconds.abs() == 1 && self.micros == 0;
            out.push_str(if is_one { " sec" } else { " secs" });
        }
        match is_ago {
            None => out.push_str(" 0"),
            Some(true) => out.push_str(" ago"),
            Some(false) => {}
        }
    }

    fn push_sql(&self, out: &mut String) {
        let has_negative = self.is_any(|part| part < 0);
        let has_positive = self.is_any(|part| part > 0);
        let has_months = self.years != 0 || self.months != 0;
        let has_days = self.days != 0 || self.is_any_of_time(|part| part != 0);
        let (years, months, days) =
            (self.years.unsigned_abs(), self.months.unsigned_abs(), self.days.unsigned_abs());
        if !has_negative && !has_positive {
            out.push('0');
            return;
        }
        if (has_negative && has_positive) || (has_months && has_days) {
            // Each part has its sign, so that none is taken for another's.
            let sign = |is_negative| if is_negative { '-' } else { '+' };
            let of_months = sign(self.years < 0 || self.months < 0);
            let _ = write!(out, "{of_months}{years}-{months} ");
            let _ = write!(out, "{}{days} ", sign(self.days < 0));
            out.push(sign(self.is_any_of_time(|part| part < 0)));
            return self.push_clock(out, 1);
        }
        if has_negative {
            out.push('-');
        }
        if has_months {
            let _ = write!(out, "{years}-{months}");
            return;
        }
        if self.days != 0 {
            let _ = write!(out, "{days} ");
        }
        self.push_clock(out, 1);
    }

    fn push_iso(&self, out: &mut String) {
        if !self.is_any(|part| part != 0) {
            out.push_str("PT0S");
            return;
        }
        let push = |out: &mut String, amount: i64, unit: char| {
            if amount != 0 {
                let _ = write!(out, "{amount}{unit}");
            }
        };
        out.push('P');
        push(out, self.years.into(), 'Y');
        push(out, self.months.into(), 'M');
        push(out, self.days.into(), 'D');
        if self.is_any_of_time(|part| part != 0) {
            out.push('T');
        }
        push(out, self.hours, 'H');
        push(out, self.minutes.into(), 'M');
        if self.seconds != 0 || self.micros != 0 {
            if self.seconds < 0 || self.micros < 0 {
                out.push('-');
            }
            push_seconds(out, self.seconds, self.micros, false);
            out.push('S');
        }
    }
}
