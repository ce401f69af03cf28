//! `AVG` of decimals, rounded half away from zero as PostgreSQL and the engine do; DataFusion's cuts its last digit off.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Decimal256Array, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, UInt64Type, i256};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use engine::types::{Error, SqlState};

/// How sums become means.
#[derive(Clone, Copy, Debug)]
pub struct Rounding {
    /// Digits that a mean has after the point.
    precision: u8,
    scale: i8,
    /// How many of them a sum lacks.
    digits: u8,
}

impl Rounding {
    /// For the average of decimals.
    pub fn of(args: &AccumulatorArgs) -> Option<Rounding> {
        let from = args.expr_fields[0].data_type();
        match (from, args.return_field.data_type()) {
            (DataType::Decimal128(_, from), DataType::Decimal128(precision, scale)) => {
                let digits = u8::try_from(*scale - *from).ok()?;
                Some(Rounding { precision: *precision, scale: *scale, digits })
            }
            _ => None,
        }
    }

    fn mean(self, sum: i256, count: u64) -> Result<i128> {
        let rounded = || {
            let count = i256::from_i128(i128::from(count));
            let factor = i256::from_i128(10).checked_pow(u32::from(self.digits))?;
            let sum = sum.checked_mul(factor)?;
            let (mean, rest) = (sum.checked_div(count)?, sum.checked_rem(count)?);
            let twice = rest.checked_abs()?.checked_mul(i256::from_i128(2))?;
            let away = if twice < count { i256::ZERO } else { rest.signum() };
            mean.checked_add(away)?.to_i128()
        };
        rounded().filter(|mean| mean.unsigned_abs() < 10u128.pow(38)).ok_or_else(|| {
            let error = Error::new(SqlState::NumericOutOfRange, "value overflows numeric format");
            DataFusionError::External(Box::new(error))
        })
    }

    /// The means of counts and sums.
    fn means(self, state: &[ArrayRef]) -> Result<ArrayRef> {
        let counts = state[0].as_primitive::<UInt64Type>();
        let mean = |group: usize| -> Result<Option<i128>> {
            let sum = sum(&state[1], group).filter(|_| counts.is_valid(group));
            let count = counts.value(group);
            sum.filter(|_| count > 0).map(|sum| self.mean(sum, count)).transpose()
        };
        let means = (0..counts.len()).map(mean).collect::<Result<Decimal128Array>>()?;
        Ok(Arc::new(means.with_precision_and_scale(self.precision, self.scale)?))
    }
}

/// Count and sum of distinct values, which is what DISTINCT keeps instead of both.
fn counted(values: &ArrayRef) -> Vec<ArrayRef> {
    let known = || (0..values.len()).filter_map(|place| sum(values, place));
    let total = known().fold(i256::ZERO, i256::wrapping_add);
    let count = UInt64Array::from(vec![known().count() as u64]);
    vec![Arc::new(count), Arc::new(Decimal256Array::from(vec![total]))]
}

fn sum(sums: &ArrayRef, group: usize) -> Option<i256> {
    if sums.is_null(group) {
        return None;
    }
    match sums.data_type() {
        DataType::Decimal256(..) => Some(sums.as_primitive::<Decimal256Type>().value(group)),
        _ => Some(i256::from_i128(sums.as_primitive::<Decimal128Type>().value(group))),
    }
}

/// An average of decimals.
#[derive(Debug)]
pub struct Mean {
    pub inner: Box<dyn Accumulator>,
    pub rounding: Rounding,
}

impl Accumulator for Mean {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let state = match &self.inner.state()?[..] {
            [ScalarValue::List(distinct)] => counted(&distinct.value(0)),
            state => state.iter().map(ScalarValue::to_array).collect::<Result<Vec<_>>>()?,
        };
        ScalarValue::try_from_array(&self.rounding.means(&state)?, 0)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }
}

/// The same for many groups.
pub struct GroupMeans {
    pub inner: Box<dyn GroupsAccumulator>,
    pub rounding: Rounding,
}

impl GroupsAccumulator for GroupMeans {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.inner.update_batch(values, groups, filter, total)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        self.rounding.means(&self.inner.state(emit)?)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.inner.merge_batch(values, groups, total)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(values, filter)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_rounded_half_away_from_zero() {
        let mean = |sum: i128, count, digits| {
            let rounding = Rounding { precision: 38, scale: 16, digits };
            rounding.mean(i256::from_i128(sum), count).ok()
        };
        assert_eq!(mean(10, 4, 1), Some(25));
        assert_eq!(mean(-10, 3, 2), Some(-333));
        assert_eq!(mean(20, 3, 2), Some(667));
        assert_eq!(mean(-5, 2, 0), Some(-3));
        assert_eq!(mean(i128::MAX, 1, 4), None);
    }
}
