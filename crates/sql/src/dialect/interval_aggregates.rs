//! `min`, `max`, `sum` and `avg` of intervals.
//!
//! The extremes compare by what intervals amount to, and give one of those that they have seen: of equal ones the last, as
//! PostgreSQL. Sums add months, days and time each by itself; averages divide these, and what is left of a month becomes days.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{
    DataType, Field, FieldRef, IntervalMonthDayNano, IntervalMonthDayNanoType, UInt64Type,
};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility,
};
use engine::types::Error;

use super::intervals::{INTERVAL, divided, micros, of_parts, out_of_range, span};

/// Which interval is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extreme {
    /// The least.
    Least,
    /// The largest.
    Largest,
}

impl Extreme {
    /// What DataFusion's function of that name looks for.
    pub fn named(name: &str) -> Option<Extreme> {
        match name {
            "min" => Some(Extreme::Least),
            "max" => Some(Extreme::Largest),
            _ => None,
        }
    }

    /// As an aggregate.
    pub fn function(self) -> Arc<AggregateUDF> {
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(AggregateUDF::new_from_impl(ExtremeInterval { extreme: self, signature }))
    }

    /// Whether a new span takes the place of a known one.
    fn replaces(self, new: i128, known: i128) -> bool {
        match self {
            Extreme::Least => new <= known,
            Extreme::Largest => new >= known,
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ExtremeInterval {
    extreme: Extreme,
    signature: Signature,
}

impl AggregateUDFImpl for ExtremeInterval {
    fn name(&self) -> &str {
        match self.extreme {
            Extreme::Least => "__min_interval",
            Extreme::Largest => "__max_interval",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(INTERVAL)
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Best { extreme: self.extreme, best: None }))
    }

    fn create_sliding_accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Sliding { extreme: self.extreme, seen: BTreeMap::new() }))
    }
}

fn known(values: &ArrayRef) -> impl Iterator<Item = IntervalMonthDayNano> {
    values.as_primitive::<IntervalMonthDayNanoType>().iter().flatten()
}

fn scalar(interval: Option<IntervalMonthDayNano>) -> ScalarValue {
    ScalarValue::IntervalMonthDayNano(interval)
}

/// The best interval so far.
#[derive(Debug)]
struct Best {
    extreme: Extreme,
    best: Option<IntervalMonthDayNano>,
}

impl Accumulator for Best {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for new in known(&values[0]) {
            let replaces = |best| self.extreme.replaces(span(new), span(best));
            if self.best.is_none_or(replaces) {
                self.best = Some(new);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(scalar(self.best))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![scalar(self.best)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}

/// All intervals in a frame, by span; rows leave in the order in which they came.
#[derive(Debug)]
struct Sliding {
    extreme: Extreme,
    seen: BTreeMap<i128, VecDeque<IntervalMonthDayNano>>,
}

impl Accumulator for Sliding {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for new in known(&values[0]) {
            self.seen.entry(span(new)).or_default().push_back(new);
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for old in known(&values[0]) {
            let equal = self.seen.get_mut(&span(old));
            let is_last = equal.is_some_and(|equal| {
                equal.pop_front();
                equal.is_empty()
            });
            if is_last {
                self.seen.remove(&span(old));
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let best = match self.extreme {
            Extreme::Least => self.seen.first_key_value(),
            Extreme::Largest => self.seen.last_key_value(),
        };
        Ok(scalar(best.and_then(|(_, equal)| equal.back().copied())))
    }

    fn size(&self) -> usize {
        let entry = size_of::<(i128, VecDeque<IntervalMonthDayNano>)>();
        let held: usize = self.seen.values().map(VecDeque::capacity).sum();
        self.seen.len() * entry + held * size_of::<IntervalMonthDayNano>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}

/// What a sum or an average of intervals keeps: how many there were, and their sum.
pub fn total_fields(args: &StateFieldsArgs) -> Vec<FieldRef> {
    let field = |part: &str, data_type| {
        Arc::new(Field::new(format!("{}[{part}]", args.name), data_type, true))
    };
    vec![field("count", DataType::UInt64), field("sum", INTERVAL)]
}

/// A sum, or an average, of intervals.
#[derive(Debug, Default)]
pub struct Total {
    averages: bool,
    count: u64,
    months: i64,
    days: i64,
    micros: i128,
}

impl Total {
    /// Of nothing yet.
    pub fn new(averages: bool) -> Total {
        Total { averages, ..Total::default() }
    }

    fn add(&mut self, interval: IntervalMonthDayNano, sign: i64) {
        self.months += sign * i64::from(interval.months);
        self.days += sign * i64::from(interval.days);
        self.micros += i128::from(sign) * i128::from(micros(interval));
    }

    fn sum(&self) -> Result<Option<IntervalMonthDayNano>, Error> {
        if self.count == 0 {
            return Ok(None);
        }
        let part = |part: i64| i32::try_from(part).map_err(|_| out_of_range());
        let micros = i64::try_from(self.micros).map_err(|_| out_of_range())?;
        of_parts(part(self.months)?, part(self.days)?, micros).map(Some)
    }

    fn result(&self) -> Result<Option<IntervalMonthDayNano>, Error> {
        let sum = self.sum()?;
        match self.averages {
            true => sum.map(|sum| divided(sum, self.count as f64)).transpose(),
            false => Ok(sum),
        }
    }
}

fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

impl Accumulator for Total {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for interval in known(&values[0]) {
            self.add(interval, 1);
            self.count += 1;
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for interval in known(&values[0]) {
            self.add(interval, -1);
            self.count = self.count.saturating_sub(1);
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.result().map(scalar).map_err(external)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let sum = self.sum().map_err(external)?;
        Ok(vec![ScalarValue::UInt64(Some(self.count)), scalar(sum)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let counts = states[0].as_primitive::<UInt64Type>();
        let sums = states[1].as_primitive::<IntervalMonthDayNanoType>();
        for row in (0..counts.len()).filter(|row| sums.is_valid(*row)) {
            self.add(sums.value(row), 1);
            self.count += counts.value(row);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::IntervalMonthDayNanoArray;

    use super::*;

    fn days(values: &[i32]) -> Vec<ArrayRef> {
        let of = |days: &i32| Some(IntervalMonthDayNano::new(0, *days, 0));
        vec![Arc::new(values.iter().map(of).collect::<IntervalMonthDayNanoArray>())]
    }

    #[test]
    fn frames_forget_what_leaves_them() {
        let mut sliding = Sliding { extreme: Extreme::Largest, seen: BTreeMap::new() };
        sliding.update_batch(&days(&[3, 1, 2])).expect("takes them");
        sliding.retract_batch(&days(&[3])).expect("forgets it");
        assert_eq!(
            sliding.evaluate().expect("a day"),
            scalar(Some(IntervalMonthDayNano::new(0, 2, 0)))
        );
    }

    #[test]
    fn averages_break_days_up() {
        let mut average = Total::new(true);
        average.update_batch(&days(&[1, 2])).expect("takes them");
        let half = IntervalMonthDayNano::new(0, 1, 43_200_000_000_000);
        assert_eq!(average.evaluate().expect("an average"), scalar(Some(half)));
    }
}
