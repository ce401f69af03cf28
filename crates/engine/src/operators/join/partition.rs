//! A hash join's right side cut by key, so that all cores build its table and each piece of it lies in a core's cache while
//! it is built.
//!
//! In come the chunks that the workers have taken in ([`join_runs`] says whether cutting pays); out goes a [`JoinTable`] like that
//! of [`JoinTable::merge`]. Run by run the keys are read ([`JoinRun::of`]) and cut ([`JoinRun::cut`]) as [`Division`] says, so that
//! all rows of a key lie in one partition; partition by partition keys get ids and rows ([`Partition::of`]); in the end these
//! stand one behind the other ([`JoinTable::of_partitions`]). Where keys are ranked, partitions are ranges of them and
//! nothing reminds of the cut; else who looks up hashes once more to find the partition ([`PartitionedKeys`]). Every step but the
//! last is done for all runs or partitions at once by whoever is free: `heartbeat::read::run::join_table` calls them.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array};

use super::hash::{HashJoinNode, JoinBuild, JoinTable, Keys};
use super::rows_by_key::RowsByKey;
use crate::operators::kernel::{
    KeyRange, KeyTable, PartitionedKeys, RankedKeys, RankedPairs, bucket_all, partition_numbers,
    runs,
};
use crate::operators::{Batch, Faults};
use crate::query_set::{QuerySets, SlotBuckets, Tuples};
use crate::types::{Slot, for_each_integer};

/// Rows from which on cutting pays: one thread takes about two milliseconds for so many, as long as waking others for
/// three steps.
const ROWS: usize = 1 << 17;
/// Workers from which on it pays. Of hashed keys one table of all misses the caches that those of partitions lie in, so that
/// cutting takes two thirds of the time on two cores,
const WORKERS: usize = 2;
/// while ranked keys are found so quickly that all of it together takes half as much again as putting them together on one.
const WORKERS_OF_RANKED: usize = 4;
/// Rows of a partition: its keys, ids and rows take about half a megabyte, what the second cache of a core holds.
const PARTITION_ROWS: usize = 1 << 15;
/// Runs and partitions per worker: they differ in size, and nobody should wait long for the last one.
const PER_WORKER: usize = 4;
/// Partitions at most: more of them are written at once than a core keeps open.
const MOST_PARTITIONS: usize = 256;

/// The rows in runs of about equal length, of which each is read on its own; as they came where one thread is as fast.
pub fn join_runs(
    node: &HashJoinNode,
    builds: Vec<JoinBuild>,
    workers: usize,
) -> Result<Vec<Vec<Tuples>>, Vec<JoinBuild>> {
    let rows: usize = builds.iter().map(JoinBuild::rows).sum();
    let are_integers = node.keys.len() <= 2 && node.keys.iter().all(|key| node.is_integer(*key));
    let enough = if are_integers { WORKERS_OF_RANKED } else { WORKERS };
    if workers < enough || rows < ROWS || node.keys.is_empty() {
        return Err(builds);
    }
    let chunks = builds.into_iter().flat_map(JoinBuild::chunks);
    Ok(runs(chunks, rows.div_ceil(workers * PER_WORKER)))
}

/// The keys of one run.
#[derive(Clone, Debug)]
pub struct JoinRun {
    columns: Vec<ArrayRef>,
    rows: usize,
    /// Where they lie, by column; empty unless all columns are integers.
    ranges: Vec<KeyRange>,
}

impl JoinRun {
    /// Reads the keys of rows.
    pub fn of(node: &HashJoinNode, rows: &Tuples) -> JoinRun {
        let columns: Vec<ArrayRef> = node.keys.iter().map(|key| rows.column(key.1)).collect();
        let are_integers = node.keys.iter().all(|key| node.is_integer(*key));
        let ranged = if are_integers { &columns[..] } else { &[] };
        let ranges = ranged.iter().map(KeyRange::of).collect();
        JoinRun { rows: rows.rows, ranges, columns }
    }

    /// Its rows by partition, each partition's in their order.
    pub fn cut(&self, division: &Division) -> CutRun {
        let numbers = division.numbers(&self.columns, self.rows);
        let buckets = bucket_all(&numbers, division.partitions());
        let places = UInt32Array::from(buckets.rows.clone());
        let take = |column| arrow_select::take::take(column, &places, None);
        let columns = self.columns.iter().map(|column| take(column).expect("rows of the run"));
        CutRun { columns: columns.collect(), buckets }
    }
}

