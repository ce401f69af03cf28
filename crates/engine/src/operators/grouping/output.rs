//! The output of phase 2 while it grows: one query's groups after the other's.

use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::DataType as ArrowType;

use super::GroupNode;
use super::accumulator::Accumulator;
use super::finish::{Groups, Partials};
use super::result::results;
use crate::operators::kernel::{NO_ID, of_arrays};
use crate::operators::{Batch, Faults};
use crate::query_set::{ColumnOrigin, QuerySets, Tuples};

/// Rows taken in at a time: their groups and numbers stay in the first cache.
const BLOCK: usize = 2048;

/// Output rows under construction.
pub(super) struct Output<'a> {
    input: &'a Groups,
    pub(super) accumulators: Vec<Accumulator>,
    /// The group of each output row.
    pub(super) groups: Vec<u32>,
    /// The current slot's output row of each group; reset after each slot, row by row of its output.
    places: Vec<u32>,
    block: Vec<u32>,
}

impl<'a> Output<'a> {
    pub(super) fn new(input: &'a Groups, node: &GroupNode) -> Output<'a> {
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

    /// Partial aggregates that are results already.
    pub(super) fn of_partials(input: &'a Groups, range: std::ops::Range<usize>) -> Output<'a> {
        let partials = input.folded.iter().flatten();
        Output {
            input,
            accumulators: partials.map(|own| own.slice(range.clone())).collect(),
            groups: input.groups[range].to_vec(),
            places: Vec::new(),
            block: Vec::new(),
        }
    }

    /// The next slot (or set) has these rows: gives the number of its groups.
    pub(super) fn rows(&mut self, rows: &[u32]) -> usize {
        let first = self.start_slot();
        for rows in rows.chunks(BLOCK) {
            let groups = rows.iter().map(|&row| self.input.groups[row as usize]);
            place(groups, &mut self.places, &mut self.groups, &mut self.block);
            self.fold(rows);
        }
        self.fold_distinct(rows);
        self.end_slot(first)
    }

    /// Takes rows into the groups of the block.
    fn fold(&mut self, rows: &[u32]) {
        let groups = self.groups.len();
        self.accumulators.iter_mut().for_each(|accumulator| accumulator.grow(groups));
        if let Some(folded) = &self.input.folded {
            for (accumulator, partial) in self.accumulators.iter_mut().zip(folded) {
                accumulator.merge(partial, &self.block, rows.iter().map(|&row| row as usize));
            }
            return;
        }
        for (accumulator, argument) in self.accumulators.iter_mut().zip(&self.input.arguments) {
            if argument.distinct.is_none() {
                accumulator.fold(argument, &self.block, rows);
            }
        }
    }

    /// The next slot has the groups of these sets.
    pub(super) fn partials(&mut self, partials: &Partials, sets: &[u32]) -> usize {
        let first = self.start_slot();
        for &set in sets {
            let (from, to) = (partials.offsets[set as usize], partials.offsets[set as usize + 1]);
            let range = from as usize..to as usize;
            let groups = partials.groups[range.clone()].iter().copied();
            place(groups, &mut self.places, &mut self.groups, &mut self.block);
            for (accumulator, other) in self.accumulators.iter_mut().zip(&partials.accumulators) {
                accumulator.grow(self.groups.len());
                accumulator.merge(other, &self.block, range.clone());
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

    pub(super) fn empty_group(&mut self) {
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

    pub(super) fn into_tuples(
        mut self,
        node: &GroupNode,
        batch: &Batch<'_>,
        owners: QuerySets,
        faults: &mut Faults,
    ) -> Tuples {
        if let Err(error) = batch.budget.reserve(self.groups.len() * node.row_bytes()) {
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
