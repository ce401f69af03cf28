//! An aggregate's argument for all rows, in the form in which accumulators take it.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Int16Array, Int32Array, Int64Array,
    PrimitiveArray, StringViewArray, TimestampMicrosecondArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType as ArrowType, TimeUnit};

use crate::operators::kernel::{KeyTable, Strings, bytes_of, float_number, number_float};
use crate::plan::AggregateFunction;
use crate::types::DataType;

/// An argument of all rows.
#[derive(Debug)]
pub struct Argument {
    pub(super) values: Values,
    /// Rows that count: not NULL, and FILTER is true. `None`: all.
    valid: Option<BooleanBuffer>,
    /// DISTINCT: a number per distinct value, by row, and a row that has it.
    pub(super) distinct: Option<Distinct>,
}

/// Distinct values, numbered.
#[derive(Debug)]
pub struct Distinct {
    pub(super) numbers: Vec<u32>,
    pub(super) representatives: Vec<u32>,
    /// Rows that count; a representative may be one that does not.
    valid: Option<BooleanBuffer>,
}

/// The argument's values.
#[derive(Debug)]
pub enum Values {
    /// None are needed: COUNT.
    None,
    /// Integers of at most 32 bits.
    Narrow(Vec<i64>),
    /// `bigint`
    Integers(ScalarBuffer<i64>),
    /// Unscaled digits, and how many of them are after the point.
    Decimals(ScalarBuffer<i128>, u8),
    /// The same in 64 bits.
    Digits(ScalarBuffer<i64>, u8),
    /// Floats to add.
    Floats(Vec<f64>),
    /// Numbers in the order of the values, and how to get back.
    Ordered(Vec<i64>, Back),
}