/// How rows are cut by key.
#[derive(Clone, Debug)]
pub enum Division {
    /// By ranges of one of at most two integer columns; what has no key is the last partition.
    Ranges {
        /// Position of the column.
        column: usize,
        /// The least value of each column.
        least: Vec<i64>,
        /// Numbers between the least and the largest key, both included.
        span: u64,
        /// A range has two to the power of so many numbers, 64 or more.
        shift: u32,
    },
    /// By the topmost bits of a hash.
    Hashes {
        /// How many.
        bits: u32,
    },
}

impl Division {
    /// The ways to cut these runs, the best one first; the last one is always possible.
    pub fn of(runs: &[JoinRun], workers: usize) -> Vec<Division> {
        let rows: usize = runs.iter().map(|run| run.rows).sum();
        let partitions = (rows / PARTITION_ROWS).max(workers * PER_WORKER);
        let partitions = partitions.next_power_of_two().min(MOST_PARTITIONS);
        let hashes = Division::Hashes { bits: partitions.ilog2() };
        Division::by_ranges(runs, rows, partitions as u64).into_iter().chain([hashes]).collect()
    }

    fn by_ranges(runs: &[JoinRun], rows: usize, partitions: u64) -> Option<Division> {
        let of_column = |column: usize| {
            let own = runs.iter().map(|run| run.ranges[column]);
            own.fold(KeyRange::NONE, KeyRange::with)
        };
        let ranges: Vec<KeyRange> = (0..runs.first()?.ranges.len()).map(of_column).collect();
        if !(1..=2).contains(&ranges.len()) {
            return None;
        }
        // The column of the larger span has more values, as a rule: that is the one to rank.
        let width = |range: &KeyRange| range.most.saturating_sub(range.least);
        let column = (0..ranges.len()).max_by_key(|&column| width(&ranges[column]))?;
        let span = ranges[column].span_of(rows)?;
        let shift = span.div_ceil(partitions).max(64).next_power_of_two().ilog2();
        let least = ranges.iter().map(|range| range.least).collect();
        Some(Division::Ranges { column, least, span, shift })
    }

    /// How many there are.
    pub fn partitions(&self) -> usize {
        match self {
            Division::Ranges { .. } => self.ranges() + 1,
            Division::Hashes { bits } => 1 << bits,
        }
    }

    fn ranges(&self) -> usize {
        match self {
            Division::Ranges { span, shift, .. } => span.div_ceil(1 << shift).max(1) as usize,
            Division::Hashes { .. } => 0,
        }
    }

    /// The partition of each row.
    fn numbers(&self, columns: &[ArrayRef], rows: usize) -> Vec<u32> {
        let Division::Ranges { column, least, shift, .. } = self else {
            return partition_numbers(columns, rows, self.partitions().ilog2());
        };
        let nowhere = self.ranges() as u32;
        let mut numbers = vec![nowhere; rows];
        for_each_integer(&columns[*column], |row, key| {
            numbers[row] = (key.wrapping_sub(least[*column]) as u64 >> shift) as u32;
        });
        for nulls in columns.iter().filter_map(|column| column.logical_nulls()) {
            let numbered = numbers.iter_mut().zip(nulls.iter());
            numbered.filter(|(_, valid)| !valid).for_each(|(number, _)| *number = nowhere);
        }
        numbers
    }
}

/// The keys of one run by partition.
#[derive(Debug)]
pub struct CutRun {
    columns: Vec<ArrayRef>,
    buckets: SlotBuckets,
}

impl CutRun {
    fn range(&self, partition: usize) -> (usize, usize) {
        let (start, end) = (self.buckets.offsets[partition], self.buckets.offsets[partition + 1]);
        (start as usize, (end - start) as usize)
    }
}

/// The right side, cut.
#[derive(Debug)]
pub struct CutRows {
    /// How.
    pub division: Division,
    /// All rows.
    pub rows: Arc<Tuples>,
    /// Their keys, run by run.
    pub runs: Vec<CutRun>,
}

impl CutRows {
    /// A partition's columns and, by row of it, the rows.
    fn partition(&self, number: usize) -> (Vec<ArrayRef>, Vec<u32>) {
        let mut rows = Vec::new();
        let mut first = 0;
        for run in &self.runs {
            rows.extend(run.buckets.rows(Slot(number as u32)).iter().map(|row| first + row));
            first += run.buckets.rows.len() as u32;
        }
        let column = |column: usize| {
            let slices = self.runs.iter().map(|run| {
                let (start, length) = run.range(number);
                run.columns[column].slice(start, length)
            });
            let slices: Vec<ArrayRef> = slices.collect();
            let slices: Vec<&dyn Array> = slices.iter().map(|slice| &**slice).collect();
            arrow_select::concat::concat(&slices).expect("one column of one type")
        };
        let columns = self.runs.first().map_or(0, |run| run.columns.len());
        ((0..columns).map(column).collect(), rows)
    }

