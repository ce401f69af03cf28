//! Predicates that say one thing per row: true or not.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType as ArrowType, TimeUnit};

use super::live::Live;
use crate::operators::kernel::{
    evaluate_constant, evaluate_expression, rescale, try_evaluate_expression,
};
use crate::operators::{Batch, Faults};
use crate::query_set::{QuerySets, RowSet, Tuples};
use crate::scan::Pattern;
use crate::transaction::like;
use crate::types::{
    Comparison, Error, Predicate, Result, Scalar, Slot, Value, ValueRef, array_cell,
};

/// Whether each row meets a predicate that says for all slots what it says for `slot`.
pub fn rows(
    predicate: &Predicate,
    slot: Slot,
    batch: &Batch<'_>,
    live: &Live,
    faults: &mut Faults,
) -> Vec<bool> {
    let tuples = live.tuples();
    if let Predicate::Expression(expression) = predicate {
        return truths(&evaluate_expression(&**expression, tuples, batch, faults));
    }
    match by_value(predicate, tuples, &|scalar| evaluate_constant(scalar, slot, batch)) {
        Ok(mask) => mask,
        Err(error) => {
            fail(tuples, batch, faults, &error);
            vec![false; tuples.rows]
        }
    }
}

/// Whether each row, which one slot wants, meets a predicate with that slot's parameters.
pub fn pairs(
    predicate: &Predicate,
    batch: &Batch<'_>,
    live: &Live,
    faults: &mut Faults,
) -> Vec<bool> {
    let tuples = live.tuples();
    if let Predicate::Expression(expression) = predicate {
        return truths(&evaluate_expression(&**expression, tuples, batch, faults));
    }
    let QuerySets::Single(slots) = &tuples.sets else { unreachable!("rows have one slot each") };
    let mut mask = Vec::with_capacity(tuples.rows);
    // Rows come slot by slot.
    for run in slots.chunk_by(|a, b| a == b) {
        let rows: Vec<u32> = (mask.len() as u32..(mask.len() + run.len()) as u32).collect();
        let own = tuples.take(&rows);
        let bind = |scalar: &Scalar| evaluate_constant(scalar, run[0], batch);
        match by_value(predicate, &own, &bind) {
            Ok(verdicts) => mask.extend(verdicts),
            Err(error) => {
                faults.add(run[0], error);
                mask.extend(std::iter::repeat_n(false, run.len()));
            }
        }
    }
    mask
}

/// Like [`pairs`], without a word about whose error it is.
pub fn try_pairs(predicate: &Predicate, batch: &Batch<'_>, live: &Live) -> Result<Vec<bool>> {
    let tuples = live.tuples();
    if let Predicate::Expression(expression) = predicate {
        return try_evaluate_expression(&**expression, tuples, batch).map(|array| truths(&array));
    }
    let QuerySets::Single(slots) = &tuples.sets else { unreachable!("rows have one slot each") };
    let mut mask = Vec::with_capacity(tuples.rows);
    for run in slots.chunk_by(|a, b| a == b) {
        let rows: Vec<u32> = (mask.len() as u32..(mask.len() + run.len()) as u32).collect();
        let bind = |scalar: &Scalar| evaluate_constant(scalar, run[0], batch);
        mask.extend(by_value(predicate, &tuples.take(&rows), &bind)?);
    }
    Ok(mask)
}

/// An error that depends on no row is that of all who ask.
fn fail(tuples: &Tuples, batch: &Batch<'_>, faults: &mut Faults, error: &Error) {
    let wanted = tuples.sets.wanted(tuples.rows, batch.sets);
    RowSet::Id(wanted).for_each(batch.sets, |slot| faults.add(slot, error.clone()));
}

fn truths(array: &ArrayRef) -> Vec<bool> {
    if *array.data_type() == ArrowType::Null {
        return vec![false; array.len()];
    }
    let array = array.as_boolean();
    match array.nulls() {
        None => array.values().iter().collect(),
        Some(nulls) => (array.values() & nulls.inner()).iter().collect(),
    }
}

type Bind<'a> = &'a dyn Fn(&Scalar) -> Result<Value>;

