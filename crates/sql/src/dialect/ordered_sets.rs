//! `percentile_disc`, `percentile_cont` and `mode` WITHIN GROUP: functions of the array of all values that are not NULL.
//!
//! In come calls as they are written, out goes `__percentile_disc(array_agg(x) FILTER (WHERE x IS NOT NULL), fraction, false)`; the
//! function sorts. Its last argument says whether the largest comes first.

use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, IntervalMonthDayNanoArray, UInt32Array,
    make_comparator, new_empty_array,
};
use datafusion::arrow::compute::{SortOptions, cast, sort_to_indices, take};
use datafusion::arrow::datatypes::{
    DataType, Float64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArgExpr, FunctionArguments, OrderByExpr, Value,
    VisitorMut,
};
use engine::types::{Error, SqlState};

use super::by_row::no_function;
use super::intervals::{interval, kept, span};
use super::introspection::{call, plain_name};
use super::spans::is_interval;
use crate::text::of_values;

/// Makes functions of arrays of such calls.
pub struct OrderedSets;

impl VisitorMut for OrderedSets {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && let [key] = function.within_group.as_slice()
            && let Some(kind) = Kind::named(&plain_name(function))
            && function.over.is_none()
            && let Some(mut arguments) = direct(function)
        {
            arguments.insert(0, collected(key, function.filter.as_deref()));
            let descends = key.options.asc == Some(false);
            arguments.push(Expr::value(Value::Boolean(descends)));
            *expr = call(kind.name(), arguments);
        }
        ControlFlow::Continue(())
    }
}

/// The arguments in parentheses.
fn direct(function: &Function) -> Option<Vec<Expr>> {
    use datafusion::sql::sqlparser::ast::FunctionArg::Unnamed;
    let FunctionArguments::List(list) = &function.args else { return None };
    let plain = list.args.iter().map(|argument| match argument {
        Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    plain.collect()
}

/// `array_agg(x) FILTER (WHERE x IS NOT NULL AND filter)`
fn collected(key: &OrderByExpr, filter: Option<&Expr>) -> Expr {
    let known = Expr::IsNotNull(Box::new(Expr::Nested(Box::new(key.expr.clone()))));
    let mut array = call("array_agg", vec![key.expr.clone()]);
    if let Expr::Function(aggregate) = &mut array {
        let both = |filter: &Expr| Expr::BinaryOp {
            left: Box::new(known.clone()),
            op: BinaryOperator::And,
            right: Box::new(Expr::Nested(Box::new(filter.clone()))),
        };
        aggregate.filter = Some(Box::new(filter.map_or_else(|| known.clone(), both)));
    }
    array
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Discrete,
    Continuous,
    Mode,
}

impl Kind {
    fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "percentile_disc" => Kind::Discrete,
            "percentile_cont" => Kind::Continuous,
            "mode" => Kind::Mode,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Discrete => "__percentile_disc",
            Kind::Continuous => "__percentile_cont",
            Kind::Mode => "__mode",
        }
    }

    /// The type of a result over values of a type.
    fn result(self, item: &DataType) -> Option<DataType> {
        match self {
            Kind::Discrete | Kind::Mode => Some(item.clone()),
            Kind::Continuous if is_interval(item) => Some(item.clone()),
            Kind::Continuous if item.is_numeric() => Some(DataType::Float64),
            Kind::Continuous => None,
        }
    }
}

/// The functions of arrays.
pub fn functions() -> Vec<Arc<ScalarUDF>> {
    let function = |kind| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(OrderedSet { kind, signature }))
    };
    [Kind::Discrete, Kind::Continuous, Kind::Mode].into_iter().map(function).collect()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OrderedSet {
    kind: Kind,
    signature: Signature,
}

fn item_of(list: &DataType) -> Option<&DataType> {
    match list {
        DataType::List(item) => Some(item.data_type()),
        _ => None,
    }
}

impl OrderedSet {
    /// What PostgreSQL says of types that it does not take.
    fn refused(&self, types: &[DataType]) -> DataFusionError {
        let own: Vec<DataType> = types[1..types.len().saturating_sub(1).max(1)].to_vec();
        let items = types.first().and_then(item_of).cloned();
        let name = self.kind.name().trim_start_matches("__");
        no_function(name, &own.into_iter().chain(items).collect::<Vec<_>>())
    }
}

