//! `SUM` and `AVG` with PostgreSQL's result types: `SUM(bigint)` and `AVG` of integers are `numeric`.

use std::hash::Hash;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, plan_err};
use datafusion::functions_aggregate::average::Avg;
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, Signature,
    Volatility,
};

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

fn argument_type(kind: Kind, given: &DataType) -> Result<DataType> {
    use DataType::*;
    Ok(match (kind, given) {
        (_, Duration(_) | Interval(_)) => given.clone(),
        (_, Float16 | Float32 | Float64) => Float64,
        (_, Null) => Float64,
        (Kind::Sum, Int8 | Int16 | Int32 | UInt8 | UInt16 | UInt32) => Int64,
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
        self.inner.return_type(&types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.inner.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        self.inner.create_groups_accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.inner.create_sliding_accumulator(args)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
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
