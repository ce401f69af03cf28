//! ORDER BY's order over the rows of Tuples.
//!
//! The first key becomes a 64-bit prefix that never contradicts the order, so that most comparisons are one of
//! numbers; where prefixes are equal and do not say all, the typed columns decide, and in the end the row.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, BinaryArray, StringViewArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType as ArrowType, TimeUnit};

use super::codes::{bytes_of, float_number};
use crate::plan::SortKey;
use crate::query_set::Tuples;

/// A total order of rows.
#[derive(Debug)]
pub struct Order {
    prefixes: Vec<u64>,
    columns: Vec<Column>,
    /// Keys that equal prefixes leave open.
    rest: usize,
}

#[derive(Debug)]
struct Column {
    values: Values,
    nulls: Option<NullBuffer>,
    descending: bool,
    nulls_first: bool,
}

#[derive(Debug)]
enum Values {
    Numbers(Vec<i64>),
    Wide(Vec<i128>),
    Strings(StringViewArray),
    Bytes(BinaryArray),
}

impl Order {
    /// The order of `keys` over all rows.
    pub fn new(keys: &[SortKey], tuples: &Tuples) -> Order {
        let columns: Vec<Column> =
            keys.iter().map(|key| Column::new(key, &tuples.column(key.column))).collect();
        match columns.first() {
            None => Order { prefixes: vec![0; tuples.rows], columns, rest: 0 },
            Some(first) => {
                let (prefixes, exact) = first.prefixes(tuples.rows);
                Order { prefixes, rest: usize::from(exact), columns }
            }
        }
    }

    /// Sorts rows; equal ones stay in ascending order of their numbers.
    pub fn sort(&self, rows: &mut [u32]) {
        let mut keyed: Vec<(u64, u32)> =
            rows.iter().map(|&row| (self.prefixes[row as usize], row)).collect();
        match self.rest == self.columns.len() {
            true => keyed.sort_unstable(),
            false => keyed.sort_unstable_by(|&a, &b| self.compare(a, b)),
        }
        rows.iter_mut().zip(keyed).for_each(|(row, (_, sorted))| *row = sorted);
    }

    /// The first `count` of `rows` in this order, unsorted. Rows behind the worst of the best seen so far are
    /// passed over by their prefix alone.
    pub fn select(&self, rows: impl Iterator<Item = u32>, count: usize) -> Vec<u32> {
        if count == 0 {
            return Vec::new();
        }
        let room = 2 * count + 64;
        let mut best: Vec<(u64, u32)> = Vec::with_capacity(room);
        let mut worst = u64::MAX;
        for row in rows {
            let prefix = self.prefixes[row as usize];
            if prefix <= worst {
                best.push((prefix, row));
                if best.len() == room {
                    worst = self.keep(&mut best, count);
                }
            }
        }
        if best.len() > count {
            self.keep(&mut best, count);
        }
        best.into_iter().map(|(_, row)| row).collect()
    }

    fn keep(&self, best: &mut Vec<(u64, u32)>, count: usize) -> u64 {
        let (_, &mut (worst, _), _) =
            best.select_nth_unstable_by(count - 1, |&a, &b| self.compare(a, b));
        best.truncate(count);
        worst
    }

    #[inline]
    fn compare(&self, a: (u64, u32), b: (u64, u32)) -> Ordering {
        a.0.cmp(&b.0).then_with(|| self.compare_columns(a.1, b.1))
    }

    fn compare_columns(&self, a: u32, b: u32) -> Ordering {
        let columns = self.columns[self.rest..].iter();
        let orders = columns.map(|column| column.compare(a as usize, b as usize));
        orders.fold(Ordering::Equal, Ordering::then).then(a.cmp(&b))
    }
}

impl Column {
    fn new(key: &SortKey, array: &ArrayRef) -> Column {
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let SortKey { descending, nulls_first, .. } = *key;
        Column { values: Values::new(array), nulls, descending, nulls_first }
    }

    fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    fn compare(&self, a: usize, b: usize) -> Ordering {
        let order = match (self.is_null(a), self.is_null(b)) {
            (true, true) => return Ordering::Equal,
            (true, false) if self.nulls_first => return Ordering::Less,
            (false, true) if !self.nulls_first => return Ordering::Less,
            (true, false) | (false, true) => return Ordering::Greater,
            (false, false) => self.values.compare(a, b),
        };
        if self.descending { order.reverse() } else { order }
    }