fn by_value(predicate: &Predicate, tuples: &Tuples, bind: Bind<'_>) -> Result<Vec<bool>> {
    match predicate {
        Predicate::Compare { column, comparison, value: Scalar::Column(other) } => {
            let (left, right) = (tuples.column(*column), tuples.column(*other));
            Ok((0..tuples.rows)
                .map(|row| columns(&left, *comparison, &right, row) == Some(true))
                .collect())
        }
        Predicate::Compare { column, comparison, value } => {
            Ok(compare(&tuples.column(*column), *comparison, &bind(value)?))
        }
        Predicate::In { column, values, negated } => {
            is_in(&tuples.column(*column), values, *negated, tuples, bind)
        }
        Predicate::Like { column, pattern, negated, case_insensitive } => {
            let array = tuples.column(*column);
            let Value::Text(pattern) = bind(pattern)? else { return Ok(vec![false; tuples.rows]) };
            let compiled = Pattern::new(&pattern, *negated, *case_insensitive);
            let matches = |row| match (array_cell(&array, row), &compiled) {
                (ValueRef::Text(text), Some(compiled)) => Ok(compiled.accepts(text)),
                (ValueRef::Text(text), None) => {
                    Ok(like(text, &pattern, *case_insensitive)? != *negated)
                }
                _ => Ok(false),
            };
            (0..tuples.rows).map(matches).collect()
        }
        Predicate::IsNull { column, negated } => {
            let nulls = tuples.column(*column).logical_nulls();
            Ok(match nulls {
                None => vec![*negated; tuples.rows],
                Some(nulls) => nulls.iter().map(|valid| valid == *negated).collect(),
            })
        }
        Predicate::Or(_) | Predicate::Expression(_) => unreachable!("taken apart before"),
    }
}

/// Whether an order of two values is what a comparison asks for.
pub fn holds(comparison: Comparison, order: Ordering) -> bool {
    match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }
}

/// A comparison of two columns in one row; `None` is unknown.
fn columns(left: &ArrayRef, comparison: Comparison, right: &ArrayRef, row: usize) -> Option<bool> {
    let (left, right) = (array_cell(left, row), array_cell(right, row));
    let known = !left.is_null() && !right.is_null();
    known.then(|| holds(comparison, left.compare(right)))
}

/// A comparison of all rows with one value.
fn compare(array: &ArrayRef, comparison: Comparison, value: &Value) -> Vec<bool> {
    if value.is_null() || *array.data_type() == ArrowType::Null {
        return vec![false; array.len()];
    }
    let mut mask = match (numbers(array), number(array, value), value) {
        (Some(numbers), Some(number), _) => {
            numbers.map(|n| holds(comparison, n.cmp(&number))).collect()
        }
        _ if let Some((digits, constant)) = digits(array).zip(digits_of(array, value)) => {
            digits.iter().map(|own| holds(comparison, own.cmp(&constant))).collect()
        }
        (_, _, Value::Text(text)) if *array.data_type() == ArrowType::Utf8View => {
            let array = array.as_string_view();
            let order = |row| array.value(row).as_bytes().cmp(text.as_bytes());
            (0..array.len()).map(|row| holds(comparison, order(row))).collect::<Vec<_>>()
        }
        _ => {
            let order = |row| array_cell(array, row).compare(value.borrow());
            (0..array.len()).map(|row| holds(comparison, order(row))).collect()
        }
    };
    if let Some(nulls) = array.logical_nulls() {
        mask.iter_mut().zip(nulls.iter()).for_each(|(keep, valid)| *keep &= valid);
    }
    mask
}

/// Values that are integers, or counted in integers.
pub fn numbers(array: &ArrayRef) -> Option<Box<dyn Iterator<Item = i64> + '_>> {
    Some(match array.data_type() {
        ArrowType::Boolean => Box::new(array.as_boolean().values().iter().map(i64::from)),
        ArrowType::Int16 => {
            Box::new(array.as_primitive::<Int16Type>().values().iter().map(|&v| i64::from(v)))
        }
        ArrowType::Int32 => {
            Box::new(array.as_primitive::<Int32Type>().values().iter().map(|&v| i64::from(v)))
        }
        ArrowType::Int64 => Box::new(array.as_primitive::<Int64Type>().values().iter().copied()),
        ArrowType::Date32 => {
            Box::new(array.as_primitive::<Date32Type>().values().iter().map(|&v| i64::from(v)))
        }
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
            Box::new(array.as_primitive::<TimestampMicrosecondType>().values().iter().copied())
        }
        _ => return None,
    })
}

