//! ORDER BY with the activations' LIMIT and OFFSET (Top-N).
//!
//! Two ways, chosen by the number of comparisons. *Shared*: one sort of all rows by normalised keys, then one
//! pass in which every slot counts its rows and keeps its cut: rows × log rows plus (row, slot) pairs. *Own*:
//! each slot selects its cut among its own rows and sorts that: pairs plus cut × log cut per slot, which wins
//! where rows have few slots each or cuts are small.
//!
//! Ties are broken by input order, so that the result is a function of the input.
//!
//! Many rows are sorted on all workers. Where slots want few of them, each run is rid first of what no slot's cut can hold
//! ([`sort_runs`], [`sort_run`]); else they are divided into ranges of the order, or by slot ([`DividedSort`]).

mod divided;
mod runs;

use std::ops::Range;

use super::kernel::{Order, concat, no_rows};
use super::{Batch, Cut, Faults};
use crate::plan::SortKey;
use crate::query_set::{QuerySets, SlotBuckets, Tuples};
use crate::types::{Error, Slot};

pub use divided::{DividedSort, SortRun, divided_runs};
pub use runs::{sort_run, sort_runs};

/// ORDER BY, with the activations' LIMIT and OFFSET.
#[derive(Clone, Debug, Default)]
pub struct SortNode {
    /// Most significant first.
    pub keys: Vec<SortKey>,
}

/// One worker's part of a sort's input.
#[derive(Debug, Default)]
pub struct SortBuild {
    pub(in crate::operators) chunks: Vec<Tuples>,
}

impl SortBuild {
    /// Takes in a chunk. Beyond the batch's memory its activations fail with 53200.
    pub fn add(&mut self, node: &SortNode, batch: &Batch<'_>, tuples: Tuples, faults: &mut Faults) {
        let width = 8 * (tuples.sources.len() + tuples.computed.len() + node.keys.len()) + 4;
        match batch.budget.reserve(tuples.rows * width) {
            Ok(()) => self.chunks.push(tuples),
            Err(error) => {
                refuse(batch, tuples, &error, faults);
            }
        }
    }
}

/// Sorts the whole input and gives every slot its cut: each slot's rows come in its order. `cuts` by slot.
pub fn sort(
    node: &SortNode,
    batch: &Batch<'_>,
    cuts: &[Cut],
    builds: Vec<SortBuild>,
    faults: &mut Faults,
) -> Tuples {
    let chunks: Vec<Tuples> = builds.into_iter().flat_map(|build| build.chunks).collect();
    let Some(tuples) = concat(chunks, batch.sets) else { return no_rows() };
    if tuples.rows == 0 {
        return tuples;
    }
    let memory = tuples.rows * 16;
    if let Err(error) = batch.budget.reserve(memory) {
        return refuse(batch, tuples, &error, faults);
    }
    let order = Order::new(&node.keys, &tuples);
    let sorted = in_order(&order, batch, cuts, &tuples).of(&tuples);
    batch.budget.release(memory);
    sorted
}

fn rows(builds: &[SortBuild]) -> usize {
    builds.iter().flat_map(|build| &build.chunks).map(|chunk| chunk.rows).sum()
}

/// Whoever wants the rows fails; nobody gets any.
fn refuse(batch: &Batch<'_>, tuples: Tuples, error: &Error, faults: &mut Faults) -> Tuples {
    let wanted = tuples.sets.wanted(tuples.rows, batch.sets);
    batch.sets.for_each(wanted, |slot| faults.add(slot, error.clone()));
    tuples.emptied()
}

/// Who sorts which rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// One slot wants all rows, and keeps so many.
    One(Cut),
    /// Each slot its own.
    Own,
    /// All rows at once, and nobody leaves any out.
    Whole,
    /// All rows at once, of which each slot keeps its cut.
    Cut,
}

fn way(tuples: &Tuples, batch: &Batch<'_>, cuts: &[Cut]) -> Way {
    if let QuerySets::Uniform(set) = tuples.sets
        && let Some(slot) = batch.sets.single(set)
    {
        return Way::One(cuts[slot.index()]);
    }
    if own_is_cheaper(tuples, batch, cuts) {
        return Way::Own;
    }
    let wanted = tuples.sets.wanted(tuples.rows, batch.sets);
    let mut everything = true;
    batch.sets.for_each(wanted, |slot| everything &= cuts[slot.index()] == Cut::ALL);
    if everything { Way::Whole } else { Way::Cut }
}

/// Rows in their order, and who wants them where that is not who wanted them before.
#[derive(Debug, Default)]
pub struct Sorted {
    rows: Vec<u32>,
    sets: Option<QuerySets>,
}

