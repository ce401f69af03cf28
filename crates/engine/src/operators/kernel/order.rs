//! ORDER BY's order over the rows of Tuples.
//!
//! The first keys become a 64-bit prefix that never contradicts the order, so that most comparisons are one of
//! numbers; where prefixes are equal and do not say all, the typed columns decide, and in the end the row.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, BinaryArray, StringViewArray};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{DataType as ArrowType, TimeUnit};

use super::codes::{Interner, bytes_of, float_number};
use crate::plan::SortKey;
use crate::query_set::Tuples;

/// A row behind its prefix.
pub type Keyed = (u64, u32);

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
    Numbers(ScalarBuffer<i64>),
    Wide(ScalarBuffer<i128>),
    Strings(StringViewArray),
    Bytes(BinaryArray),
}

impl Order {
    /// The order of `keys` over all rows.
    pub fn new(keys: &[SortKey], tuples: &Tuples) -> Order {
        let arrays: Vec<ArrayRef> = keys.iter().map(|key| tuples.column(key.column)).collect();
        Order::of_columns(keys, &arrays, tuples.rows)
    }

    /// The order of `keys` over `rows` rows whose values are there, an array per key.
    pub fn of_columns(keys: &[SortKey], arrays: &[ArrayRef], rows: usize) -> Order {
        let columns = keys.iter().zip(arrays).map(|(key, array)| Column::new(key, array));
        let columns: Vec<Column> = columns.collect();
        let (prefixes, rest) = prefixes(&columns, rows);
        Order { prefixes, columns, rest }
    }

    /// Rows with their prefixes.
    pub fn keyed(&self, rows: impl Iterator<Item = u32>) -> Vec<Keyed> {
        rows.map(|row| (self.prefixes[row as usize], row)).collect()
    }

    /// Rows in order; equal ones by their numbers.
    pub fn sorted(&self, mut rows: Vec<Keyed>) -> Vec<u32> {
        match self.is_exact() {
            true => rows.sort_unstable(),
            false => rows.sort_unstable_by(|&a, &b| self.compare(a, b)),
        }
        rows.into_iter().map(|(_, row)| row).collect()
    }

    /// Whether equal prefixes mean equal rows.
    fn is_exact(&self) -> bool {
        self.rest == self.columns.len()
    }

    /// Rows that divide all into `ranges`, 256 at most, of about as many each, by a sample.
    pub fn bounds(&self, ranges: usize) -> Bounds {
        let rows = self.prefixes.len();
        let count = (ranges * SAMPLED).min(rows);
        let sample = (0..count).map(|number| (number * rows / count) as u32);
        let sorted = self.sorted(self.keyed(sample));
        let bounds = (1..ranges).map(|range| sorted[range * count / ranges]);
        Bounds::new(self.keyed(bounds))
    }

    /// Rows by range, of which there is one more than bounds: a bound is the first of its own.
    pub fn divide(&self, bounds: &Bounds, rows: Range<u32>) -> Vec<Vec<Keyed>> {
        let mut counts = vec![0; bounds.ranges()];
        let numbers = rows.clone().map(|row| {
            let range = self.range(bounds, (self.prefixes[row as usize], row));
            counts[range] += 1;
            range as u8
        });
        let numbers: Vec<u8> = numbers.collect();
        let mut ranges: Vec<Vec<Keyed>> = counts.into_iter().map(Vec::with_capacity).collect();
        for (row, &range) in rows.zip(&numbers) {
            ranges[usize::from(range)].push((self.prefixes[row as usize], row));
        }
        ranges
    }

    /// Bounds that stand before a row, or are it.
    #[inline]
    fn range(&self, bounds: &Bounds, row: Keyed) -> usize {
        let cell = bounds.cell(row.0);
        let near = &bounds.rows[cell.clone()];
        let before = near.partition_point(|bound| bound.0 < row.0);
        match near.get(before) {
            Some(bound) if bound.0 == row.0 => {
                let rest = &near[before..];
                cell.start + before + rest.partition_point(|&b| self.compare(b, row).is_le())
            }
            _ => cell.start + before,
        }
    }

