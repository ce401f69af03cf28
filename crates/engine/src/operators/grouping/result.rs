//! From accumulators to the result column, with PostgreSQL's types and range checks.

use std::sync::Arc;

use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int64Type};
use arrow_array::{ArrayRef, PrimitiveArray, new_null_array};

use super::accumulator::{Accumulator, Counted, State};
use super::argument::{Argument, Values, number_array};
use crate::plan::{Aggregate, AggregateFunction};
use crate::types::{DataType, Error, SqlState};

/// The first number of more digits than `numeric` holds.
const NUMERIC_END: i128 = 10i128.pow(38);

/// The aggregate of every group. Groups whose result its type cannot hold are NULL and reported to `fail`.
pub fn results(
    aggregate: &Aggregate,
    argument: &Argument,
    accumulator: &Accumulator,
    fail: &mut dyn FnMut(usize, Error),
) -> ArrayRef {
    let groups = 0..accumulator.groups();
    match aggregate.function {
        AggregateFunction::Count => {
            let counts = groups.map(|group| accumulator.count(group));
            Arc::new(PrimitiveArray::<Int64Type>::from_iter_values(counts))
        }
        AggregateFunction::Min | AggregateFunction::Max => {
            extremes(argument, accumulator, aggregate)
        }
        AggregateFunction::Sum | AggregateFunction::Average => match aggregate.data_type {
            DataType::Real | DataType::Double => {
                float_results(aggregate, argument, accumulator, fail)
            }
            _ => exact_results(aggregate, argument, accumulator, fail),
        },
    }
}

fn extremes(argument: &Argument, accumulator: &Accumulator, aggregate: &Aggregate) -> ArrayRef {
    let groups = 0..accumulator.groups();
    let present = |group: usize| accumulator.count(group) > 0;
    if !groups.clone().any(present) {
        // Where no chunk has come, nothing has told how values are kept.
        return new_null_array(&aggregate.data_type.arrow(), groups.len());
    }
    match (&accumulator.state, &argument.values) {
        (State::Least(values) | State::Greatest(values), Values::Ordered(_, back)) => {
            let numbers = groups.map(|group| present(group).then_some(values[group]));
            back.values(&numbers.collect::<Vec<_>>())
        }
        (State::Least(values) | State::Greatest(values), _) => {
            let numbers = groups.map(|group| present(group).then_some(values[group]));
            number_array(&aggregate.data_type.arrow(), numbers)
        }
        (State::Least128(values) | State::Greatest128(values), _) => {
            let values = groups.map(|group| present(group).then_some(values[group]));
            decimals(values.collect(), aggregate.data_type)
        }
        (state, _) => unreachable!("{state:?} keeps no extreme"),
    }
}

fn float_results(
    aggregate: &Aggregate,
    argument: &Argument,
    accumulator: &Accumulator,
    fail: &mut dyn FnMut(usize, Error),
) -> ArrayRef {
    let mut result = |group: usize| {
        let count = accumulator.count(group);
        if count == 0 {
            return None;
        }
        let sum = match &argument.values {
            Values::Floats(_) => accumulator.float_sum(group),
            values => {
                let sum = accumulator.exact_sum(group);
                sum.map(|sum| sum as f64 / 10f64.powi(i32::from(values.scale())))
            }
        };
        let mean = aggregate.function == AggregateFunction::Average;
        let result = sum.map(|sum| if mean { sum / count as f64 } else { sum });
        let real = aggregate.data_type == DataType::Real;
        let result =
            result.filter(|v| !real || v.is_infinite() || (*v as f32).is_finite() || v.is_nan());
        if result.is_none() {
            fail(group, Error::new(SqlState::NumericOutOfRange, "value out of range: overflow"));
        }
        result
    };
    let results: Vec<Option<f64>> = (0..accumulator.groups()).map(&mut result).collect();
    match aggregate.data_type {
        DataType::Real => {
            let narrow = results.into_iter().map(|value| value.map(|value| value as f32));
            Arc::new(narrow.collect::<PrimitiveArray<Float32Type>>())
        }
        _ => Arc::new(results.into_iter().collect::<PrimitiveArray<Float64Type>>()),
    }
}