impl Sorted {
    fn whole(rows: Vec<u32>) -> Sorted {
        Sorted { rows, sets: None }
    }

    fn of(self, tuples: &Tuples) -> Tuples {
        match self.sets {
            None => tuples.take(&self.rows),
            Some(sets) => tuples.take_as(&self.rows, sets),
        }
    }
}

fn in_order(order: &Order, batch: &Batch<'_>, cuts: &[Cut], tuples: &Tuples) -> Sorted {
    let all = 0..tuples.rows as u32;
    match way(tuples, batch, cuts) {
        Way::One(cut) => Sorted::whole(first_rows(order, all, cut)),
        Way::Own => {
            let buckets = tuples.sets.expand(tuples.rows, batch.sets);
            own_rows(order, cuts, &buckets, 0..batch.sets.slots() as u32)
        }
        Way::Whole => Sorted::whole(order.sorted(order.keyed(all))),
        Way::Cut => {
            let sorted = order.sorted(order.keyed(all));
            cut_shared(sorted.into_iter(), batch, cuts, tuples)
        }
    }
}

/// Whether a selection per slot takes fewer steps than one sort of all rows.
fn own_is_cheaper(tuples: &Tuples, batch: &Batch<'_>, cuts: &[Cut]) -> bool {
    if matches!(tuples.sets, QuerySets::Single(_)) {
        return true;
    }
    let pairs = tuples.sets.pairs(tuples.rows, batch.sets);
    let wanted = tuples.sets.wanted(tuples.rows, batch.sets);
    let slots = batch.sets.cardinality(wanted).max(1);
    let mut kept = 0;
    batch.sets.for_each(wanted, |slot| {
        kept += cuts[slot.index()].end().min((pairs / slots) as u64) as usize;
    });
    let sorting = |rows: usize| rows * (rows.max(2).ilog2() as usize);
    // A kept pair is one more output row, and a row costs about as much as eight steps.
    pairs + slots * sorting(kept / slots) + 8 * kept < sorting(tuples.rows) + pairs / 2
}

/// The cut of `rows`, in order.
fn first_rows(order: &Order, rows: impl ExactSizeIterator<Item = u32>, cut: Cut) -> Vec<u32> {
    let end = cut.end().min(rows.len() as u64) as usize;
    let first = match end < rows.len() / 2 {
        true => order.select(rows, end),
        false => order.keyed(rows),
    };
    kept(order.sorted(first), cut)
}

/// Of sorted rows those that a cut leaves.
fn kept(mut sorted: Vec<u32>, cut: Cut) -> Vec<u32> {
    let end = cut.end().min(sorted.len() as u64) as usize;
    sorted.truncate(end);
    sorted.drain(..(cut.skip as usize).min(end));
    sorted
}

/// The cut of each of some slots among its own rows.
fn own_rows(order: &Order, cuts: &[Cut], buckets: &SlotBuckets, of: Range<u32>) -> Sorted {
    let (mut rows, mut slots) = (Vec::new(), Vec::new());
    for slot in of.map(Slot) {
        let first = first_rows(order, buckets.rows(slot).iter().copied(), cuts[slot.index()]);
        slots.extend(std::iter::repeat_n(slot, first.len()));
        rows.extend(first);
    }
    Sorted { rows, sets: Some(QuerySets::Single(slots)) }
}

/// One pass over sorted rows: each slot keeps its cut. Ends when no slot wants more.
fn cut_shared(
    sorted: impl Iterator<Item = u32>,
    batch: &Batch<'_>,
    cuts: &[Cut],
    tuples: &Tuples,
) -> Sorted {
    let wanted = tuples.sets.wanted(tuples.rows, batch.sets);
    let mut seen = vec![0u64; batch.sets.slots()];
    let mut open = batch.sets.members(wanted).filter(|s| cuts[s.index()].end() > 0).count();
    let (mut rows, mut slots, mut offsets) = (Vec::new(), Vec::new(), vec![0u32]);
    for row in sorted {
        if open == 0 {
            break;
        }
        tuples.sets.row(row as usize).for_each(batch.sets, |slot| {
            let (cut, seen) = (cuts[slot.index()], &mut seen[slot.index()]);
            if (cut.skip..cut.end()).contains(seen) {
                slots.push(slot);
            }
            *seen += 1;
            open -= usize::from(*seen == cut.end());
        });
        if slots.len() > offsets[rows.len()] as usize {
            rows.push(row);
            offsets.push(slots.len() as u32);
        }
    }
    let sets = QuerySets::Pairs { offsets, slots }.compact(rows.len(), batch.sets);
    Sorted { rows, sets: Some(sets) }
}
