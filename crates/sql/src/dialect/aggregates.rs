//! `SUM` and `AVG` with PostgreSQL's result types: `SUM(bigint)` and `AVG` of integers are `numeric`.

use std::hash::Hash;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::functions_aggregate::average::Avg;
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF,
    Signature, Volatility,
};

use super::interval_aggregates::{Total, total_fields};
use super::intervals::INTERVAL;
use super::means::{GroupMeans, Mean, Rounding};
use super::spans::is_interval;

/// Digits after the point that an average's argument gets; DataFusion adds four, which makes PostgreSQL's 16.
const AVERAGE_SCALE: i8 = 12;

/// The two functions.
pub fn functions() -> Vec<Arc<AggregateUDF>> {
    vec![
        Arc::new(AggregateUDF::new_from_impl(Coerced::new(Sum::new(), Kind::Sum))),
        Arc::new(AggregateUDF::new_from_impl(Coerced::new(Avg::new(), Kind::Average))),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Sum,
    Average,
}

/// DataFusion's aggregate over an argument of another type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Coerced<F> {
    inner: F,
    kind: Kind,
    signature: Signature,
}

impl<F> Coerced<F> {
    fn new(inner: F, kind: Kind) -> Self {
        Coerced { inner, kind, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl<F> Coerced<F> {
    fn adjusted(&self, args: &AccumulatorArgs) -> Adjusted {
        match (self.kind, Rounding::of(args)) {
            (Kind::Average, Some(rounding)) => Adjusted::Mean(rounding),
            _ if is_narrow(args) => Adjusted::Widened,
            _ => Adjusted::Same,
        }
    }
}

/// What is done to DataFusion's accumulator.
enum Adjusted {
    Same,
    Widened,
    Mean(Rounding),
}

impl Adjusted {
    fn one(self, inner: Box<dyn Accumulator>) -> Box<dyn Accumulator> {
        match self {
            Adjusted::Same => inner,
            Adjusted::Widened => Box::new(Widened { inner }),
            Adjusted::Mean(rounding) => Box::new(Mean { inner, rounding }),
        }
    }

    fn groups(self, inner: Box<dyn GroupsAccumulator>) -> Box<dyn GroupsAccumulator> {
        match self {
            Adjusted::Same => inner,
            Adjusted::Widened => Box::new(WidenedGroups { inner }),
            Adjusted::Mean(rounding) => Box::new(GroupMeans { inner, rounding }),
        }
    }
}

fn argument_type(kind: Kind, given: &DataType) -> Result<DataType> {
    use DataType::*;
    Ok(match (kind, given) {
        (_, Duration(_) | Interval(_)) => INTERVAL,
        (_, Float16 | Float32 | Float64) => Float64,
        (_, Null) => Float64,
        // The result is `bigint`; casting the argument would make it look like one, whose sum is `numeric`.
        (Kind::Sum, Int8 | Int16 | Int32 | UInt8 | UInt16 | UInt32) => given.clone(),
        (Kind::Sum, Int64 | UInt64) => Decimal128(28, 0),
        (Kind::Sum, Decimal128(p, s)) => Decimal128(*p, *s),
        (Kind::Average, integer) if integer.is_integer() => Decimal128(34, AVERAGE_SCALE),
        (Kind::Average, Decimal128(_, s)) => Decimal128(34, (*s).max(AVERAGE_SCALE)),
        _ => {
            let name = if kind == Kind::Sum { "sum" } else { "avg" };
            return plan_err!("Failed to coerce arguments to satisfy a call to '{name}' function");
        }
    })
}

impl<F: AggregateUDFImpl + PartialEq + Eq + Hash> AggregateUDFImpl for Coerced<F> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        types.iter().map(|given| argument_type(self.kind, given)).collect()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let types = self.coerce_types(types)?;
        if is_interval(&types[0]) {
            return Ok(INTERVAL);
        }
        if self.kind == Kind::Sum && types[0].is_integer() {
            return Ok(DataType::Int64);
        }
        self.inner.return_type(&types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if is_interval(args.expr_fields[0].data_type()) {
            return Ok(Box::new(Total::new(self.kind == Kind::Average)));
        }
        let adjusted = self.adjusted(&args);
        Ok(adjusted.one(self.inner.accumulator(args)?))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        match is_interval(args.input_fields[0].data_type()) {
            true => Ok(total_fields(&args)),
            false => self.inner.state_fields(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !is_interval(args.expr_fields[0].data_type())
            && self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let adjusted = self.adjusted(&args);
        Ok(adjusted.groups(self.inner.create_groups_accumulator(args)?))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if is_interval(args.expr_fields[0].data_type()) {
            return self.accumulator(args);
        }
        let adjusted = self.adjusted(&args);
        Ok(adjusted.one(self.inner.create_sliding_accumulator(args)?))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

/// Whether the argument is an integer narrower than its sum.
fn is_narrow(args: &AccumulatorArgs) -> bool {
    let argument = args.expr_fields[0].data_type();
    argument.is_integer() && *argument != DataType::Int64
}

fn widen(values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    values.iter().map(|array| Ok(cast(array, &DataType::Int64)?)).collect()
}

/// A sum of `bigint` over narrower integers.
#[derive(Debug)]
struct Widened {
    inner: Box<dyn Accumulator>,
}

impl Accumulator for Widened {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(&widen(values)?)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.inner.evaluate()
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
        self.inner.retract_batch(&widen(values)?)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }
}

/// The same for many groups.
struct WidenedGroups {
    inner: Box<dyn GroupsAccumulator>,
}

impl GroupsAccumulator for WidenedGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.inner.update_batch(&widen(values)?, groups, filter, total)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        self.inner.evaluate(emit)
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
        self.inner.convert_to_state(&widen(values)?, filter)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_postgresqls() {
        let [sum, average] = functions().try_into().unwrap();
        let returns = |f: &AggregateUDF, t| f.return_type(&[t]).unwrap();
        assert_eq!(returns(&sum, DataType::Int32), DataType::Int64);
        assert_eq!(returns(&sum, DataType::Int64), DataType::Decimal128(38, 0));
        assert_eq!(returns(&sum, DataType::Float64), DataType::Float64);
        assert_eq!(returns(&average, DataType::Int32), DataType::Decimal128(38, 16));
        assert_eq!(returns(&average, DataType::Float32), DataType::Float64);
        assert!(sum.return_type(&[DataType::Boolean]).is_err());
    }
}
