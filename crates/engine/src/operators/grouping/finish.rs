//! Phase 2: group ids and sets to one output row per slot and group.

use arrow_array::ArrayRef;

use super::GroupNode;
use super::accumulator::Accumulator;
use super::argument::Argument;
use super::build::{Chunk, GroupBuild};
use super::fold::Folded;
use super::output::Output;
use crate::operators::kernel::{bucket_all, concat, concat_arguments};
use crate::operators::{Batch, Faults};
use crate::query_set::{QuerySets, Recall, SetId, SlotBuckets, Tuples};
use crate::types::{Error, Slot};

/// A grouping's whole input, ready to be aggregated slot by slot.
#[derive(Debug)]
pub struct Groups {
    /// Of each row.
    pub(super) groups: Vec<u32>,
    pub(super) count: usize,
    pub(super) arguments: Vec<Argument>,
    /// Where rows are partial aggregates, these by aggregate.
    pub(super) folded: Option<Vec<Accumulator>>,
    /// The first row of each group; `None` without keys.
    pub(super) representatives: Option<Tuples>,
    /// Columns of the output that are keys.
    pub(super) keys: usize,
    phases: Phases,
}

/// How rows become slots' groups.
#[derive(Debug)]
enum Phases {
    /// Rows bucketed by slot.
    BySlot(SlotBuckets),
    /// Rows bucketed by set; no slot is in two of them.
    Disjoint(Vec<SetId>, SlotBuckets),
    /// Rows aggregated per set; a slot merges those of its sets.
    Merged(Partials),
    /// Rows are partial aggregates of one set: each is a result.
    Whole(SetId),
}

/// Groups of each distinct set.
#[derive(Debug)]
pub(super) struct Partials {
    /// Group ids; those of set `i` are `offsets[i]..offsets[i + 1]`.
    pub(super) groups: Vec<u32>,
    pub(super) offsets: Vec<u32>,
    pub(super) accumulators: Vec<Accumulator>,
    /// The sets of each slot.
    sets: SlotBuckets,
}

/// Groups of a piece of the output: some milliseconds' work for what comes next.
const PIECE_GROUPS: usize = 1 << 15;

/// Distinct sets beyond which phase 2 always runs by slot.
const SETS: usize = 4096;

impl Groups {
    /// Puts the workers' parts together.
    pub fn merge(
        node: &GroupNode,
        batch: &Batch<'_>,
        builds: Vec<GroupBuild>,
        faults: &mut Faults,
    ) -> Groups {
        let mut builds = builds.into_iter().peekable();
        // What was cut by key has to find its groups' keys anew.
        let first = builds.next_if(GroupBuild::knows_its_keys);
        let mut all = first.unwrap_or_default();
        builds.for_each(|build| all.absorb(node, build));
        if all.folded.is_some() {
            all.fold(node, batch, faults);
        }
        let count = all.groups();
        if let Err(error) = batch.budget.reserve(all.memory()) {
            fail_all(&mut all.chunks, batch, faults, &error);
            if let Some(folded) = all.folded.take() {
                folded.fail_all(batch, faults, &error);
            }
        }
        let representatives = concat(all.representatives, batch.sets);
        let whole =
            all.folded.as_ref().and_then(Folded::only_set).filter(|_| !node.keys.is_empty());
        let Input { groups, sets, arguments, folded } = match all.folded {
            Some(folded) => Input::of_folded(folded, batch),
            None => Input::of_rows(node, batch, all.chunks),
        };
        let mut merged = Groups {
            groups,
            count,
            arguments,
            folded,
            representatives,
            phases: Phases::Disjoint(
                Vec::new(),
                SlotBuckets { offsets: vec![0], rows: Vec::new() },
            ),
            keys: node.keys.len(),
        };
        merged.phases = match whole {
            Some(set) => Phases::Whole(set),
            None => merged.choose(node, batch, &sets),
        };
        merged
    }

    /// The parts into which the output may be cut where it need not keep the rows of a slot together; `None` where it
    /// is too little to be cut, or can only be cut by slots.
    pub fn pieces(&self) -> Option<usize> {
        let pieces = self.groups.len().div_ceil(PIECE_GROUPS);
        (matches!(self.phases, Phases::Whole(_)) && pieces > 1).then_some(pieces)
    }

