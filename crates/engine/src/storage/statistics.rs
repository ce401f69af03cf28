//! What the planner needs to know about a table, kept up by writes and sealing.

use std::hash::{BuildHasher, Hash};

use super::column_store::heap_size;
use super::histogram::{Histogram, ValueSample};
use super::{Chunk, ColumnSlice, Nulls, Zone, zone};
use crate::types::{ColumnId, DataType, Value, ValueRef};

/// Estimates; cheap to read at any time.
#[derive(Clone, Debug, Default)]
pub struct TableStatistics {
    /// Rows alive in the newest version.
    pub rows: u64,
    /// By [`crate::types::ColumnId`].
    pub columns: Vec<ColumnStatistics>,
}

/// Estimates about one column.
#[derive(Clone, Debug, Default)]
pub struct ColumnStatistics {
    /// Distinct values (probabilistic counting).
    pub distinct: f64,
    /// Share of NULLs, 0 to 1.
    pub null_share: f64,
    /// Smallest value seen.
    pub min: Option<Value>,
    /// Largest value seen.
    pub max: Option<Value>,
    /// Mean bytes of a value.
    pub width: f64,
    /// How the values are spread, where enough of them are known.
    pub histogram: Option<Histogram>,
}

/// Registers of a counter: a relative error of 1.04 / sqrt(1024), about 3 %.
const REGISTERS: usize = 1024;

/// Distinct values by HyperLogLog (Flajolet et al., 2007), the successor of the probabilistic
/// counting that the Crescando paper uses (section 5.4).
#[derive(Clone, Debug)]
struct DistinctCounter {
    registers: Box<[u8; REGISTERS]>,
}

impl DistinctCounter {
    fn new() -> DistinctCounter {
        DistinctCounter { registers: Box::new([0; REGISTERS]) }
    }

    #[inline]
    fn add(&mut self, value: impl Hash) {
        let hash = foldhash::quality::FixedState::with_seed(41).hash_one(value);
        let register = &mut self.registers[hash as usize % REGISTERS];
        // The remaining 54 bits; a one-bit below them bounds the rank.
        let rank = (hash >> 10 | 1 << 54).trailing_zeros() as u8 + 1;
        *register = (*register).max(rank);
    }

    /// Adds a value of a column as those of whole slices are added: by its stored form.
    fn add_value(&mut self, value: ValueRef<'_>, data_type: DataType) {
        match (value, data_type) {
            (ValueRef::Null, _) => {}
            (ValueRef::Boolean(v), _) => self.add(u8::from(v)),
            (ValueRef::SmallInt(v), _) => self.add(v),
            (ValueRef::Integer(v) | ValueRef::Date(v), _) => self.add(v),
            (ValueRef::BigInt(v) | ValueRef::Timestamp(v) | ValueRef::TimestampTz(v), _) => {
                self.add(v);
            }
            (ValueRef::Numeric(v, _), DataType::Numeric { precision: ..=18, .. }) => {
                self.add(v as i64);
            }
            (ValueRef::Numeric(v, _), _) => self.add(v),
            (ValueRef::Real(v), _) => self.add((v + 0.0).to_bits()),
            (ValueRef::Double(v), _) => self.add((v + 0.0).to_bits()),
            (ValueRef::Text(v), _) => self.add(v.as_bytes()),
            (ValueRef::Bytea(v), _) => self.add(v),
        }
    }

    fn estimate(&self) -> f64 {
        let registers = REGISTERS as f64;
        let sum: f64 = self.registers.iter().map(|rank| 1.0 / (1u64 << rank) as f64).sum();
        let raw = 0.7213 / (1.0 + 1.079 / registers) * registers * registers / sum;
        let vacant = self.registers.iter().filter(|rank| **rank == 0).count();
        // Small counts: linear counting is more precise.
        if raw <= 2.5 * registers && vacant > 0 {
            return registers * (registers / vacant as f64).ln();
        }
        raw
    }
}

/// What is known about the values of one column that were sealed since the last count.
#[derive(Clone, Debug)]
pub(super) struct ColumnCounter {
    distinct: DistinctCounter,
    values: u64,
    nulls: u64,
    bytes: u64,
    min: Option<Value>,
    max: Option<Value>,
    sample: ValueSample,
}

