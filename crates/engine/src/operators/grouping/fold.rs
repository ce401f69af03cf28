//! Rows to partial aggregates while they still come: what a grouping keeps is one row per group and distinct query
//! set, not its input.

use super::GroupNode;
use super::accumulator::Accumulator;
use super::argument::Argument;
use super::build::Chunk;
use crate::operators::kernel::DenseIds;
use crate::operators::{Batch, Faults};
use crate::query_set::{QuerySets, SetId};
use crate::types::Error;

/// Partial aggregates: row `i` is of group `groups[i]` and the slots of `sets[i]`.
#[derive(Debug)]
pub(super) struct Folded {
    ids: DenseIds,
    pub groups: Vec<u32>,
    pub sets: Vec<SetId>,
    pub accumulators: Vec<Accumulator>,
    /// Without values: what the accumulators' numbers mean.
    pub arguments: Vec<Argument>,
}

impl Folded {
    /// Nothing yet; `chunk` tells the arguments' types. `None` where partial aggregates cannot be put together.
    pub fn new(node: &GroupNode, chunk: &Chunk) -> Option<Folded> {
        if node.aggregates.iter().any(|aggregate| aggregate.distinct) {
            return None;
        }
        let arguments: Vec<Argument> = chunk.slice(0).arguments(node);
        if !arguments.iter().all(Argument::means_the_same_everywhere) {
            return None;
        }
        let inputs = node.aggregates.iter().zip(&arguments);
        let accumulators = inputs.map(|(a, argument)| Accumulator::new(a.function, argument));
        Some(Folded {
            ids: DenseIds::default(),
            groups: Vec::new(),
            sets: Vec::new(),
            accumulators: accumulators.collect(),
            arguments,
        })
    }

    /// Partial aggregates so far.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.ids.memory() + self.groups.capacity() * (8 + 24 * self.accumulators.len())
    }

    /// There is no memory for the groups of anybody who has one here.
    pub fn fail_all(&self, batch: &Batch<'_>, faults: &mut Faults, error: &Error) {
        let all = self.sets.iter().fold(SetId::EMPTY, |all, &set| batch.sets.union(all, set));
        batch.sets.for_each(all, |slot| faults.add(slot, error.clone()));
    }

    /// Takes in rows.
    pub fn fold(&mut self, node: &GroupNode, batch: &Batch<'_>, chunk: &Chunk) {
        let sets = match &chunk.sets {
            QuerySets::Uniform(set) => vec![*set; chunk.groups.len()],
            sets => sets.ids(chunk.groups.len(), batch.sets),
        };
        let places = self.places(chunk.groups.iter().copied().zip(sets));
        let rows: Vec<u32> = (0..chunk.groups.len() as u32).collect();
        for (accumulator, argument) in self.accumulators.iter_mut().zip(chunk.arguments(node)) {
            accumulator.grow(self.groups.len());
            accumulator.fold(&argument, &places, &rows);
        }
    }

    /// Takes in another worker's partial aggregates; `group` tells the number that its groups have here.
    pub fn absorb(&mut self, other: Folded, group: impl Fn(u32) -> u32) {
        let places = self.places(other.groups.iter().map(|&own| group(own)).zip(other.sets));
        for (accumulator, other) in self.accumulators.iter_mut().zip(&other.accumulators) {
            accumulator.grow(self.groups.len());
            accumulator.merge(other, &places, 0..places.len());
        }
    }

    /// After its groups have got other numbers.
    pub fn renumbered(mut self) -> Folded {
        self.ids = DenseIds::default();
        for (place, (&group, set)) in self.groups.iter().zip(&self.sets).enumerate() {
            let id = self.ids.insert(set.0, u64::from(group));
            assert_eq!(id as usize, place, "groups that differ keep differing");
        }
        self
    }

    fn places(&mut self, rows: impl Iterator<Item = (u32, SetId)>) -> Vec<u32> {
        let place = |(group, set): (u32, SetId)| {
            let place = self.ids.insert(set.0, u64::from(group));
            if place as usize == self.groups.len() {
                self.groups.push(group);
                self.sets.push(set);
            }
            place
        };
        rows.map(place).collect()
    }
}