impl ScalarUDFImpl for OrderedSet {
    fn name(&self) -> &str {
        self.kind.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let fraction = |given: &DataType| match given {
            DataType::List(_) => Some(DataType::new_list(DataType::Float64, true)),
            given if given.is_numeric() || given.is_null() => Some(DataType::Float64),
            _ => None,
        };
        let taken = match (self.kind, types) {
            (Kind::Mode, [list, last]) => Some(vec![list.clone(), last.clone()]),
            (Kind::Discrete | Kind::Continuous, [list, given, last]) => {
                fraction(given).map(|fraction| vec![list.clone(), fraction, last.clone()])
            }
            _ => None,
        };
        taken.ok_or_else(|| self.refused(types))
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let item = types.first().and_then(item_of);
        let one = item.and_then(|item| self.kind.result(item));
        let one = one.ok_or_else(|| self.refused(types))?;
        match (self.kind, types.get(1)) {
            (Kind::Discrete | Kind::Continuous, Some(DataType::List(_))) => {
                Ok(DataType::new_list(one, true))
            }
            _ => Ok(one),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let arrays = args.args.iter().map(|arg| arg.to_array(rows));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let [lists, fractions @ .., last] = &arrays[..] else {
            return internal_err!("an ordered set has an array and an order");
        };
        let (lists, last) = (lists.as_list::<i32>(), last.as_boolean());
        let result = args.return_field.data_type();
        let mut answers = Vec::with_capacity(rows);
        for row in 0..rows {
            let values = if lists.is_null(row) { None } else { Some(lists.value(row)) };
            let values = values.filter(|values| !values.is_empty());
            let sorted = values.map(|values| sorted(&values, last.value(row))).transpose()?;
            let fraction = fractions.first().map(|array| ScalarValue::try_from_array(array, row));
            answers.push(self.answer(sorted.as_ref(), fraction.transpose()?, result)?);
        }
        Ok(ColumnarValue::Array(match answers.is_empty() {
            true => new_empty_array(result),
            false => ScalarValue::iter_to_array(answers)?,
        }))
    }
}

impl OrderedSet {
    fn answer(
        &self,
        sorted: Option<&ArrayRef>,
        fraction: Option<ScalarValue>,
        result: &DataType,
    ) -> Result<ScalarValue> {
        match (fraction, sorted) {
            (Some(ScalarValue::Float64(Some(fraction))), sorted) => {
                self.percentile(sorted, fraction, result)
            }
            (Some(ScalarValue::List(fractions)), Some(sorted)) => {
                let DataType::List(item) = result else {
                    return internal_err!("several percentiles are an array");
                };
                let fractions = fractions.value(0);
                let each =
                    fractions.as_primitive::<Float64Type>().iter().map(|fraction| match fraction {
                        Some(fraction) => self.percentile(Some(sorted), fraction, item.data_type()),
                        None => ScalarValue::try_from(item.data_type()),
                    });
                let each = each.collect::<Result<Vec<_>>>()?;
                Ok(ScalarValue::List(ScalarValue::new_list(&each, item.data_type(), true)))
            }
            (None, Some(sorted)) => most_frequent(sorted),
            _ => ScalarValue::try_from(result),
        }
    }

    fn percentile(
        &self,
        sorted: Option<&ArrayRef>,
        fraction: f64,
        result: &DataType,
    ) -> Result<ScalarValue> {
        if !(0.0..=1.0).contains(&fraction) {
            let message = format!("percentile value {fraction} is not between 0 and 1");
            return Err(external(Error::new(SqlState::NumericOutOfRange, message)));
        }
        let Some(sorted) = sorted else { return ScalarValue::try_from(result) };
        let count = sorted.len() as f64;
        if self.kind == Kind::Discrete {
            let place = (fraction * count).ceil().max(1.0) as usize - 1;
            return ScalarValue::try_from_array(sorted, place);
        }
        let place = fraction * (count - 1.0);
        let (low, high) = (place.floor() as usize, place.ceil() as usize);
        between(sorted, low, high, place - place.floor())
    }
}

fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Intervals are sorted by what they amount to.
fn sorted(values: &ArrayRef, descends: bool) -> Result<ArrayRef> {
    if let Some(intervals) = values.as_primitive_opt::<IntervalMonthDayNanoType>() {
        let mut all: Vec<IntervalMonthDayNano> = intervals.values().to_vec();
        all.sort_by_key(|interval| span(*interval));
        if descends {
            all.reverse();
        }
        return Ok(Arc::new(IntervalMonthDayNanoArray::from(all)));
    }
    let options = SortOptions { descending: descends, nulls_first: false };
    let order: UInt32Array = sort_to_indices(values, Some(options), None)?;
    Ok(take(values, &order, None)?)
}

/// The value so far from one to the next.
fn between(sorted: &ArrayRef, low: usize, high: usize, share: f64) -> Result<ScalarValue> {
    if let Some(intervals) = sorted.as_primitive_opt::<IntervalMonthDayNanoType>() {
        let (low, high) = (interval(intervals.value(low)), interval(intervals.value(high)));
        let moved = values::interval::subtract(&high, &low)
            .and_then(|distance| values::interval::multiply(&distance, share))
            .and_then(|part| values::interval::add(&part, &low));
        let moved = moved.map_err(of_values).and_then(kept).map_err(external)?;
        return Ok(ScalarValue::IntervalMonthDayNano(Some(moved)));
    }
    let numbers = cast(sorted, &DataType::Float64)?;
    let numbers: &Float64Array = numbers.as_primitive::<Float64Type>();
    let (low, high) = (numbers.value(low), numbers.value(high));
    Ok(ScalarValue::Float64(Some(low + share * (high - low))))
}

/// The value that is there most often; of several the first.
fn most_frequent(sorted: &ArrayRef) -> Result<ScalarValue> {
    let compare = make_comparator(sorted, sorted, SortOptions::default())?;
    let (mut best, mut best_count, mut start) = (0, 0, 0);
    for place in 1..=sorted.len() {
        if place == sorted.len() || compare(start, place) != Ordering::Equal {
            if place - start > best_count {
                (best, best_count) = (start, place - start);
            }
            start = place;
        }
    }
    ScalarValue::try_from_array(sorted, best)
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::Int32Array;

    use super::*;

    #[test]
    fn the_first_of_the_most_frequent_is_the_mode() {
        let mode = |values: Vec<i32>| {
            let sorted: ArrayRef = Arc::new(Int32Array::from(values));
            most_frequent(&sorted).expect("numbers are compared")
        };
        assert_eq!(mode(vec![1, 2, 2, 3, 3]), ScalarValue::from(2));
        assert_eq!(mode(vec![7]), ScalarValue::from(7));
    }
}