impl ColumnCounter {
    pub fn new() -> ColumnCounter {
        ColumnCounter {
            distinct: DistinctCounter::new(),
            values: 0,
            nulls: 0,
            bytes: 0,
            min: None,
            max: None,
            sample: ValueSample::default(),
        }
    }

    /// Bytes held, about.
    pub fn memory(&self) -> usize {
        size_of::<ColumnCounter>() + REGISTERS + self.sample.memory()
    }

    /// Adds one column of a chunk.
    fn add(&mut self, slice: ColumnSlice<'_>, zone: Zone) {
        self.values += slice.len() as u64;
        self.nulls += u64::from(zone.nulls);
        self.min = zone::smaller(self.min.take(), zone.min);
        self.max = zone::larger(self.max.take(), zone.max);
        self.sample.add(slice);
        self.count_values(slice);
    }

    /// Adds some rows of one column of a chunk.
    fn add_rows(
        &mut self,
        slice: ColumnSlice<'_>,
        data_type: DataType,
        rows: impl ExactSizeIterator<Item = u32> + Clone,
    ) {
        self.values += rows.len() as u64;
        self.sample.add_rows(slice, rows.clone());
        let mut bounds: Option<(ValueRef<'_>, ValueRef<'_>)> = None;
        for value in rows.map(|row| slice.value(row as usize, data_type)) {
            if value.is_null() {
                self.nulls += 1;
                continue;
            }
            self.bytes += heap_size(value) as u64;
            self.distinct.add_value(value, data_type);
            let (min, max) = bounds.unwrap_or((value, value));
            let min = if value.compare(min).is_lt() { value } else { min };
            bounds = Some((min, if value.compare(max).is_gt() { value } else { max }));
        }
        if let Some((min, max)) = bounds {
            self.min = zone::smaller(self.min.take(), Some(min.to_owned()));
            self.max = zone::larger(self.max.take(), Some(max.to_owned()));
        }
    }

    fn count_values(&mut self, slice: ColumnSlice<'_>) {
        let distinct = &mut self.distinct;
        match slice {
            ColumnSlice::Boolean(values, nulls) => count(distinct, values, nulls),
            ColumnSlice::Int16(values, nulls) => count(distinct, values, nulls),
            ColumnSlice::Int32(values, nulls) => count(distinct, values, nulls),
            ColumnSlice::Int64(values, nulls) => count(distinct, values, nulls),
            ColumnSlice::Int128(values, nulls) => count(distinct, values, nulls),
            ColumnSlice::Float32(values, nulls) => {
                values.iter().enumerate().for_each(|(row, v)| {
                    if !nulls.is_null(row) {
                        distinct.add((v + 0.0).to_bits());
                    }
                });
            }
            ColumnSlice::Float64(values, nulls) => {
                values.iter().enumerate().for_each(|(row, v)| {
                    if !nulls.is_null(row) {
                        distinct.add((v + 0.0).to_bits());
                    }
                });
            }
            ColumnSlice::Framed(..) => unreachable!("narrowed columns are counted row by row"),
            ColumnSlice::Codes(codes, dictionary, nulls) => {
                let mut seen = vec![false; dictionary.len()];
                for row in (0..codes.len()).filter(|row| !nulls.is_null(*row)) {
                    let code = codes.get(row);
                    if !std::mem::replace(&mut seen[code as usize], true) {
                        distinct.add(dictionary.get(code).as_bytes());
                    }
                    self.bytes += dictionary.get(code).len() as u64;
                }
            }
            ColumnSlice::Strings(strings, nulls) | ColumnSlice::Bytes(strings, nulls) => {
                for row in (0..strings.len()).filter(|row| !nulls.is_null(*row)) {
                    distinct.add(strings.bytes(row));
                }
                self.bytes += strings.heap().len() as u64;
            }
            ColumnSlice::Constant(value, rows) => {
                self.bytes += (rows * heap_size(value.borrow())) as u64;
            }
        }
    }

    /// Adds what another counter has seen.
    fn merge(&mut self, other: ColumnCounter) {
        let pairs = self.distinct.registers.iter_mut().zip(other.distinct.registers.iter());
        pairs.for_each(|(own, more)| *own = (*own).max(*more));
        self.values += other.values;
        self.nulls += other.nulls;
        self.bytes += other.bytes;
        self.min = zone::smaller(self.min.take(), other.min);
        self.max = zone::larger(self.max.take(), other.max);
        self.sample.merge(&other.sample);
    }

