//! A sort of many rows on all workers.
//!
//! The rows are divided into ranges of the order, or slot by slot where each slot sorts its own, and every part is sorted by
//! itself. Nothing is merged: a row's number breaks ties, so that what stands in one range stands before all of the next
//! (sample sort). A range fits a core's second cache, which is why dividing first costs no more than sorting at once.
//!
//! In this order, each step for all items side by side but for the second, [`heartbeat`](crate::heartbeat) running them:
//! [`SortRun::of`] run by run, [`DividedSort::new`], [`DividedSort::divide`] by stretches of rows,
//! [`DividedSort::sorted`] part by part, [`DividedSort::take`] likewise.

use std::ops::Range;

use arrow_array::ArrayRef;

use super::{SortBuild, SortNode, Sorted, Way, cut_shared, kept, own_rows, refuse, rows, way};
use crate::operators::kernel::{Bounds, Keyed, Order, concat, runs};
use crate::operators::{Batch, Cut, Faults};
use crate::query_set::{SetTable, SlotBuckets, Tuples};

/// Rows from which on dividing pays: one thread takes about five milliseconds for so many.
const ROWS: usize = 1 << 16;
/// Rows of a range: half a megabyte of keys and numbers. Few in tests, whose inputs are small.
const RANGE: usize = if cfg!(test) { 1 << 4 } else { 1 << 15 };
/// Ranges at most: a worker writes to all of them by turns, and a byte tells one.
const MOST_RANGES: usize = 256;
/// Parts per worker: nobody should wait long for the last one.
const PARTS: usize = 4;

/// The input in runs of about equal length for [`SortRun::of`]; as it came where one thread is as fast.
pub fn divided_runs(
    builds: Vec<SortBuild>,
    workers: usize,
) -> Result<Vec<Vec<Tuples>>, Vec<SortBuild>> {
    let rows = rows(&builds);
    if workers < 2 || rows < ROWS {
        return Err(builds);
    }
    let chunks = builds.into_iter().flat_map(|build| build.chunks);
    Ok(runs(chunks, rows.div_ceil(workers * PARTS)))
}

/// A run of the input with its sort keys.
#[derive(Debug)]
pub struct SortRun {
    tuples: Tuples,
    keys: Vec<ArrayRef>,
}

impl SortRun {
    /// Reads the keys of a run; `None` where it has no rows.
    pub fn of(node: &SortNode, chunks: Vec<Tuples>, sets: &SetTable) -> Option<SortRun> {
        let tuples = concat(chunks, sets)?;
        let keys = node.keys.iter().map(|key| tuples.column(key.column)).collect();
        Some(SortRun { tuples, keys })
    }
}

/// How the rows are divided.
#[derive(Debug)]
enum Division {
    /// Ranges of the order.
    Ranges(Bounds),
    /// By slot.
    Slots(SlotBuckets),
}

/// What one worker sorts at a time.
#[derive(Debug)]
pub enum SortPart {
    /// A range's rows, as they were divided, and which of them are wanted.
    Range(Vec<Vec<Keyed>>, Cut),
    /// Slots.
    Slots(Range<u32>),
}

/// All rows, on their way to be sorted.
#[derive(Debug)]
pub struct DividedSort {
    tuples: Tuples,
    order: Order,
    way: Way,
    division: Division,
    workers: usize,
}

impl DividedSort {
    /// Puts runs together and decides how to divide them; no rows where there is no memory for their order.
    pub fn new(
        node: &SortNode,
        batch: &Batch<'_>,
        cuts: &[Cut],
        runs: Vec<SortRun>,
        workers: usize,
        faults: &mut Faults,
    ) -> Result<DividedSort, Tuples> {
        let keys = concat_keys(node, &runs);
        let tuples = runs.into_iter().map(|run| run.tuples).collect();
        let tuples = concat(tuples, batch.sets).expect("there are many rows");
        if let Err(error) = batch.budget.reserve(memory(&tuples)) {
            return Err(refuse(batch, tuples, &error, faults));
        }
        let order = Order::of_columns(&node.keys, &keys, tuples.rows);
        let way = way(&tuples, batch, cuts);
        let division = match way {
            Way::Own => Division::Slots(tuples.sets.expand(tuples.rows, batch.sets)),
            _ => Division::Ranges(order.bounds((tuples.rows / RANGE).clamp(1, MOST_RANGES))),
        };
        Ok(DividedSort { tuples, order, way, division, workers })
    }

