//! Phase 2: group ids and sets to one output row per slot and group.

use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::DataType as ArrowType;

use super::GroupNode;
use super::accumulator::Accumulator;
use super::argument::Argument;
use super::build::{Chunk, GroupBuild};
use super::result::results;
use crate::operators::kernel::{NO_ID, bucket, concat, of_arrays};
use crate::operators::{Batch, Faults};
use crate::query_set::{ColumnOrigin, QuerySets, SetId, SlotBuckets, Tuples};
use crate::types::{Error, Slot};

/// A grouping's whole input, ready to be aggregated slot by slot.
#[derive(Debug)]
pub struct Groups {
    /// Of each row.
    groups: Vec<u32>,
    count: usize,
    arguments: Vec<Argument>,
    /// The first row of each group; `None` without keys.
    representatives: Option<Tuples>,
    /// Columns of the output that are keys.
    keys: usize,
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
}

/// Groups of each distinct set.
#[derive(Debug)]
struct Partials {
    /// Group ids; those of set `i` are `offsets[i]..offsets[i + 1]`.
    groups: Vec<u32>,
    offsets: Vec<u32>,
    accumulators: Vec<Accumulator>,
    /// The sets of each slot.
    sets: SlotBuckets,
}

/// Rows taken in at a time: their groups and numbers stay in the first cache.
const BLOCK: usize = 2048;
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
        let mut builds = builds.into_iter();
        let mut all = builds.next().unwrap_or_default();
        builds.for_each(|build| all.absorb(node, build));
        let count = all.groups();
        if let Err(error) = batch.budget.reserve(all.memory()) {
            fail_all(&mut all.chunks, batch, faults, &error);
        }
        let representatives = concat(all.representatives, batch.sets);
        let sets: Vec<_> = all.chunks.iter().map(|c| (&c.sets, c.groups.len())).collect();
        let sets = QuerySets::concat(&sets, batch.sets);
        let arguments = arguments(node, &all.chunks);
        let groups = match <[Chunk; 1]>::try_from(all.chunks) {
            Ok([only]) => only.groups,
            Err(chunks) => chunks.into_iter().flat_map(|chunk| chunk.groups).collect(),
        };
        let mut merged = Groups {
            groups,
            count,
            arguments,
            representatives,
            phases: Phases::Disjoint(
                Vec::new(),
                SlotBuckets { offsets: vec![0], rows: Vec::new() },
            ),
            keys: node.keys.len(),
        };
        merged.phases = merged.choose(node, batch, &sets);
        merged
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
        let mut output = Output::new(self, node);
        let owners = match &self.phases {
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
        let buckets = bucket(&numbers, distinct.len(), 0..rows as u32);
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

/// There is no memory for the groups of anybody.
fn fail_all(chunks: &mut Vec<Chunk>, batch: &Batch<'_>, faults: &mut Faults, error: &Error) {
    for chunk in chunks.drain(..) {
        let wanted = chunk.sets.wanted(chunk.groups.len(), batch.sets);
        batch.sets.for_each(wanted, |slot| faults.add(slot, error.clone()));
    }
}

fn arguments(node: &GroupNode, chunks: &[Chunk]) -> Vec<Argument> {
    let column = |pick: &dyn Fn(&Chunk) -> Option<&ArrayRef>| -> Option<ArrayRef> {
        let arrays: Vec<&dyn arrow_array::Array> =
            chunks.iter().filter_map(pick).map(|array| &**array).collect();
        match (arrays.len(), chunks) {
            (0, _) => None,
            (1, [only]) => pick(only).cloned(),
            _ => Some(arrow_select::concat::concat(&arrays).expect("arguments have one type")),
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
        QuerySets::Bitmaps { words_per_row: 1, words } => {
            let ids = words.iter().map(|word| batch.sets.intern(std::slice::from_ref(word)));
            number_sets(&ids.collect::<Vec<_>>(), batch)
        }
        _ => None,
    }
}

fn number_sets(ids: &[SetId], batch: &Batch<'_>) -> Option<(Vec<SetId>, Vec<u32>)> {
    let limit = SETS.min(ids.len() / 4 + batch.sets.slots() + 1);
    let mut distinct: Vec<SetId> = Vec::new();
    let mut known = hashbrown::HashMap::new();
    let mut numbers = Vec::with_capacity(ids.len());
    for &id in ids {
        let number = *known.entry(id).or_insert_with(|| {
            distinct.push(id);
            distinct.len() as u32 - 1
        });
        numbers.push(number);
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

/// Output rows under construction.
struct Output<'a> {
    input: &'a Groups,
    accumulators: Vec<Accumulator>,
    /// The group of each output row.
    groups: Vec<u32>,
    /// The current slot's output row of each group; reset after each slot, row by row of its output.
    places: Vec<u32>,
    block: Vec<u32>,
}

impl<'a> Output<'a> {
    fn new(input: &'a Groups, node: &GroupNode) -> Output<'a> {
        let pairs = node.aggregates.iter().zip(&input.arguments);
        let accumulators = pairs.map(|(a, argument)| Accumulator::new(a.function, argument));
        Output {
            input,
            accumulators: accumulators.collect(),
            groups: Vec::new(),
            places: vec![NO_ID; input.count.max(1)],
            block: Vec::with_capacity(BLOCK),
        }
    }

    /// The next slot (or set) has these rows: gives the number of its groups.
    fn rows(&mut self, rows: &[u32]) -> usize {
        let first = self.start_slot();
        for rows in rows.chunks(BLOCK) {
            let groups = rows.iter().map(|&row| self.input.groups[row as usize]);
            place(groups, &mut self.places, &mut self.groups, &mut self.block);
            for (accumulator, argument) in self.accumulators.iter_mut().zip(&self.input.arguments) {
                accumulator.grow(self.groups.len());
                if argument.distinct.is_none() {
                    accumulator.fold(argument, &self.block, rows);
                }
            }
        }
        self.fold_distinct(rows);
        self.end_slot(first)
    }

    /// The next slot has the groups of these sets.
    fn partials(&mut self, partials: &Partials, sets: &[u32]) -> usize {
        let first = self.start_slot();
        for &set in sets {
            let (from, to) = (partials.offsets[set as usize], partials.offsets[set as usize + 1]);
            let range = from as usize..to as usize;
            let groups = partials.groups[range.clone()].iter().copied();
            place(groups, &mut self.places, &mut self.groups, &mut self.block);
            for (accumulator, other) in self.accumulators.iter_mut().zip(&partials.accumulators) {
                accumulator.grow(self.groups.len());
                accumulator.merge(other, &self.block, range.start);
            }
        }
        self.end_slot(first)
    }

    /// Without keys a slot has its one group also where it has no row.
    fn start_slot(&mut self) -> usize {
        let first = self.groups.len();
        if self.input.keys == 0 {
            self.places[0] = first as u32;
            self.groups.push(0);
            self.accumulators.iter_mut().for_each(|accumulator| accumulator.grow(first + 1));
        }
        first
    }

    fn end_slot(&mut self, first: usize) -> usize {
        for &group in &self.groups[first..] {
            self.places[group as usize] = NO_ID;
        }
        self.groups.len() - first
    }

    fn empty_group(&mut self) {
        self.rows(&[]);
    }

    /// DISTINCT: of rows with equal group and value one counts.
    fn fold_distinct(&mut self, rows: &[u32]) {
        for (accumulator, argument) in self.accumulators.iter_mut().zip(&self.input.arguments) {
            let Some(distinct) = &argument.distinct else { continue };
            let places =
                rows.iter().map(|&row| self.places[self.input.groups[row as usize] as usize]);
            let (groups, values) = distinct.pairs(&places.collect::<Vec<_>>(), rows);
            accumulator.fold(argument, &groups, &values);
        }
    }

    fn into_tuples(
        mut self,
        node: &GroupNode,
        batch: &Batch<'_>,
        owners: QuerySets,
        faults: &mut Faults,
    ) -> Tuples {
        let width = 8 * (self.accumulators.len() + self.input.keys);
        if let Err(error) = batch.budget.reserve(self.groups.len() * width) {
            let wanted = owners.wanted(self.groups.len(), batch.sets);
            batch.sets.for_each(wanted, |slot| faults.add(slot, error.clone()));
            let nothing = Output::new(self.input, node);
            return nothing.into_tuples(node, batch, QuerySets::none(), faults);
        }
        let rows = self.groups.len();
        self.accumulators.iter_mut().for_each(|accumulator| accumulator.grow(rows));
        let inputs = node.aggregates.iter().zip(&self.input.arguments).zip(&self.accumulators);
        let computed = inputs.map(|((aggregate, argument), accumulator)| {
            results(aggregate, argument, accumulator, &mut |row, error| {
                owners.row(row).for_each(batch.sets, |slot| faults.add(slot, error.clone()));
            })
        });
        let computed: Vec<ArrayRef> = computed.collect();
        let mut tuples = match &self.input.representatives {
            Some(representatives) => representatives.take(&self.groups),
            // Keys of no type: no chunk has come that would have told it, so there is no row either.
            None => {
                let keys = std::iter::repeat_with(|| new_null_array(&ArrowType::Null, rows));
                of_arrays(keys.take(self.input.keys).collect(), rows, QuerySets::none())
            }
        };
        let first = tuples.computed.len();
        let results = (0..computed.len()).map(|i| ColumnOrigin::Computed(first + i));
        tuples.columns = tuples.columns.iter().copied().chain(results).collect();
        tuples.computed.extend(computed);
        tuples.sets = owners;
        tuples
    }
}

/// The output rows of `groups`, new ones where the slot meets a group for the first time.
#[inline]
fn place(
    groups: impl Iterator<Item = u32>,
    places: &mut [u32],
    output: &mut Vec<u32>,
    block: &mut Vec<u32>,
) {
    block.clear();
    for group in groups {
        let place = &mut places[group as usize];
        if *place == NO_ID {
            *place = output.len() as u32;
            output.push(group);
        }
        block.push(*place);
    }
}