    /// The first `count` of `rows` in this order, unsorted. Rows behind the worst of the best seen so far are
    /// passed over by their prefix alone.
    pub fn select(&self, rows: impl Iterator<Item = u32>, count: usize) -> Vec<Keyed> {
        if count == 0 {
            return Vec::new();
        }
        let room = 2 * count + 64;
        let mut best: Vec<Keyed> = Vec::with_capacity(room);
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
        best
    }

    fn keep(&self, best: &mut Vec<Keyed>, count: usize) -> u64 {
        let (_, &mut (worst, _), _) =
            best.select_nth_unstable_by(count - 1, |&a, &b| self.compare(a, b));
        best.truncate(count);
        worst
    }

    #[inline]
    fn compare(&self, a: Keyed, b: Keyed) -> Ordering {
        a.0.cmp(&b.0).then_with(|| self.compare_columns(a.1, b.1))
    }

    fn compare_columns(&self, a: u32, b: u32) -> Ordering {
        let columns = self.columns[self.rest..].iter();
        let mut orders = columns.map(|column| column.compare(a as usize, b as usize));
        orders.find(|order| order.is_ne()).unwrap_or_else(|| a.cmp(&b))
    }
}

/// Rows between ranges of an order, with a table that leads from a prefix to the few that may stand beside it.
#[derive(Debug)]
pub struct Bounds {
    rows: Vec<Keyed>,
    least: u64,
    shift: u32,
    /// By cell of prefixes, the bounds below it; one more in the end.
    cells: Vec<u32>,
}

/// Cells of prefixes: sixteen for each of 256 bounds, so that most hold none.
const CELLS: u32 = 1 << 12;

impl Bounds {
    fn new(rows: Vec<Keyed>) -> Bounds {
        let (least, most) = match (rows.first(), rows.last()) {
            (Some(first), Some(last)) => (first.0, last.0),
            _ => (0, 0),
        };
        let bits = u64::BITS - (most - least).leading_zeros();
        let shift = bits.saturating_sub(CELLS.ilog2());
        let below = |cell: u32| {
            let end = least.checked_add(u64::from(cell) << shift);
            end.map_or(rows.len(), |end| rows.partition_point(|row| row.0 < end)) as u32
        };
        let mut cells: Vec<u32> = (0..CELLS).map(below).collect();
        cells.push(rows.len() as u32);
        Bounds { least, shift, cells, rows }
    }

    /// How many ranges they divide rows into.
    pub fn ranges(&self) -> usize {
        self.rows.len() + 1
    }

    /// The bounds in the cell of a prefix: all before them stand before its rows, all behind them behind.
    #[inline]
    fn cell(&self, prefix: u64) -> Range<usize> {
        let cell = (prefix.saturating_sub(self.least) >> self.shift).min(u64::from(CELLS) - 1);
        self.cells[cell as usize] as usize..self.cells[cell as usize + 1] as usize
    }
}

/// Ranks of one column: numbers of at most so many bits that order like the rows and are equal where these are.
struct Ranks {
    of_rows: Vec<u64>,
    bits: u32,
}

/// A number per row that orders like the rows, and how many of the first columns equal numbers mean equal values of. Ranks of
/// column after column stand side by side as long as there is room; of the next one as many bits as are left.
fn prefixes(columns: &[Column], rows: usize) -> (Vec<u64>, usize) {
    let (mut prefixes, mut free) = (vec![0; rows], u64::BITS);
    for (known, column) in columns.iter().enumerate() {
        // One column's prefixes are soon made; ranks pay where many rows are compared.
        let ranks = if rows < RANKED_ROWS { None } else { column.ranks() };
        let Some(Ranks { of_rows, bits }) = ranks.filter(|ranks| ranks.bits < free) else {
            let (own, exact) = column.prefixes(rows);
            let is_whole = free == u64::BITS;
            let all = prefixes.iter_mut().zip(own);
            match is_whole {
                true => all.for_each(|(prefix, own)| *prefix = own),
                false => {
                    all.for_each(|(prefix, own)| *prefix = *prefix << free | own >> (64 - free))
                }
            }
            return (prefixes, known + usize::from(is_whole && exact));
        };
        let all = prefixes.iter_mut().zip(of_rows);
        all.for_each(|(prefix, rank)| *prefix = *prefix << bits | rank);
        free -= bits;
    }
    (prefixes, columns.len())
}