    /// Stretches of rows for [`DividedSort::divide`].
    pub fn stretches(&self) -> Vec<Range<u32>> {
        match &self.division {
            Division::Slots(_) => Vec::new(),
            Division::Ranges(_) => parts(self.tuples.rows, self.workers * PARTS),
        }
    }

    /// The rows of a stretch by range.
    pub fn divide(&self, rows: Range<u32>) -> Vec<Vec<Keyed>> {
        match &self.division {
            Division::Slots(_) => Vec::new(),
            Division::Ranges(bounds) => self.order.divide(bounds, rows),
        }
    }

    /// What is to be sorted, of `divided` stretches.
    pub fn parts(&self, divided: Vec<Vec<Vec<Keyed>>>) -> Vec<SortPart> {
        let Division::Ranges(bounds) = &self.division else {
            let slots = parts(self.slots().offsets.len() - 1, self.workers * PARTS);
            return slots.into_iter().map(SortPart::Slots).collect();
        };
        let mut ranges: Vec<Vec<Vec<Keyed>>> = vec![Vec::new(); bounds.ranges()];
        for stretch in divided {
            ranges.iter_mut().zip(stretch).for_each(|(range, own)| range.push(own));
        }
        let all = match self.way {
            Way::One(cut) => cut,
            _ => Cut::ALL,
        };
        let mut before = 0;
        let part = |range: Vec<Vec<Keyed>>| {
            let end = before + range.iter().map(|own| own.len() as u64).sum::<u64>();
            let cut = all.within(before..end);
            before = end;
            SortPart::Range(range, cut)
        };
        ranges.into_iter().map(part).collect()
    }

    /// The rows of a part in their order.
    pub fn sorted(&self, cuts: &[Cut], part: SortPart) -> Sorted {
        match part {
            SortPart::Range(range, cut) => {
                let rows = if cut.fetch == 0 { Vec::new() } else { range.concat() };
                Sorted::whole(kept(self.order.sorted(rows), cut))
            }
            SortPart::Slots(slots) => own_rows(&self.order, cuts, self.slots(), slots),
        }
    }

    /// What remains of sorted ranges where several slots cut the same rows.
    pub fn cut(&self, batch: &Batch<'_>, cuts: &[Cut], sorted: Vec<Sorted>) -> Vec<Sorted> {
        if self.way != Way::Cut {
            return sorted;
        }
        let rows = sorted.iter().flat_map(|part| &part.rows).copied();
        vec![cut_shared(rows, batch, cuts, &self.tuples)]
    }

    /// Sorted rows as tuples.
    pub fn take(&self, sorted: Sorted) -> Tuples {
        sorted.of(&self.tuples)
    }

    /// Gives back the memory of the order.
    pub fn release(&self, batch: &Batch<'_>) {
        batch.budget.release(memory(&self.tuples));
    }

    fn slots(&self) -> &SlotBuckets {
        match &self.division {
            Division::Slots(slots) => slots,
            Division::Ranges(_) => unreachable!("ranges are not sorted by slot"),
        }
    }
}

/// A prefix, the row beside it once more in its range, and its place.
fn memory(tuples: &Tuples) -> usize {
    tuples.rows * 32
}

fn concat_keys(node: &SortNode, runs: &[SortRun]) -> Vec<ArrayRef> {
    let concat = |key: usize| {
        let arrays: Vec<_> = runs.iter().map(|run| &*run.keys[key]).collect();
        arrow_select::concat::concat(&arrays).expect("runs of one operator have equal types")
    };
    (0..node.keys.len()).map(concat).collect()
}

/// `0..all` in so many parts of about equal length.
fn parts(all: usize, parts: usize) -> Vec<Range<u32>> {
    let length = all.div_ceil(parts.max(1)).max(1);
    let starts = (0..all).step_by(length);
    starts.map(|start| start as u32..(start + length).min(all) as u32).collect()
}