    /// A number per row that orders like the rows, and whether equal numbers mean equal values.
    fn prefixes(&self, rows: usize) -> (Vec<u64>, bool) {
        let (mut prefixes, exact) = self.values.prefixes(rows);
        if self.descending {
            prefixes.iter_mut().for_each(|prefix| *prefix = !*prefix);
        }
        let Some(nulls) = &self.nulls else { return (prefixes, exact) };
        let null = if self.nulls_first { 0 } else { u64::MAX };
        let valid = prefixes.iter_mut().zip(nulls.iter());
        valid.filter(|(_, valid)| !valid).for_each(|(prefix, _)| *prefix = null);
        (prefixes, false)
    }
}

impl Values {
    fn new(array: &ArrayRef) -> Values {
        match array.data_type() {
            ArrowType::Null => Values::Numbers(vec![0; array.len()]),
            ArrowType::Boolean => {
                Values::Numbers(array.as_boolean().values().iter().map(i64::from).collect())
            }
            ArrowType::Int16 => {
                let values = array.as_primitive::<Int16Type>().values();
                Values::Numbers(values.iter().map(|&v| i64::from(v)).collect())
            }
            ArrowType::Int32 => {
                let values = array.as_primitive::<Int32Type>().values();
                Values::Numbers(values.iter().map(|&v| i64::from(v)).collect())
            }
            ArrowType::Int64 => {
                Values::Numbers(array.as_primitive::<Int64Type>().values().to_vec())
            }
            ArrowType::Date32 => {
                let values = array.as_primitive::<Date32Type>().values();
                Values::Numbers(values.iter().map(|&v| i64::from(v)).collect())
            }
            ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
                Values::Numbers(array.as_primitive::<TimestampMicrosecondType>().values().to_vec())
            }
            ArrowType::Float32 => {
                let values = array.as_primitive::<Float32Type>().values();
                Values::Numbers(values.iter().map(|&v| float_number(f64::from(v))).collect())
            }
            ArrowType::Float64 => {
                let values = array.as_primitive::<Float64Type>().values();
                Values::Numbers(values.iter().map(|&v| float_number(v)).collect())
            }
            ArrowType::Decimal128(..) => {
                Values::Wide(array.as_primitive::<Decimal128Type>().values().to_vec())
            }
            ArrowType::Utf8View => Values::Strings(array.as_string_view().clone()),
            _ => {
                let bytes = bytes_of(array);
                let bytes = bytes.unwrap_or_else(|| unreachable!("{}", array.data_type()));
                Values::Bytes(BinaryArray::from_iter_values(bytes))
            }
        }
    }

    fn compare(&self, a: usize, b: usize) -> Ordering {
        match self {
            Values::Numbers(values) => values[a].cmp(&values[b]),
            Values::Wide(values) => values[a].cmp(&values[b]),
            Values::Strings(values) => values.value(a).as_bytes().cmp(values.value(b).as_bytes()),
            Values::Bytes(values) => values.value(a).cmp(values.value(b)),
        }
    }

    fn prefixes(&self, rows: usize) -> (Vec<u64>, bool) {
        match self {
            Values::Numbers(values) => (values.iter().map(|&v| unsigned(v)).collect(), true),
            Values::Wide(values) => {
                let fits = |value: &i128| i64::try_from(*value).is_ok();
                let clamp = |v: i128| v.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
                let prefixes = values.iter().map(|&value| unsigned(clamp(value)));
                (prefixes.collect(), values.iter().all(fits))
            }
            Values::Strings(values) => {
                let prefixes = (0..rows).map(|row| bytes_prefix(values.value(row).as_bytes()));
                (prefixes.collect(), false)
            }
            Values::Bytes(values) => {
                ((0..rows).map(|row| bytes_prefix(values.value(row))).collect(), false)
            }
        }
    }
}

fn unsigned(value: i64) -> u64 {
    value as u64 ^ 1 << 63
}

/// The first eight bytes; shorter strings are filled up with zeros, which sort before all else.
fn bytes_prefix(bytes: &[u8]) -> u64 {
    let mut prefix = [0; 8];
    let length = bytes.len().min(8);
    prefix[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_never_contradict_the_order() {
        let strings: [&[u8]; 6] = [b"", b"\0", b"a", b"abcdefgh", b"abcdefghi", b"b"];
        assert!(strings.windows(2).all(|w| bytes_prefix(w[0]) <= bytes_prefix(w[1])));
        assert!([i64::MIN, -1, 0, 5, i64::MAX].map(unsigned).is_sorted());
    }
}