/// The numbers that accumulators take.
pub(super) enum Numbers<'a> {
    None,
    Plain(&'a [i64]),
    Wide(&'a [i128]),
    Floats(&'a [f64]),
}

/// From numbers in order to values.
#[derive(Clone, Debug)]
pub enum Back {
    /// The number is the value of this type.
    Number(ArrowType),
    /// The number is a position in this array, which ascends.
    Rank(ArrayRef),
}

impl Argument {
    /// `values` and `filter` have a value per row.
    pub fn new(
        function: AggregateFunction,
        distinct: bool,
        values: Option<&ArrayRef>,
        filter: Option<&ArrayRef>,
    ) -> Argument {
        let nulls = values.and_then(|values| values.logical_nulls());
        let passed = filter.map(|filter| {
            let filter = filter.as_boolean();
            match filter.nulls() {
                Some(nulls) => filter.values() & nulls.inner(),
                None => filter.values().clone(),
            }
        });
        let valid = match (nulls.map(NullBuffer::into_inner), passed) {
            (Some(valid), Some(passed)) => Some(&valid & &passed),
            (valid, passed) => valid.or(passed),
        };
        let values = (Values::new(function, values), values.filter(|_| distinct));
        match values {
            (values, None) => Argument { values, valid, distinct: None },
            (values, Some(array)) => {
                Argument { values, valid: None, distinct: Some(Distinct::new(array, valid)) }
            }
        }
    }

    /// Of integers or numerics' digits, none of which is NULL.
    pub fn whole(function: AggregateFunction, data_type: DataType, numbers: Vec<i64>) -> Argument {
        let values = match (function, data_type) {
            (AggregateFunction::Count, _) => Values::None,
            (_, DataType::SmallInt | DataType::Integer) => Values::Narrow(numbers),
            (_, DataType::BigInt) => Values::Integers(numbers.into()),
            (_, DataType::Numeric { scale, .. }) => Values::Digits(numbers.into(), scale),
            (_, other) => unreachable!("{other:?} is no whole number"),
        };
        Argument { values, valid: None, distinct: None }
    }

    /// Of values none of which is NULL.
    #[cfg(test)]
    pub fn of(values: Values) -> Argument {
        Argument { values, valid: None, distinct: None }
    }

    /// The same argument of no row.
    pub fn emptied(&self) -> Argument {
        let values = match &self.values {
            Values::None => Values::None,
            Values::Narrow(_) => Values::Narrow(Vec::new()),
            Values::Integers(_) => Values::Integers(ScalarBuffer::from(Vec::new())),
            Values::Decimals(_, scale) => Values::Decimals(ScalarBuffer::from(Vec::new()), *scale),
            Values::Digits(_, scale) => Values::Digits(ScalarBuffer::from(Vec::new()), *scale),
            Values::Floats(_) => Values::Floats(Vec::new()),
            Values::Ordered(_, back) => Values::Ordered(Vec::new(), back.clone()),
        };
        Argument { values, valid: None, distinct: None }
    }

    /// Whether numbers of another run of the same argument mean the same values: ranks do not.
    pub fn means_the_same_everywhere(&self) -> bool {
        !matches!(self.values, Values::Ordered(_, Back::Rank(_)))
    }

    /// Whether every row counts.
    pub fn takes_all(&self) -> bool {
        self.valid.is_none() && self.distinct.is_none()
    }

    /// Calls `visit` with each pair of a group and a row that counts.
    #[inline]
    pub fn for_each(&self, groups: &[u32], rows: &[u32], visit: impl FnMut(usize, usize)) {
        for_each_valid(self.valid.as_ref(), groups, rows, visit);
    }

    /// How many of the rows count.
    pub fn count(&self, rows: &[u32]) -> usize {
        match &self.valid {
            None => rows.len(),
            Some(valid) => rows.iter().filter(|&&row| valid.value(row as usize)).count(),
        }
    }

    /// Folds the rows that count.
    #[inline]
    pub fn fold<T>(&self, rows: &[u32], start: T, mut step: impl FnMut(T, usize) -> T) -> T {
        let rows = rows.iter().map(|&row| row as usize);
        match &self.valid {
            None => rows.fold(start, &mut step),
            Some(valid) => rows.filter(|row| valid.value(*row)).fold(start, &mut step),
        }
    }
}

#[inline]
fn for_each_valid(
    valid: Option<&BooleanBuffer>,
    groups: &[u32],
    rows: &[u32],
    mut visit: impl FnMut(usize, usize),
) {
    let pairs = groups.iter().zip(rows).map(|(&group, &row)| (group as usize, row as usize));
    match valid {
        None => pairs.for_each(|(group, row)| visit(group, row)),
        Some(valid) => {
            pairs.filter(|(_, row)| valid.value(*row)).for_each(|(group, row)| visit(group, row));
        }
    }
}

impl Distinct {
    fn new(values: &ArrayRef, valid: Option<BooleanBuffer>) -> Distinct {
        let scale = match values.data_type() {
            ArrowType::Decimal128(_, scale) => *scale as u8,
            _ => 0,
        };
        let numbers = KeyTable::new([scale]).insert(std::slice::from_ref(values));
        let mut representatives = Vec::new();
        for (row, &number) in numbers.iter().enumerate() {
            if number as usize == representatives.len() {
                representatives.push(row as u32);
            }
        }
        Distinct { numbers, representatives, valid }
    }

    /// The distinct pairs of group and value, as groups and representative rows.
    pub(super) fn pairs(&self, groups: &[u32], rows: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for_each_valid(self.valid.as_ref(), groups, rows, |group, row| {
            pairs.push((group as u32, self.numbers[row]));
        });
        pairs.sort_unstable();
        pairs.dedup();
        let row = |number: u32| self.representatives[number as usize];
        pairs.into_iter().map(|(group, number)| (group, row(number))).unzip()
    }
}

impl Values {
    pub(super) fn numbers(&self) -> Numbers<'_> {
        match self {
            Values::None => Numbers::None,
            Values::Narrow(values) | Values::Ordered(values, _) => Numbers::Plain(values),
            Values::Integers(values) | Values::Digits(values, _) => Numbers::Plain(values),
            Values::Decimals(values, _) => Numbers::Wide(values),
            Values::Floats(values) => Numbers::Floats(values),
        }
    }

    /// Digits after the point.
    pub fn scale(&self) -> u8 {
        match self {
            Values::Decimals(_, scale) | Values::Digits(_, scale) => *scale,
            _ => 0,
        }
    }

    fn new(function: AggregateFunction, values: Option<&ArrayRef>) -> Values {
        let Some(array) = values else { return Values::None };
        match (function, array.data_type()) {
            (AggregateFunction::Count, _) => Values::None,
            (_, ArrowType::Int16) => {
                let values = array.as_primitive::<Int16Type>().values();
                Values::Narrow(values.iter().map(|&v| i64::from(v)).collect())
            }
            (_, ArrowType::Int32) => {
                let values = array.as_primitive::<Int32Type>().values();
                Values::Narrow(values.iter().map(|&v| i64::from(v)).collect())
            }
            (_, ArrowType::Int64) => {
                Values::Integers(array.as_primitive::<Int64Type>().values().clone())
            }
            (_, ArrowType::Decimal128(_, scale)) => {
                let values = array.as_primitive::<Decimal128Type>().values().clone();
                Values::Decimals(values, *scale as u8)
            }
            (_, ArrowType::Decimal64(_, scale)) => {
                let values = array.as_primitive::<Decimal64Type>().values().clone();
                Values::Digits(values, *scale as u8)
            }
            (AggregateFunction::Min | AggregateFunction::Max, _) => Values::ordered(array),
            (_, ArrowType::Float32) => {
                let values = array.as_primitive::<Float32Type>().values();
                Values::Floats(values.iter().map(|&v| f64::from(v)).collect())
            }
            (_, ArrowType::Float64) => {
                Values::Floats(array.as_primitive::<Float64Type>().values().to_vec())
            }
            (function, other) => unreachable!("the planner makes no {function:?} of {other}"),
        }
    }

    fn ordered(array: &ArrayRef) -> Values {
        let back = Back::Number(array.data_type().clone());
        let numbers = match array.data_type() {
            ArrowType::Boolean => array.as_boolean().values().iter().map(i64::from).collect(),
            ArrowType::Float32 => {
                let values = array.as_primitive::<Float32Type>().values();
                values.iter().map(|&v| float_number(f64::from(v))).collect()
            }
            ArrowType::Float64 => {
                let values = array.as_primitive::<Float64Type>().values();
                values.iter().map(|&v| float_number(v)).collect()
            }
            ArrowType::Date32 => {
                let values = array.as_primitive::<Date32Type>().values();
                values.iter().map(|&v| i64::from(v)).collect()
            }
            ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
                array.as_primitive::<TimestampMicrosecondType>().values().to_vec()
            }
            _ => return ranks(array),
        };
        Values::Ordered(numbers, back)
    }
}