fn exact_results(
    aggregate: &Aggregate,
    argument: &Argument,
    accumulator: &Accumulator,
    fail: &mut dyn FnMut(usize, Error),
) -> ArrayRef {
    if let (State::Sum64(sums), AggregateFunction::Sum, DataType::BigInt) =
        (&accumulator.state, aggregate.function, aggregate.data_type)
    {
        // Fewer than 2^32 numbers of 32 bits: nothing to check.
        let sums = sums.iter().map(|&Counted { sum, count }| (count > 0).then_some(sum));
        return Arc::new(sums.collect::<PrimitiveArray<Int64Type>>());
    }
    let from = argument.values.scale();
    let to = match aggregate.data_type {
        DataType::Numeric { scale, .. } => scale,
        _ => 0,
    };
    if aggregate.function == AggregateFunction::Sum
        && from == to
        && let Some(sums) = plain_sums(accumulator, aggregate.data_type)
    {
        return sums;
    }
    let mut result = |group: usize| {
        let count = accumulator.count(group);
        if count == 0 {
            return None;
        }
        let divisor = if aggregate.function == AggregateFunction::Average { count } else { 1 };
        let sum = accumulator.exact_sum(group);
        let result = sum.and_then(|sum| quotient(sum, from, divisor, to));
        let result = result.filter(|&value| in_range(value, aggregate.data_type));
        if result.is_none() {
            fail(group, out_of_range(aggregate.data_type));
        }
        result
    };
    let results: Vec<Option<i128>> = (0..accumulator.groups()).map(&mut result).collect();
    match aggregate.data_type {
        DataType::Numeric { .. } => decimals(results, aggregate.data_type),
        other => number_array(&other.arrow(), results.into_iter().map(|v| v.map(|v| v as i64))),
    }
}

/// Sums of decimals where each is there and in range: most are.
fn plain_sums(accumulator: &Accumulator, data_type: DataType) -> Option<ArrayRef> {
    let State::Sum128(sums, lost) = &accumulator.state else { return None };
    let all_there = (0..sums.len()).all(|group| accumulator.count(group) > 0);
    let is_numeric = matches!(data_type, DataType::Numeric { .. });
    if !is_numeric || !all_there || !lost.is_empty() {
        return None;
    }
    sums.iter().all(|&sum| in_range(sum, data_type)).then(|| {
        let array = PrimitiveArray::<Decimal128Type>::new(sums.clone().into(), None);
        typed(array, data_type)
    })
}

/// `sum / divisor` with `to` digits after the point, `sum` having `from`; rounded half away from zero.
fn quotient(sum: i128, from: u8, divisor: i64, to: u8) -> Option<i128> {
    if divisor == 1 && from == to {
        return Some(sum);
    }
    let divisor = i128::from(divisor);
    if to < from {
        return Some(rounded(sum, divisor.checked_mul(10i128.pow(u32::from(from - to)))?));
    }
    let scale = 10i128.checked_pow(u32::from(to - from))?;
    let whole = (sum / divisor).checked_mul(scale)?;
    whole.checked_add(rounded((sum % divisor).checked_mul(scale)?, divisor))
}

fn rounded(value: i128, divisor: i128) -> i128 {
    let (quotient, rest) = (value / divisor, (value % divisor).abs());
    let away = rest >= divisor - rest;
    quotient + if away { value.signum() } else { 0 }
}

fn in_range(value: i128, data_type: DataType) -> bool {
    match data_type {
        DataType::Numeric { .. } => value.abs() < NUMERIC_END,
        DataType::Integer => i32::try_from(value).is_ok(),
        DataType::SmallInt => i16::try_from(value).is_ok(),
        _ => i64::try_from(value).is_ok(),
    }
}

fn out_of_range(data_type: DataType) -> Error {
    let message = match data_type {
        DataType::Numeric { .. } => "value overflows numeric format".to_owned(),
        other => format!("{other} out of range"),
    };
    Error::new(SqlState::NumericOutOfRange, message)
}

fn decimals(values: Vec<Option<i128>>, data_type: DataType) -> ArrayRef {
    typed(values.into_iter().collect(), data_type)
}

fn typed(array: PrimitiveArray<Decimal128Type>, data_type: DataType) -> ArrayRef {
    let DataType::Numeric { precision, scale } = data_type else {
        unreachable!("decimals have the type numeric, not {data_type}")
    };
    let typed = array.with_precision_and_scale(precision, scale as i8);
    Arc::new(typed.expect("numeric types have precisions that Arrow allows"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_rounded_half_away_from_zero() {
        assert_eq!(quotient(10, 0, 4, 1), Some(25));
        assert_eq!(quotient(-10, 0, 3, 2), Some(-333));
        assert_eq!(quotient(-5, 1, 10, 1), Some(-1));
        assert_eq!(quotient(5, 1, 10, 1), Some(1));
        assert_eq!(quotient(1234, 3, 1, 1), Some(12));
        assert_eq!(quotient(i128::MAX, 0, 1, 2), None);
    }
}