/// A constant as a number that compares with those of `array`.
pub fn number(array: &ArrayRef, value: &Value) -> Option<i64> {
    let data_type = array.data_type();
    match value {
        Value::Boolean(v) if *data_type == ArrowType::Boolean => Some(i64::from(*v)),
        Value::SmallInt(v) if data_type.is_integer() => Some(i64::from(*v)),
        Value::Integer(v) if data_type.is_integer() => Some(i64::from(*v)),
        Value::BigInt(v) if data_type.is_integer() => Some(*v),
        Value::Date(v) if *data_type == ArrowType::Date32 => Some(i64::from(*v)),
        Value::Timestamp(v) | Value::TimestampTz(v)
            if matches!(data_type, ArrowType::Timestamp(..)) =>
        {
            Some(*v)
        }
        _ => None,
    }
}

/// Numerics without their point.
pub fn digits(array: &ArrayRef) -> Option<&[i128]> {
    let array = array.as_primitive_opt::<Decimal128Type>()?;
    Some(array.values())
}

/// A constant as digits that compare with those of `array`; `None` where it has further ones after the point.
pub fn digits_of(array: &ArrayRef, value: &Value) -> Option<i128> {
    let ArrowType::Decimal128(_, scale) = array.data_type() else { return None };
    let (digits, own) = match value {
        Value::SmallInt(v) => (i128::from(*v), 0),
        Value::Integer(v) => (i128::from(*v), 0),
        Value::BigInt(v) => (i128::from(*v), 0),
        Value::Numeric(digits, scale) => (*digits, *scale),
        _ => return None,
    };
    rescale(digits, own, *scale as u8)
}

/// IN: true where a value equals, NOT IN: where all are known and none equals.
fn is_in(
    array: &ArrayRef,
    values: &[Scalar],
    negated: bool,
    tuples: &Tuples,
    bind: Bind<'_>,
) -> Result<Vec<bool>> {
    let mut equal = vec![false; tuples.rows];
    let mut unknown: Vec<bool> = match array.logical_nulls() {
        Some(nulls) if !values.is_empty() => nulls.iter().map(|valid| !valid).collect(),
        _ => vec![false; tuples.rows],
    };
    for value in values {
        if let Scalar::Column(other) = value {
            let other = tuples.column(*other);
            for row in 0..tuples.rows {
                let verdict = columns(array, Comparison::Equal, &other, row);
                equal[row] |= verdict == Some(true);
                unknown[row] |= verdict.is_none();
            }
            continue;
        }
        let value = bind(value)?;
        match value.is_null() {
            true => unknown.fill(true),
            false => {
                let same = compare(array, Comparison::Equal, &value);
                equal.iter_mut().zip(same).for_each(|(equal, same)| *equal |= same);
            }
        }
    }
    let verdicts = equal.into_iter().zip(unknown);
    Ok(verdicts.map(|(equal, unknown)| if negated { !equal && !unknown } else { equal }).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Decimal128Array;

    use super::*;

    #[test]
    fn numerics_compare_with_constants_of_any_scale() {
        let prices = Decimal128Array::from(vec![Some(150), Some(200), None, Some(i128::MAX)]);
        let prices: ArrayRef = Arc::new(prices.with_precision_and_scale(38, 2).unwrap());
        let greater = |value: Value| compare(&prices, Comparison::Greater, &value);
        assert_eq!(greater(Value::Integer(1)), [true, true, false, true]);
        assert_eq!(greater(Value::Numeric(15, 1)), [false, true, false, true]);
        assert_eq!(greater(Value::Numeric(1_999, 3)), [false, true, false, true]);
        assert_eq!(greater(Value::Numeric(i128::MAX, 0)), [false; 4]);
        assert_eq!(digits_of(&prices, &Value::Numeric(1_999, 3)), None);
        assert_eq!(digits_of(&prices, &Value::Numeric(i128::MAX, 0)), None);
    }
}