/// Rows of a sample per range: the largest of 256 ranges is then expected to hold one and a half times its share.
const SAMPLED: usize = 32;
/// From so many rows on columns are ranked.
const RANKED_ROWS: usize = 512;
/// Strings are ranked where there are at most so many different ones,
const MOST_STRINGS: usize = 4096;
/// and not half as many among the first so many.
const SAMPLE_STRINGS: usize = 1024;

impl Column {
    /// `None` where they would take more bits than a number has, or more time than they save.
    fn ranks(&self) -> Option<Ranks> {
        let (mut ranks, most) = match &self.values {
            Values::Numbers(values) => number_ranks(values.iter().copied())?,
            Values::Wide(values) => {
                let narrow: Option<Vec<i64>> =
                    values.iter().map(|&value| i64::try_from(value).ok()).collect();
                number_ranks(narrow?.into_iter())?
            }
            Values::Strings(values) => string_ranks(values)?,
            Values::Bytes(_) => return None,
        };
        if self.descending {
            ranks.iter_mut().for_each(|rank| *rank = most - *rank);
        }
        let mut last = most;
        if let Some(nulls) = &self.nulls {
            last = most.checked_add(1)?;
            let step = u64::from(self.nulls_first);
            let null = if self.nulls_first { 0 } else { last };
            let rows = ranks.iter_mut().zip(nulls.iter());
            rows.for_each(|(rank, valid)| *rank = if valid { *rank + step } else { null });
        }
        Some(Ranks { of_rows: ranks, bits: u64::BITS - last.leading_zeros() })
    }

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
            ArrowType::Null => Values::Numbers(vec![0; array.len()].into()),
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
            ArrowType::Int64 => Values::Numbers(array.as_primitive::<Int64Type>().values().clone()),
            ArrowType::Date32 => {
                let values = array.as_primitive::<Date32Type>().values();
                Values::Numbers(values.iter().map(|&v| i64::from(v)).collect())
            }
            ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
                Values::Numbers(array.as_primitive::<TimestampMicrosecondType>().values().clone())
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
                Values::Wide(array.as_primitive::<Decimal128Type>().values().clone())
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

/// How far numbers lie above the least, and the most; those of NULLs, which may be anything, count as well.
fn number_ranks(values: impl Iterator<Item = i64> + Clone) -> Option<(Vec<u64>, u64)> {
    let first = values.clone().next()?;
    let widen = |(least, most): (i64, i64), value: i64| (least.min(value), most.max(value));
    let (least, most) = values.clone().fold((first, first), widen);
    Some((values.map(|value| value.abs_diff(least)).collect(), most.abs_diff(least)))
}

/// The places of strings among the different ones, and the last place.
fn string_ranks(values: &StringViewArray) -> Option<(Vec<u64>, u64)> {
    let distinct = |rows: usize| {
        let own: ArrayRef = Arc::new(values.slice(0, rows));
        let codes = Interner::default().insert(&own).codes;
        let count = codes.iter().max().map_or(0, |&most| most as usize + 1);
        (codes, count)
    };
    let sample = values.len().min(SAMPLE_STRINGS);
    if distinct(sample).1 > sample / 2 {
        return None;
    }
    let (codes, count) = distinct(values.len());
    if count > MOST_STRINGS {
        return None;
    }
    // A row of each.
    let mut rows = vec![0; count];
    codes.iter().enumerate().for_each(|(row, &code)| rows[code as usize] = row);
    let mut sorted: Vec<u64> = (0..count as u64).collect();
    sorted.sort_unstable_by_key(|&code| values.value(rows[code as usize]).as_bytes());
    let mut ranks = vec![0; count];
    sorted.into_iter().zip(0..).for_each(|(code, rank)| ranks[code as usize] = rank);
    Some((codes.into_iter().map(|code| ranks[code as usize]).collect(), count as u64 - 1))
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
    use arrow_array::{Decimal128Array, Int64Array};
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Columns of few values and of many, with NULLs, in all directions: rows come as a plain comparison says.
    #[test]
    fn rows_are_sorted_as_column_after_column_says() {
        for seed in 0..60 {
            let mut random = StdRng::seed_from_u64(seed);
            let rows = random.random_range(RANKED_ROWS..3 * RANKED_ROWS);
            let columns: Vec<Column> =
                (0..random.random_range(1..5)).map(|_| column(&mut random, rows)).collect();
            let (prefixes, rest) = prefixes(&columns, rows);
            let order = Order { prefixes, columns, rest };
            let sorted = order.sorted(order.keyed(0..rows as u32));
            let plain = |&a: &u32, &b: &u32| {
                let columns = order.columns.iter();
                let orders = columns.map(|own| own.compare(a as usize, b as usize));
                orders.fold(Ordering::Equal, Ordering::then).then(a.cmp(&b))
            };
            assert!(sorted.is_sorted_by(|a, b| plain(a, b).is_le()), "seed {seed}");
        }
    }

    fn column(random: &mut StdRng, rows: usize) -> Column {
        let few = random.random_range(1..40i64);
        let mut numbers = |least: i64, most: i64| -> Vec<i64> {
            (0..rows).map(|_| random.random_range(least..=most)).collect()
        };
        let array: ArrayRef = match few % 5 {
            0 => Arc::new(Int64Array::from(numbers(i64::MIN, i64::MAX))),
            1 => Arc::new(Int64Array::from(numbers(-few, few))),
            2 => {
                let wide = numbers(-few, few).into_iter().map(|n| i128::from(n) << (few % 3 * 40));
                Arc::new(Decimal128Array::from_iter_values(wide))
            }
            3 => {
                let names =
                    numbers(0, few).into_iter().map(|n| format!("a name of some length {n}"));
                Arc::new(StringViewArray::from_iter_values(names))
            }
            _ => {
                let names = numbers(0, 1 << 40).into_iter().map(|n| n.to_string());
                Arc::new(StringViewArray::from_iter_values(names))
            }
        };
        let nulls = few % 2 == 0;
        let nulls =
            nulls.then(|| NullBuffer::from_iter((0..rows).map(|_| random.random_bool(0.9))));
        let (descending, nulls_first) = (random.random_bool(0.5), random.random_bool(0.5));
        Column { values: Values::new(&array), nulls, descending, nulls_first }
    }

    /// Ranges one after the other, each sorted, are all rows in order, whether prefixes say all or nothing.
    #[test]
    fn ranges_stand_one_behind_the_other() {
        for seed in 0..60 {
            let mut random = StdRng::seed_from_u64(seed);
            let rows = random.random_range(1..3 * RANKED_ROWS);
            let columns: Vec<Column> =
                (0..random.random_range(0..4)).map(|_| column(&mut random, rows)).collect();
            let (prefixes, rest) = prefixes(&columns, rows);
            let order = Order { prefixes, columns, rest };
            let bounds = order.bounds(random.random_range(1..=256.min(rows)));
            let ranges = order.divide(&bounds, 0..rows as u32);
            let sorted: Vec<u32> = ranges.into_iter().flat_map(|own| order.sorted(own)).collect();
            assert_eq!(sorted, order.sorted(order.keyed(0..rows as u32)), "seed {seed}");
        }
    }

    #[test]
    fn prefixes_never_contradict_the_order() {
        let strings: [&[u8]; 6] = [b"", b"\0", b"a", b"abcdefgh", b"abcdefghi", b"b"];
        assert!(strings.windows(2).all(|w| bytes_prefix(w[0]) <= bytes_prefix(w[1])));
        assert!([i64::MIN, -1, 0, 5, i64::MAX].map(unsigned).is_sorted());
    }
}
