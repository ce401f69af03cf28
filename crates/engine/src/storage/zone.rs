//! Smallest and largest values of a run of values.

use super::{ColumnSlice, Dictionary, Nulls, Unsigned, Zone, each_width};
use crate::types::{DataType, Value};

/// The zone of a column's values.
pub(super) fn of(slice: ColumnSlice<'_>, data_type: DataType) -> Zone {
    let bounds = match slice {
        ColumnSlice::Boolean(values, nulls) => rows_of(values, nulls, |a, b| a < b),
        ColumnSlice::Int16(values, nulls) => rows_of(values, nulls, |a, b| a < b),
        ColumnSlice::Int32(values, nulls) => rows_of(values, nulls, |a, b| a < b),
        ColumnSlice::Int64(values, nulls) => rows_of(values, nulls, |a, b| a < b),
        ColumnSlice::Int128(values, nulls) => rows_of(values, nulls, |a, b| a < b),
        ColumnSlice::Float32(values, nulls) => {
            rows_of(values, nulls, |a, b| a < b || b.is_nan() && !a.is_nan())
        }
        ColumnSlice::Float64(values, nulls) => {
            rows_of(values, nulls, |a, b| a < b || b.is_nan() && !a.is_nan())
        }
        ColumnSlice::Framed(_, distances, nulls) => {
            each_width!(distances, values => rows_of(values, nulls, |a, b| a < b))
        }
        ColumnSlice::Codes(codes, dictionary, nulls) => rows_of_codes(codes, dictionary, nulls),
        ColumnSlice::Strings(strings, nulls) | ColumnSlice::Bytes(strings, nulls) => {
            bounds_by(strings.len(), nulls, |a, b| strings.bytes(a) < strings.bytes(b))
        }
        ColumnSlice::Constant(value, rows) => (!value.is_null() && rows > 0).then_some((0, 0)),
    };
    let value = |row| slice.value(row, data_type).to_owned();
    Zone {
        min: bounds.map(|(min, _)| value(min)),
        max: bounds.map(|(_, max)| value(max)),
        nulls: nulls_of(slice),
    }
}

/// NULL rows of a column.
pub(super) fn nulls_of(slice: ColumnSlice<'_>) -> u32 {
    match (slice, slice.nulls()) {
        (ColumnSlice::Constant(value, rows), _) => {
            if value.is_null() {
                rows as u32
            } else {
                0
            }
        }
        (_, Nulls::None) => 0,
        (_, nulls) => {
            let rows = slice.len();
            let whole = (0..rows / 64).map(|word| nulls.word(word).count_ones());
            let rest = (!rows.is_multiple_of(64))
                .then(|| (nulls.word(rows / 64) & ((1 << (rows % 64)) - 1)).count_ones());
            whole.chain(rest).sum()
        }
    }
}

/// The rows of the smallest and the largest non-NULL value.
fn rows_of<T: Copy>(
    values: &[T],
    nulls: Nulls<'_>,
    less: impl Fn(T, T) -> bool,
) -> Option<(usize, usize)> {
    bounds_by(values.len(), nulls, |a, b| less(values[a], values[b]))
}

fn bounds_by(
    rows: usize,
    nulls: Nulls<'_>,
    less: impl Fn(usize, usize) -> bool,
) -> Option<(usize, usize)> {
    let mut bounds: Option<(usize, usize)> = None;
    for row in (0..rows).filter(|row| !nulls.is_null(*row)) {
        bounds = Some(match bounds {
            None => (row, row),
            Some((min, max)) => {
                (if less(row, min) { row } else { min }, if less(max, row) { row } else { max })
            }
        });
    }
    bounds
}

/// Compares strings once per distinct code.
fn rows_of_codes(
    codes: Unsigned<'_>,
    dictionary: &Dictionary,
    nulls: Nulls<'_>,
) -> Option<(usize, usize)> {
    let mut first_rows = vec![u32::MAX; dictionary.len()];
    for row in (0..codes.len()).filter(|row| !nulls.is_null(*row)) {
        let first = &mut first_rows[codes.get(row) as usize];
        *first = (*first).min(row as u32);
    }
    let rows: Vec<usize> =
        first_rows.iter().filter(|row| **row != u32::MAX).map(|row| *row as usize).collect();
    let text = |row: usize| dictionary.get(codes.get(row));
    let min = rows.iter().copied().min_by_key(|row| text(*row))?;
    let max = rows.iter().copied().max_by_key(|row| text(*row))?;
    Some((min, max))
}

/// The larger of two optional values by SQL order, ignoring the missing one.
pub(super) fn larger(a: Option<Value>, b: Option<Value>) -> Option<Value> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if a.borrow().compare(b.borrow()).is_lt() { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// The smaller of two optional values by SQL order, ignoring the missing one.
pub(super) fn smaller(a: Option<Value>, b: Option<Value>) -> Option<Value> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.borrow().compare(a.borrow()).is_lt() { b } else { a }),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_largest_and_null_is_neither() {
        let zone = of(ColumnSlice::Float64(&[1.0, f64::NAN, -3.0], Nulls::None), DataType::Double);
        assert_eq!(zone.min, Some(Value::Double(-3.0)));
        assert!(matches!(zone.max, Some(Value::Double(v)) if v.is_nan()));
        let words = [std::sync::atomic::AtomicU64::new(0b101)];
        let zone = of(ColumnSlice::Int32(&[9, 5, -9], Nulls::Bits(&words)), DataType::Integer);
        let five = Some(Value::Integer(5));
        assert_eq!(zone, Zone { min: five.clone(), max: five, nulls: 2 });
    }

    #[test]
    fn codes_compare_by_string() {
        let dictionary = Dictionary::new();
        let codes = ["pear", "apple", "fig"].map(|text| dictionary.intern(text));
        let zone = of(
            ColumnSlice::Codes(Unsigned::Bits32(&codes), &dictionary, Nulls::None),
            DataType::Text,
        );
        assert_eq!(zone.min, Some(Value::Text("apple".into())));
        assert_eq!(zone.max, Some(Value::Text("pear".into())));
    }
}