/// Ranks of strings among the distinct ones: comparing them once here makes all later comparisons cheap.
fn ranks(array: &ArrayRef) -> Values {
    let bytes = bytes_of(array)
        .unwrap_or_else(|| unreachable!("no SQL type maps to Arrow's {}", array.data_type()));
    let mut strings = Strings::default();
    let numbers: Vec<u32> = bytes.map(|value| strings.insert(value)).collect();
    let mut order: Vec<u32> = (0..strings.len() as u32).collect();
    order.sort_unstable_by(|&a, &b| strings.get(a).cmp(strings.get(b)));
    let mut rank = vec![0i64; order.len()];
    order.iter().zip(0..).for_each(|(&number, place)| rank[number as usize] = place);
    let sorted = order.iter().map(|&number| strings.get(number));
    let back: ArrayRef = match array.data_type() {
        ArrowType::Binary | ArrowType::BinaryView => {
            Arc::new(BinaryArray::from_iter_values(sorted))
        }
        _ => Arc::new(StringViewArray::from_iter_values(
            sorted.map(|s| std::str::from_utf8(s).expect("strings are UTF-8")),
        )),
    };
    Values::Ordered(numbers.iter().map(|&n| rank[n as usize]).collect(), Back::Rank(back))
}

impl Back {
    /// The values of numbers; `None` is NULL.
    pub fn values(&self, numbers: &[Option<i64>]) -> ArrayRef {
        let numbers = numbers.iter().copied();
        match self {
            Back::Rank(sorted) => {
                let places: PrimitiveArray<UInt32Type> =
                    numbers.map(|number| number.map(|n| n as u32)).collect();
                arrow_select::take::take(sorted, &places, None).expect("ranks lie inside the array")
            }
            Back::Number(data_type) => number_array(data_type, numbers),
        }
    }
}

/// An array of numbers as a type whose values they are, or stand for in order.
pub fn number_array(data_type: &ArrowType, numbers: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    match data_type {
        ArrowType::Boolean => {
            Arc::new(numbers.map(|n| n.map(|n| n != 0)).collect::<BooleanArray>())
        }
        ArrowType::Int16 => Arc::new(numbers.map(|n| n.map(|n| n as i16)).collect::<Int16Array>()),
        ArrowType::Int32 => Arc::new(numbers.map(|n| n.map(|n| n as i32)).collect::<Int32Array>()),
        ArrowType::Int64 => Arc::new(numbers.collect::<Int64Array>()),
        ArrowType::Float32 => {
            let values = numbers.map(|n| n.map(|n| number_float(n) as f32));
            Arc::new(values.collect::<PrimitiveArray<Float32Type>>())
        }
        ArrowType::Float64 => {
            let values = numbers.map(|n| n.map(number_float));
            Arc::new(values.collect::<PrimitiveArray<Float64Type>>())
        }
        ArrowType::Date32 => {
            Arc::new(numbers.map(|n| n.map(|n| n as i32)).collect::<Date32Array>())
        }
        ArrowType::Timestamp(TimeUnit::Microsecond, zone) => {
            let array = numbers.collect::<TimestampMicrosecondArray>();
            Arc::new(array.with_timezone_opt(zone.clone()))
        }
        other => unreachable!("{other} is not kept as numbers"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_ranked_bytewise() {
        let array: ArrayRef = Arc::new(StringViewArray::from(vec!["b", "", "Z", "b", "ä"]));
        let Values::Ordered(numbers, back) = Values::ordered(&array) else { unreachable!() };
        assert_eq!(numbers, [2, 0, 1, 2, 3]);
        let values = back.values(&[Some(3), None]);
        assert_eq!(values.as_string_view().value(0), "ä");
        assert!(values.is_null(1));
    }
}