    /// Values counted so far, NULLs included.
    pub fn values(&self) -> u64 {
        self.values
    }

    /// Estimated distinct values.
    pub fn distinct(&self) -> f64 {
        self.distinct.estimate()
    }

    /// Mean bytes of a string.
    pub fn mean_bytes(&self) -> Option<f64> {
        (self.values > 0).then(|| self.bytes as f64 / self.values as f64)
    }

    fn statistics(&self, data_type: DataType) -> ColumnStatistics {
        let filled = self.values - self.nulls;
        let share = |part: u64, of: u64| if of == 0 { 0.0 } else { part as f64 / of as f64 };
        ColumnStatistics {
            distinct: self.distinct().min(filled as f64),
            null_share: share(self.nulls, self.values),
            min: self.min.clone(),
            max: self.max.clone(),
            width: fixed_width(data_type).unwrap_or_else(|| share(self.bytes, filled)),
            histogram: self.sample.histogram(),
        }
    }
}

fn count<T: Copy + Hash>(distinct: &mut DistinctCounter, values: &[T], nulls: Nulls<'_>) {
    match nulls {
        Nulls::None => values.iter().for_each(|value| distinct.add(value)),
        nulls => values.iter().enumerate().for_each(|(row, value)| {
            if !nulls.is_null(row) {
                distinct.add(value);
            }
        }),
    }
}

fn fixed_width(data_type: DataType) -> Option<f64> {
    Some(match data_type {
        DataType::Boolean => 1.0,
        DataType::SmallInt => 2.0,
        DataType::Integer | DataType::Date | DataType::Real => 4.0,
        DataType::BigInt | DataType::Timestamp | DataType::TimestampTz | DataType::Double => 8.0,
        DataType::Numeric { .. } => 16.0,
        _ => return None,
    })
}

/// What a chunk's living rows add to the counters of its columns.
pub(super) fn counters_of(chunk: &Chunk) -> Vec<ColumnCounter> {
    let living = chunk.living();
    let numbered = chunk.columns.iter().enumerate();
    let counters = numbered.map(|(at, column)| {
        let mut counter = ColumnCounter::new();
        let slice = chunk.column(ColumnId(at as u32));
        match (&living, slice) {
            (Some(rows), _) => counter.add_rows(slice, column.data_type, rows.iter().copied()),
            (None, ColumnSlice::Framed(..)) => {
                counter.add_rows(slice, column.data_type, 0..slice.len() as u32);
            }
            (None, _) => {
                let zone = chunk.zones.get().map(|zones| zones[at].clone());
                counter.add(slice, zone.unwrap_or_else(|| zone::of(slice, column.data_type)));
            }
        }
        counter
    });
    counters.collect()
}

/// Adds counters of the same columns.
pub(super) fn merge_counters(counters: &mut Vec<ColumnCounter>, more: Vec<ColumnCounter>) {
    for (at, counter) in more.into_iter().enumerate() {
        match counters.get_mut(at) {
            Some(present) => present.merge(counter),
            None => counters.push(counter),
        }
    }
}

/// Whether other counters know of four times as many distinct values of some column, or of a fourth: plans may change.
/// Few values are all alike.
pub(super) fn is_news(before: &[ColumnCounter], after: &[ColumnCounter]) -> bool {
    const FEW: f64 = 10.0;
    let none = ColumnCounter::new();
    (0..before.len().max(after.len())).any(|at| {
        let distinct = |all: &[ColumnCounter]| all.get(at).unwrap_or(&none).distinct().max(FEW);
        let (a, b) = (distinct(before), distinct(after));
        a.max(b) > 4.0 * a.min(b)
    })
}

/// The statistics that counters give.
pub(super) fn summarise(
    counters: &[ColumnCounter],
    types: impl Iterator<Item = DataType>,
) -> Vec<ColumnStatistics> {
    let none = ColumnCounter::new();
    types.enumerate().map(|(at, t)| counters.get(at).unwrap_or(&none).statistics(t)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_counts_are_close() {
        for expected in [0u64, 1, 10, 1_000, 20_000, 300_000] {
            let mut counter = DistinctCounter::new();
            (0..expected * 2).for_each(|i| counter.add(i % expected.max(1)));
            let found = counter.estimate();
            let error = (found - expected as f64).abs();
            assert!(error <= 0.1 * expected as f64 + 0.5, "{found} for {expected}");
        }
    }
}