    /// Of a partition's rows the order by slot, where each row has one.
    fn by_slot(&self, rows: &[u32], slots: usize) -> Option<Vec<u32>> {
        let QuerySets::Single(slot_of) = &self.rows.sets else { return None };
        let numbers: Vec<u32> = rows.iter().map(|&row| slot_of[row as usize].0).collect();
        (slots > 1).then(|| bucket_all(&numbers, slots).rows)
    }
}

/// The ids and rows of one partition's keys.
#[derive(Debug)]
pub struct Partition {
    keys: PartitionKeys,
    by_key: RowsByKey,
}

#[derive(Debug)]
enum PartitionKeys {
    /// Rows that have none.
    None,
    Integers(RankedKeys),
    Pairs(RankedPairs),
    Values(KeyTable),
}

impl Partition {
    /// Puts a partition together; `None` where its keys cannot be ranked. `slots` are those of the batch.
    pub fn of(
        node: &HashJoinNode,
        cut: &CutRows,
        number: usize,
        slots: usize,
    ) -> Option<Partition> {
        let (columns, rows) = cut.partition(number);
        let (keys, ids, length) = partition_keys(node, &cut.division, number, &columns)?;
        let order = cut.by_slot(&rows, slots);
        let by_key = RowsByKey::of(&ids, length, order.as_deref()).of_rows(&rows);
        Some(Partition { keys, by_key })
    }
}

/// A partition's keys, the id of each row's, and how many ids there are.
fn partition_keys(
    node: &HashJoinNode,
    division: &Division,
    number: usize,
    columns: &[ArrayRef],
) -> Option<(PartitionKeys, Vec<u32>, usize)> {
    let Division::Ranges { column, least, span, shift } = division else {
        let mut keys = KeyTable::new(node.scales());
        let ids = keys.insert(columns);
        let length = keys.len();
        return Some((PartitionKeys::Values(keys), ids, length));
    };
    if number == division.ranges() {
        return Some((PartitionKeys::None, vec![0; columns[0].len()], 1));
    }
    let start = (number as u64) << shift;
    let own = least[*column].wrapping_add(start as i64);
    let ranks = RankedKeys::within(own, (span - start).min(1 << shift), &columns[*column]);
    let Ok(pair) = <&[ArrayRef; 2]>::try_from(columns) else {
        let (ids, length) = (ranks.find(&columns[0]), ranks.len());
        return Some((PartitionKeys::Integers(ranks), ids, length));
    };
    let pairs = RankedPairs::beside(*column, ranks, least[1 - column], pair)?;
    let (ids, length) = (pairs.find(pair), pairs.len());
    Some((PartitionKeys::Pairs(pairs), ids, length))
}

/// The keys of partitions as those of one table.
fn joined(partitions: Vec<PartitionKeys>) -> Keys {
    let (mut integers, mut pairs, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for keys in partitions {
        match keys {
            PartitionKeys::None => {}
            PartitionKeys::Integers(keys) => integers.push(keys),
            PartitionKeys::Pairs(keys) => pairs.push(keys),
            PartitionKeys::Values(keys) => values.push(keys),
        }
    }
    match (integers.is_empty(), pairs.is_empty()) {
        (false, _) => Keys::Integers(RankedKeys::joined(integers)),
        (_, false) => Keys::Pairs(RankedPairs::joined(pairs)),
        (true, true) => Keys::Partitions(PartitionedKeys::new(values)),
    }
}

impl JoinTable {
    /// Puts all partitions of these rows together. Where there is no memory for their keys, whoever wants the rows fails with
    /// 53200.
    pub fn of_partitions(
        node: &HashJoinNode,
        batch: &Batch<'_>,
        rows: Arc<Tuples>,
        partitions: Vec<Partition>,
        faults: &mut Faults,
    ) -> JoinTable {
        let (keys, by_key): (Vec<PartitionKeys>, Vec<RowsByKey>) =
            partitions.into_iter().map(|own| (own.keys, own.by_key)).unzip();
        let keys = joined(keys);
        match keys.reserve(batch, &rows, faults) {
            true => JoinTable::new(batch, rows, keys, RowsByKey::joined(by_key)),
            false => JoinTable::merge(node, batch, Vec::new(), faults),
        }
    }
}
