//! ORDER BY with the activations' LIMIT and OFFSET (Top-N).
//!
//! Two ways, chosen by the number of comparisons. *Shared*: one sort of all rows by normalised keys, then one
//! pass in which every slot counts its rows and keeps its cut: rows × log rows plus (row, slot) pairs. *Own*:
//! each slot selects its cut among its own rows and sorts that: pairs plus cut × log cut per slot, which wins
//! where rows have few slots each or cuts are small.
//!
//! Ties are broken by input order, so that the result is a function of the input.
//!
//! Where slots want few of many rows, each run of these is rid first of what no slot's cut can hold, by whoever is free
//! ([`sort_runs`], [`sort_run`]). Rows of which most are wanted are sorted by one thread.

use super::kernel::{Order, concat, no_rows, runs};
use super::{Batch, Cut, Faults};
use crate::plan::SortKey;
use crate::query_set::{QuerySets, SetId, SlotBuckets, Tuples};

/// ORDER BY, with the activations' LIMIT and OFFSET.
#[derive(Clone, Debug, Default)]
pub struct SortNode {
    /// Most significant first.
    pub keys: Vec<SortKey>,
}

/// One worker's part of a sort's input.
#[derive(Debug, Default)]
pub struct SortBuild {
    chunks: Vec<Tuples>,
}

impl SortBuild {
    /// Takes in a chunk. Beyond the batch's memory its activations fail with 53200.
    pub fn add(&mut self, node: &SortNode, batch: &Batch<'_>, tuples: Tuples, faults: &mut Faults) {
        let width = 8 * (tuples.sources.len() + tuples.computed.len() + node.keys.len()) + 4;
        match batch.budget.reserve(tuples.rows * width) {
            Ok(()) => self.chunks.push(tuples),
            Err(error) => {
                let wanted = tuples.sets.wanted(tuples.rows, batch.sets);
                batch.sets.for_each(wanted, |slot| faults.add(slot, error.clone()));
            }
        }
    }
}

/// Rows from which on runs pay: one thread takes about two milliseconds for so many.
const ROWS: usize = 1 << 16;
/// Runs per worker: nobody should wait long for the last one.
const RUNS: usize = 2;
/// Where more than one of so many rows is wanted of a run, sorting it is work done twice: at one in one a whole sort takes 1.7
/// times as long on two cores.
const SELECTIVITY: u64 = 8;

/// The input in runs of about equal length for [`sort_run`]; as it came where one thread is as fast.
pub fn sort_runs(
    builds: Vec<SortBuild>,
    cuts: &[Cut],
    workers: usize,
) -> Result<Vec<SortBuild>, Vec<SortBuild>> {
    let rows = builds.iter().flat_map(|build| &build.chunks).map(|chunk| chunk.rows).sum::<usize>();
    let length = rows.div_ceil((workers * RUNS).max(1));
    let kept = cuts.iter().fold(0u64, |kept, cut| kept.saturating_add(cut.end()));
    let pays = kept.saturating_mul(SELECTIVITY) <= length as u64;
    if workers < 2 || rows < ROWS || !pays {
        return Err(builds);
    }
    let chunks = builds.into_iter().flat_map(|build| build.chunks);
    Ok(runs(chunks, length).into_iter().map(|chunks| SortBuild { chunks }).collect())
}

/// A run without what is behind the end of every slot's cut.
pub fn sort_run(
    node: &SortNode,
    batch: &Batch<'_>,
    cuts: &[Cut],
    run: SortBuild,
    faults: &mut Faults,
) -> SortBuild {
    let cuts: Vec<Cut> = cuts.iter().map(|cut| Cut { skip: 0, fetch: cut.end() }).collect();
    SortBuild { chunks: vec![sort(node, batch, &cuts, vec![run], faults)] }
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
        let wanted = tuples.sets.wanted(tuples.rows, batch.sets);
        batch.sets.for_each(wanted, |slot| faults.add(slot, error.clone()));
        return tuples.emptied();
    }
    let order = Order::new(&node.keys, &tuples);
    let sorted = in_order(&order, batch, cuts, tuples);
    batch.budget.release(memory);
    sorted
}

fn in_order(order: &Order, batch: &Batch<'_>, cuts: &[Cut], tuples: Tuples) -> Tuples {
    if let QuerySets::Uniform(set) = tuples.sets
        && let Some(slot) = batch.sets.single(set)
    {
        return tuples.take(&first_rows(order, 0..tuples.rows as u32, cuts[slot.index()]));
    }
    match own_is_cheaper(&tuples, batch, cuts) {
        true => sort_own(order, batch, cuts, tuples),
        false => sort_shared(order, batch, cuts, tuples),
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
    let mut first = match end < rows.len() / 2 {
        true => order.select(rows, end),
        false => rows.collect(),
    };
    order.sort(&mut first);
    first.truncate(end);
    first.drain(..(cut.skip as usize).min(end));
    first
}

fn sort_own(order: &Order, batch: &Batch<'_>, cuts: &[Cut], tuples: Tuples) -> Tuples {
    let buckets: SlotBuckets = tuples.sets.expand(tuples.rows, batch.sets);
    let (mut rows, mut slots) = (Vec::new(), Vec::new());
    for (slot, own) in buckets.iter() {
        let first = first_rows(order, own.iter().copied(), cuts[slot.index()]);
        slots.extend(std::iter::repeat_n(slot, first.len()));
        rows.extend(first);
    }
    let shared = Tuples { sets: QuerySets::Uniform(batch.sets.all()), ..tuples };
    let mut sorted = shared.take(&rows);
    sorted.sets = QuerySets::Single(slots);
    sorted
}

fn sort_shared(order: &Order, batch: &Batch<'_>, cuts: &[Cut], tuples: Tuples) -> Tuples {
    let mut rows: Vec<u32> = (0..tuples.rows as u32).collect();
    order.sort(&mut rows);
    let wanted = tuples.sets.wanted(tuples.rows, batch.sets);
    let mut everything = true;
    batch.sets.for_each(wanted, |slot| everything &= cuts[slot.index()] == Cut::ALL);
    if everything {
        return tuples.take(&rows);
    }
    let (rows, sets) = cut_shared(&rows, batch, cuts, &tuples.sets, wanted);
    let shared = Tuples { sets: QuerySets::Uniform(batch.sets.all()), ..tuples };
    let mut sorted = shared.take(&rows);
    sorted.sets = sets.compact(rows.len(), batch.sets);
    sorted
}

/// One pass over sorted rows: each slot keeps its cut. Ends when no slot wants more.
fn cut_shared(
    sorted: &[u32],
    batch: &Batch<'_>,
    cuts: &[Cut],
    sets: &QuerySets,
    wanted: SetId,
) -> (Vec<u32>, QuerySets) {
    let mut seen = vec![0u64; batch.sets.slots()];
    let mut open = batch.sets.members(wanted).filter(|s| cuts[s.index()].end() > 0).count();
    let (mut rows, mut slots, mut offsets) = (Vec::new(), Vec::new(), vec![0u32]);
    for &row in sorted {
        if open == 0 {
            break;
        }
        sets.row(row as usize).for_each(batch.sets, |slot| {
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
    (rows, QuerySets::Pairs { offsets, slots })
}
