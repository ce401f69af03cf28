//! Variances and standard deviations: of whole numbers and numerics they are numeric, over exact sums; of floating point DataFusion's.

use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Int64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_datafusion_err, plan_err};
use datafusion::functions_aggregate::stddev::{stddev_pop_udaf, stddev_udaf};
use datafusion::functions_aggregate::variance::{var_pop_udaf, var_samp_udaf};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility,
};
use engine::types::{Error, SqlState};
use values::numeric::{Numeric, Sums, parse, round};

/// Digits after the point.
const SCALE: i8 = 16;

/// The functions by their names.
const NAMES: [(&str, Measure); 6] = [
    ("var_samp", Measure::SampleVariance),
    ("variance", Measure::SampleVariance),
    ("var_pop", Measure::Variance),
    ("stddev_samp", Measure::SampleDeviation),
    ("stddev", Measure::SampleDeviation),
    ("stddev_pop", Measure::Deviation),
];

/// The functions.
pub fn functions() -> Vec<Arc<AggregateUDF>> {
    let function = |(name, measure): (&'static str, Measure)| {
        let signature = Signature::user_defined(Volatility::Immutable);
        let own = Deviations { name, measure, inner: measure.of_floats(), signature };
        Arc::new(AggregateUDF::new_from_impl(own))
    };
    NAMES.into_iter().map(function).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Measure {
    SampleVariance,
    Variance,
    SampleDeviation,
    Deviation,
}

impl Measure {
    fn of_floats(self) -> Arc<AggregateUDF> {
        match self {
            Measure::SampleVariance => var_samp_udaf(),
            Measure::Variance => var_pop_udaf(),
            Measure::SampleDeviation => stddev_udaf(),
            Measure::Deviation => stddev_pop_udaf(),
        }
    }

    fn of(self, sums: &Sums) -> values::error::Result<Option<Numeric>> {
        match self {
            Measure::SampleVariance => sums.variance(true),
            Measure::Variance => sums.variance(false),
            Measure::SampleDeviation => sums.deviation(true),
            Measure::Deviation => sums.deviation(false),
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Deviations {
    name: &'static str,
    measure: Measure,
    /// That of floating point.
    inner: Arc<AggregateUDF>,
    signature: Signature,
}

impl Deviations {
    fn exact(&self, args: &AccumulatorArgs) -> Option<Exact> {
        let DataType::Decimal128(_, scale) = args.return_field.data_type() else { return None };
        Some(Exact {
            measure: self.measure,
            sums: Sums::new(true),
            scale: *scale,
            seen: args.is_distinct.then(HashSet::new),
            given: 0,
        })
    }
}

impl AggregateUDFImpl for Deviations {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        use DataType::*;
        let taken = |given: &DataType| match given {
            Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 => Ok(Int64),
            Decimal128(..) => Ok(given.clone()),
            Float16 | Float32 | Float64 | Null => Ok(Float64),
            _ => {
                let name = self.name();
                plan_err!("Failed to coerce arguments to satisfy a call to '{name}' function")
            }
        };
        types.iter().map(taken).collect()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(match self.coerce_types(types)?.first() {
            Some(DataType::Int64) => DataType::Decimal128(38, SCALE),
            Some(DataType::Decimal128(_, scale)) => DataType::Decimal128(38, SCALE.max(*scale)),
            _ => DataType::Float64,
        })
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match self.exact(&args) {
            Some(exact) => Ok(Box::new(exact)),
            None => self.inner.accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match self.exact(&args) {
            Some(exact) => Ok(Box::new(exact)),
            None => self.inner.create_sliding_accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        match args.return_field.data_type() {
            DataType::Decimal128(..) => {
                Ok(vec![Arc::new(Field::new("sums", DataType::Utf8, true))])
            }
            _ => self.inner.state_fields(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        let is_float = args.return_field.data_type().is_floating();
        is_float && self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        self.inner.create_groups_accumulator(args)
    }
}

/// Over exact sums.
struct Exact {
    measure: Measure,
    sums: Sums,
    scale: i8,
    /// With DISTINCT, the digits of the values so far.
    seen: Option<HashSet<i128>>,
    /// Of these digits behind the point.
    given: u32,
}

impl Exact {
    /// Adds numbers of so many digits behind the point: as machine words, as long as their squares fit.
    fn add(&mut self, digits: impl IntoIterator<Item = i128>, scale: u32) {
        self.given = scale;
        let mut words = Words::default();
        for digits in digits {
            if self.seen.as_mut().is_none_or(|seen| seen.insert(digits)) && !words.add(digits) {
                std::mem::take(&mut words).gather(&mut self.sums, scale);
                self.sums.add(&Numeric::of_digits(digits, scale));
            }
        }
        words.gather(&mut self.sums, scale);
    }

    /// Takes over what another part had: values, or their sums. `None` where that is not what [`Accumulator::state`] writes.
    fn take_over(&mut self, part: &str) -> Option<()> {
        let mut words = part.split(' ');
        if self.seen.is_some() {
            let scale = words.next()?.parse().ok()?;
            let digits = words.map(|digits| digits.parse().ok());
            self.add(digits.collect::<Option<Vec<i128>>>()?, scale);
            return Some(());
        }
        let count = words.next()?.parse().ok()?;
        let [sum, squares] = [words.next()?, words.next()?].map(|text| parse(text).ok());
        self.sums.merge((count, &sum?, squares.as_ref()));
        Some(())
    }
}

/// Numbers of one scale, as long as the sum of their squares fits.
#[derive(Default)]
struct Words {
    count: i64,
    sum: i128,
    squares: i128,
}

impl Words {
    /// One more, if it fits.
    fn add(&mut self, digits: i128) -> bool {
        let square = digits.checked_mul(digits);
        let squares = square.and_then(|square| self.squares.checked_add(square));
        let sums = self.sum.checked_add(digits).zip(squares);
        if let Some((sum, squares)) = sums {
            (self.count, self.sum, self.squares) = (self.count + 1, sum, squares);
        }
        sums.is_some()
    }

    fn gather(self, sums: &mut Sums, scale: u32) {
        let sum = Numeric::of_digits(self.sum, scale);
        let squares = Numeric::of_digits(self.squares, 2 * scale);
        sums.merge((self.count, &sum, Some(&squares)));
    }
}

impl fmt::Debug for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exact").field("measure", &self.measure).finish_non_exhaustive()
    }
}

/// Digits and scale of what is not NULL.
fn known(values: &ArrayRef) -> Result<(Vec<i128>, u32)> {
    Ok(match values.data_type() {
        DataType::Decimal128(_, scale) => {
            let digits = values.as_primitive::<Decimal128Type>().iter().flatten();
            (digits.collect(), u32::try_from(*scale).unwrap_or(0))
        }
        _ => {
            let values = cast(values, &DataType::Int64)?;
            let numbers = values.as_primitive::<Int64Type>().iter().flatten();
            (numbers.map(i128::from).collect(), 0)
        }
    })
}

impl Accumulator for Exact {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (digits, scale) = known(&values[0])?;
        self.add(digits, scale);
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (digits, scale) = known(&values[0])?;
        let numbers = digits.into_iter().map(|digits| Numeric::of_digits(digits, scale));
        numbers.for_each(|number| self.sums.remove(&number));
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        self.seen.is_none()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let overflow = || Error::new(SqlState::NumericOutOfRange, "value overflows numeric format");
        let refused = |_| DataFusionError::External(Box::new(overflow()));
        let digits = match self.measure.of(&self.sums).map_err(refused)? {
            None => None,
            Some(value) => {
                let rounded = round(&value, self.scale.into()).map_err(refused)?;
                let digits = rounded.digits_at(self.scale.unsigned_abs().into());
                let digits = digits.filter(|digits| digits.unsigned_abs() < 10u128.pow(38));
                Some(digits.ok_or_else(|| DataFusionError::External(Box::new(overflow())))?)
            }
        };
        Ok(ScalarValue::Decimal128(digits, 38, self.scale))
    }

    fn size(&self) -> usize {
        let seen = self.seen.as_ref().map_or(0, |seen| seen.capacity() * size_of::<(i128, u64)>());
        size_of_val(self) + seen
    }

    /// As a text: where there are several groupings, each part of the rows is grouped first.
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let text = match &self.seen {
            Some(seen) => {
                let digits = seen.iter().map(|digits| format!(" {digits}"));
                format!("{}{}", self.given, digits.collect::<String>())
            }
            None => {
                let (count, sum, squares) = self.sums.parts();
                let squares = squares.map_or_else(String::new, |squares| squares.to_string());
                format!("{count} {sum} {squares}")
            }
        };
        Ok(vec![ScalarValue::Utf8(Some(text))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let mut parts = states[0].as_string::<i32>().iter().flatten();
        let taken = parts.try_for_each(|part| self.take_over(part));
        taken.ok_or_else(|| internal_datafusion_err!("no state of a variance"))
    }
}