    /// Aggregates part `part` of `parts` of the slots in `set`; parts may run on different workers.
    pub fn finish(
        &self,
        node: &GroupNode,
        batch: &Batch<'_>,
        set: SetId,
        (part, parts): (usize, usize),
        faults: &mut Faults,
    ) -> Tuples {
        if let Phases::Whole(set) = self.phases {
            let output = Output::of_partials(self, share(self.groups.len(), part, parts));
            return output.into_tuples(node, batch, QuerySets::Uniform(set), faults);
        }
        let mut output = Output::new(self, node);
        let owners = match &self.phases {
            Phases::Whole(_) => unreachable!("finished above"),
            Phases::Disjoint(sets, buckets) => {
                let range = share(sets.len(), part, parts);
                let mut owners = Vec::new();
                for number in range {
                    let groups = output.rows(buckets.rows(Slot(number as u32)));
                    owners.extend(std::iter::repeat_n(sets[number], groups));
                }
                let others = part == 0 && node.keys.is_empty();
                if others && let Some(rest) = rest(set, sets, batch) {
                    output.empty_group();
                    owners.push(rest);
                }
                sets_of(owners, sets.len())
            }
            Phases::BySlot(buckets) => self.finish_slots(
                node,
                batch,
                set,
                (part, parts),
                |slot| output.rows(buckets.rows(slot)),
                &buckets.offsets,
            ),
            Phases::Merged(partials) => {
                let offsets = &partials.sets.offsets;
                self.finish_slots(
                    node,
                    batch,
                    set,
                    (part, parts),
                    |slot| output.partials(partials, partials.sets.rows(slot)),
                    offsets,
                )
            }
        };
        output.into_tuples(node, batch, owners, faults)
    }

    fn finish_slots(
        &self,
        node: &GroupNode,
        batch: &Batch<'_>,
        set: SetId,
        (part, parts): (usize, usize),
        mut slot_groups: impl FnMut(Slot) -> usize,
        offsets: &[u32],
    ) -> QuerySets {
        let mut owners = Vec::new();
        for slot in slot_range(offsets, part, parts) {
            let slot = Slot(slot as u32);
            let wanted = offsets[slot.index()] < offsets[slot.index() + 1];
            if wanted || (node.keys.is_empty() && batch.sets.contains(set, slot)) {
                owners.extend(std::iter::repeat_n(slot, slot_groups(slot)));
            }
        }
        QuerySets::Single(owners)
    }

    /// Chooses how phase 2 runs, by the number of steps.
    fn choose(&self, node: &GroupNode, batch: &Batch<'_>, sets: &QuerySets) -> Phases {
        let rows = self.groups.len();
        let Some((distinct, numbers)) = distinct_sets(sets, rows, batch) else {
            return Phases::BySlot(sets.expand(rows, batch.sets));
        };
        let members: usize = distinct.iter().map(|&set| batch.sets.cardinality(set)).sum();
        let union = distinct.iter().fold(SetId::EMPTY, |all, &set| batch.sets.union(all, set));
        let buckets = bucket_all(&numbers, distinct.len());
        if members == batch.sets.cardinality(union) {
            return Phases::Disjoint(distinct, buckets);
        }
        let pairs = sets.pairs(rows, batch.sets);
        let merging = rows + members * self.count.min(rows.div_ceil(distinct.len()));
        if merging * 2 < pairs && node.aggregates.iter().all(|aggregate| !aggregate.distinct) {
            return Phases::Merged(self.partials(node, batch, distinct, &buckets));
        }
        Phases::BySlot(sets.expand(rows, batch.sets))
    }

    fn partials(
        &self,
        node: &GroupNode,
        batch: &Batch<'_>,
        distinct: Vec<SetId>,
        buckets: &SlotBuckets,
    ) -> Partials {
        let mut output = Output::new(self, node);
        let mut offsets = vec![0];
        for number in 0..distinct.len() as u32 {
            output.rows(buckets.rows(Slot(number)));
            offsets.push(output.groups.len() as u32);
        }
        let sets = QuerySets::Interned(distinct);
        let sets = sets.expand(offsets.len() - 1, batch.sets);
        let Output { groups, accumulators, .. } = output;
        Partials { groups, offsets, accumulators, sets }
    }
}

/// The rows of all workers.
struct Input {
    groups: Vec<u32>,
    sets: QuerySets,
    arguments: Vec<Argument>,
    folded: Option<Vec<Accumulator>>,
}

impl Input {
    fn of_folded(folded: Folded, batch: &Batch<'_>) -> Input {
        let Folded { groups, sets, accumulators, arguments, .. } = folded;
        let sets = QuerySets::Interned(sets).compact(groups.len(), batch.sets);
        Input { groups, sets, arguments, folded: Some(accumulators) }
    }

    fn of_rows(node: &GroupNode, batch: &Batch<'_>, chunks: Vec<Chunk>) -> Input {
        let sets: Vec<_> = chunks.iter().map(|c| (&c.sets, c.groups.len())).collect();
        let sets = QuerySets::concat(&sets, batch.sets);
        let arguments = arguments(node, &chunks);
        let groups = match <[Chunk; 1]>::try_from(chunks) {
            Ok([only]) => only.groups,
            Err(chunks) => chunks.into_iter().flat_map(|chunk| chunk.groups).collect(),
        };
        Input { groups, sets, arguments, folded: None }
    }
}

