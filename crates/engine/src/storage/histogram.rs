//! How a column's values are spread: an equi-depth histogram over a sample.
//!
//! In comes a sealed chunk's column, of which a few rows are kept; out comes, per column, which share of
//! the values is below a bound. Called by `statistics`; `scan` and `plan` ask.

use std::hash::BuildHasher;
use std::sync::Arc;

use super::ColumnSlice;
use crate::types::Value;

/// Rows of a chunk that go into the sample.
const ROWS_OF_CHUNK: usize = 16;
/// Values that a column's sample may have: a quantile is then wrong by about 1 / sqrt(1024), 3 %.
const MOST: usize = 1024;
/// Parts of equal size into which a histogram divides the values.
const PARTS: usize = 64;

/// A few of a column's values, as positions on one scale.
#[derive(Clone, Debug, Default)]
pub struct ValueSample {
    values: Vec<f64>,
    /// One of so many rows that were taken is kept: doubled whenever the sample is full.
    thinned: usize,
    taken: usize,
}

/// Numbers in a row to numbers without order: rows at even distances would meet the period of values that repeat.
fn scatter(number: usize) -> u64 {
    foldhash::quality::FixedState::with_seed(43).hash_one(number)
}

/// Bounds of parts with equally many values.
#[derive(Clone, Debug)]
pub struct Histogram {
    bounds: Arc<[f64]>,
}

impl ValueSample {
    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.values.capacity() * size_of::<f64>()
    }

    /// Takes rows of a chunk's column; NULLs are left out.
    pub fn add(&mut self, slice: ColumnSlice<'_>) {
        self.add_rows(slice, 0..slice.len() as u32);
    }

    /// Takes some of these rows.
    pub fn add_rows(
        &mut self,
        slice: ColumnSlice<'_>,
        rows: impl ExactSizeIterator<Item = u32> + Clone,
    ) {
        let (all, step) = (rows.len(), rows.len().div_ceil(ROWS_OF_CHUNK).max(1));
        for first in (0..all).step_by(step) {
            let at = (first + scatter(self.taken) as usize % step).min(all - 1);
            let row = rows.clone().nth(at).expect("one of the rows") as usize;
            if let Some(value) = position(slice, row).filter(|value| !value.is_nan()) {
                self.take(value);
            }
        }
    }

    fn take(&mut self, value: f64) {
        self.taken += 1;
        if !scatter(self.taken).is_multiple_of(1 << self.thinned) {
            return;
        }
        if self.values.len() == MOST {
            let mut position = 0;
            self.values.retain(|_| {
                position += 1;
                scatter(position).is_multiple_of(2)
            });
            self.thinned += 1;
        }
        self.values.push(value);
    }

    /// Takes what another sample has kept.
    pub fn merge(&mut self, other: &ValueSample) {
        other.values.iter().for_each(|&value| self.take(value));
    }

    /// The histogram; `None` where too little is known.
    pub fn histogram(&self) -> Option<Histogram> {
        if self.values.len() < PARTS {
            return None;
        }
        let mut sorted = self.values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let bound = |part: usize| sorted[part * (sorted.len() - 1) / PARTS];
        Some(Histogram { bounds: (0..=PARTS).map(bound).collect() })
    }
}

impl Histogram {
    /// The share of values below a bound on the column's scale, 0 to 1.
    pub fn below(&self, bound: f64) -> f64 {
        let smaller = self.bounds.partition_point(|own| *own < bound);
        let Some(part) = smaller.checked_sub(1) else { return 0.0 };
        let Some(end) = self.bounds.get(smaller) else { return 1.0 };
        let width = end - self.bounds[part];
        let within = if width > 0.0 { (bound - self.bounds[part]) / width } else { 1.0 };
        (part as f64 + within) / PARTS as f64
    }
}

/// Where a row's value lies on its column's scale; `None` for NULL.
fn position(slice: ColumnSlice<'_>, row: usize) -> Option<f64> {
    if slice.nulls().is_null(row) {
        return None;
    }
    Some(match slice {
        ColumnSlice::Boolean(values, _) => f64::from(values[row]),
        ColumnSlice::Int16(values, _) => f64::from(values[row]),
        ColumnSlice::Int32(values, _) => f64::from(values[row]),
        ColumnSlice::Int64(values, _) => values[row] as f64,
        ColumnSlice::Int128(values, _) => values[row] as f64,
        ColumnSlice::Float32(values, _) => f64::from(values[row]),
        ColumnSlice::Float64(values, _) => values[row],
        ColumnSlice::Framed(base, distances, _) => (base + i64::from(distances.get(row))) as f64,
        ColumnSlice::Codes(codes, dictionary, _) => {
            position_of_bytes(dictionary.get(codes.get(row)).as_bytes())
        }
        ColumnSlice::Strings(strings, _) | ColumnSlice::Bytes(strings, _) => {
            position_of_bytes(strings.bytes(row))
        }
        ColumnSlice::Constant(value, _) => return position_of(value),
    })
}

/// Where a value lies on its column's scale: numbers by value, decimals by their unscaled digits, times by their units,
/// strings by their first bytes. `None` for NULL.
pub fn position_of(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Null => return None,
        Value::Boolean(value) => f64::from(u8::from(*value)),
        Value::SmallInt(value) => f64::from(*value),
        Value::Integer(value) | Value::Date(value) => f64::from(*value),
        Value::BigInt(value) | Value::Timestamp(value) | Value::TimestampTz(value) => *value as f64,
        Value::Real(value) => f64::from(*value),
        Value::Double(value) => *value,
        Value::Numeric(value, _) => *value as f64,
        Value::Text(text) => position_of_bytes(text.as_bytes()),
        Value::Bytea(bytes) => position_of_bytes(bytes),
    })
}

/// The first bytes as a fraction: neighbouring strings lie next to each other.
pub fn position_of_bytes(bytes: &[u8]) -> f64 {
    bytes.iter().take(7).rev().fold(0.0, |scale, &byte| (scale + f64::from(byte)) / 256.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Nulls;

    fn sample(values: &[i32]) -> ValueSample {
        let mut sample = ValueSample::default();
        let chunks = values.chunks(ROWS_OF_CHUNK);
        chunks.for_each(|chunk| sample.add(ColumnSlice::Int32(chunk, Nulls::None)));
        sample
    }

    #[test]
    fn skewed_values_are_told_from_evenly_spread_ones() {
        // Nine of ten values are below 100, the others spread to a million.
        let value = |i: i32| if i % 10 == 9 { i * 20 } else { i % 100 };
        let values: Vec<i32> = (0..50_000).map(value).collect();
        let histogram = sample(&values).histogram().expect("enough values");
        for bound in [1, 50, 100, 500_000, 2_000_000] {
            let real = values.iter().filter(|v| **v < bound).count() as f64 / values.len() as f64;
            let found = histogram.below(f64::from(bound));
            assert!((real - found).abs() < 0.08, "below {bound}: {found} for {real}");
        }
    }

    #[test]
    fn a_sample_stays_small_and_takes_from_all_rows() {
        let values: Vec<i32> = (0..1_000_000).collect();
        let sample = sample(&values);
        assert!(sample.values.len() <= MOST && sample.values.len() >= MOST / 3);
        let half = sample.histogram().expect("enough values").below(500_000.0);
        assert!((half - 0.5).abs() < 0.05, "{half}");
    }

    #[test]
    fn too_few_values_make_no_histogram() {
        assert!(sample(&[1, 2, 3]).histogram().is_none());
    }
}