/// There is no memory for the groups of anybody.
fn fail_all(chunks: &mut Vec<Chunk>, batch: &Batch<'_>, faults: &mut Faults, error: &Error) {
    for chunk in chunks.drain(..) {
        let wanted = chunk.sets.wanted(chunk.groups.len(), batch.sets);
        batch.sets.for_each(wanted, |slot| faults.add(slot, error.clone()));
    }
}

fn arguments(node: &GroupNode, chunks: &[Chunk]) -> Vec<Argument> {
    let column = |pick: &dyn Fn(&Chunk) -> Option<&ArrayRef>| -> Option<ArrayRef> {
        let arrays: Vec<&ArrayRef> = chunks.iter().filter_map(pick).collect();
        match (arrays.len(), chunks) {
            (0, _) => None,
            (1, [only]) => pick(only).cloned(),
            _ => Some(concat_arguments(&arrays)),
        }
    };
    let aggregates = node.aggregates.iter().enumerate();
    aggregates
        .map(|(i, aggregate)| {
            let values = column(&|chunk| chunk.arguments[i].0.as_ref());
            let filter = column(&|chunk| chunk.arguments[i].1.as_ref());
            let none = || aggregate.argument.is_some().then(|| no_values(aggregate));
            let values = values.or_else(none);
            Argument::new(aggregate.function, aggregate.distinct, values.as_ref(), filter.as_ref())
        })
        .collect()
}

/// Without any input the argument's type is unknown, and the result's will do: nothing is aggregated.
fn no_values(aggregate: &crate::plan::Aggregate) -> ArrayRef {
    arrow_array::new_empty_array(&aggregate.data_type.arrow())
}

/// Distinct sets and the number of each row's; `None` where they are too many to pay.
fn distinct_sets(
    sets: &QuerySets,
    rows: usize,
    batch: &Batch<'_>,
) -> Option<(Vec<SetId>, Vec<u32>)> {
    match sets {
        QuerySets::Uniform(_) if rows == 0 => Some((Vec::new(), Vec::new())),
        QuerySets::Uniform(set) => Some((vec![*set], vec![0; rows])),
        QuerySets::Interned(ids) => number_sets(ids, batch),
        QuerySets::Bitmaps { words_per_row: 1, .. } => {
            number_sets(&sets.ids(rows, batch.sets), batch)
        }
        _ => None,
    }
}

fn number_sets(ids: &[SetId], batch: &Batch<'_>) -> Option<(Vec<SetId>, Vec<u32>)> {
    let limit = SETS.min(ids.len() / 4 + batch.sets.slots() + 1);
    let mut distinct: Vec<SetId> = Vec::new();
    let mut known = hashbrown::HashMap::new();
    // No set has this number.
    let mut lately = Recall::new(u64::MAX, 0);
    let mut numbers = Vec::with_capacity(ids.len());
    for &id in ids {
        let mut number = || {
            *known.entry(id).or_insert_with(|| {
                distinct.push(id);
                distinct.len() as u32 - 1
            })
        };
        numbers.push(lately.get(id.0.into(), &mut number));
        if distinct.len() > limit {
            return None;
        }
    }
    Some((distinct, numbers))
}

/// The slots of `set` that are in none of `sets`.
fn rest(set: SetId, sets: &[SetId], batch: &Batch<'_>) -> Option<SetId> {
    let rest = sets.iter().fold(set, |rest, &one| batch.sets.difference(rest, one));
    (rest != SetId::EMPTY).then_some(rest)
}

fn sets_of(owners: Vec<SetId>, sets: usize) -> QuerySets {
    match owners.first() {
        Some(&first) if sets <= 1 && owners.iter().all(|&set| set == first) => {
            QuerySets::Uniform(first)
        }
        _ => QuerySets::Interned(owners),
    }
}

/// Part `part` of `parts` about equal parts of `0..count`.
fn share(count: usize, part: usize, parts: usize) -> std::ops::Range<usize> {
    count * part / parts..count * (part + 1) / parts
}

/// The slots of part `part` of `parts`: about equally many pairs each.
fn slot_range(offsets: &[u32], part: usize, parts: usize) -> std::ops::Range<usize> {
    let slots = offsets.len() - 1;
    let total = offsets[slots] as usize;
    let edge = |part: usize| match part {
        0 => 0,
        part if part == parts => slots,
        part => {
            offsets.partition_point(|&offset| (offset as usize) < total * part / parts).min(slots)
        }
    };
    edge(part)..edge(part + 1)
}
