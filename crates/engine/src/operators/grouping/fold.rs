//! Rows to partial aggregates while they still come: what a grouping keeps is one row per group and distinct query
//! set, not its input.

use super::GroupNode;
use super::accumulator::Accumulator;
use super::argument::Argument;
use super::build::Chunk;
use super::places::PairPlaces;
use crate::operators::kernel::{NO_ID, bucket};
use crate::operators::{Batch, Faults};
use crate::query_set::{QuerySets, SetId};
use crate::types::Error;

/// Up to so many groups rows are bucketed by group before they are aggregated,
pub(super) const FEW_GROUPS: usize = 64;
/// where there are so many rows per group.
const SHORT_RUN: usize = 16;

/// Partial aggregates: row `i` is of group `groups[i]` and the slots of `sets[i]`.
#[derive(Debug)]
pub(super) struct Folded {
    pub(super) places: Places,
    pub groups: Vec<u32>,
    pub sets: Vec<SetId>,
    pub accumulators: Vec<Accumulator>,
    /// Without values: what the accumulators' numbers mean.
    pub arguments: Vec<Argument>,
}

/// From group and set to row.
#[derive(Debug)]
pub(super) enum Places {
    /// All rows have this set: a row by group, [`NO_ID`] where there is none.
    One(SetId, Vec<u32>),
    /// By group and set.
    Many(PairPlaces),
}

impl Places {
    /// The same kind, of no row.
    pub(super) fn emptied(&self) -> Places {
        match self {
            Places::One(set, _) => Places::One(*set, Vec::new()),
            Places::Many(_) => Places::Many(PairPlaces::default()),
        }
    }
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
            places: Places::One(SetId::EMPTY, Vec::new()),
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
        let places = match &self.places {
            Places::One(_, rows) => rows.capacity() * 4,
            Places::Many(ids) => ids.memory(),
        };
        places + self.groups.capacity() * (8 + 24 * self.accumulators.len())
    }

    /// There is no memory for the groups of anybody who has one here.
    pub fn fail_all(&self, batch: &Batch<'_>, faults: &mut Faults, error: &Error) {
        let all = self.sets.iter().fold(SetId::EMPTY, |all, &set| batch.sets.union(all, set));
        batch.sets.for_each(all, |slot| faults.add(slot, error.clone()));
    }

    /// Takes in rows.
    pub fn fold(&mut self, node: &GroupNode, batch: &Batch<'_>, chunk: &Chunk) {
        let places = match &chunk.sets {
            QuerySets::Uniform(set) => self.places_of_one(*set, &chunk.groups),
            sets => {
                let sets = sets.ids(chunk.groups.len(), batch.sets);
                let pairs = chunk.groups.iter().copied().zip(sets);
                self.places(&pairs.collect::<Vec<_>>())
            }
        };
        self.accumulators.iter_mut().for_each(|own| own.grow(self.groups.len()));
        let rows: Vec<u32> = (0..chunk.groups.len() as u32).collect();
        let arguments = chunk.arguments(node);
        if self.groups.len() <= FEW_GROUPS && rows.len() > SHORT_RUN * self.groups.len() {
            return self.fold_by_group(node, &places, &arguments);
        }
        for (accumulator, argument) in self.accumulators.iter_mut().zip(&arguments) {
            accumulator.fold(argument, &places, &rows);
        }
    }

    /// Group after group: each one's sums stay in registers.
    fn fold_by_group(&mut self, node: &GroupNode, places: &[u32], arguments: &[Argument]) {
        let rows = bucket(places, self.groups.len(), 0..places.len() as u32);
        for (at, argument) in arguments.iter().enumerate() {
            if let Some(same) = node.same_state(at) {
                self.accumulators[at] = self.accumulators[same].clone();
                continue;
            }
            let accumulator = &mut self.accumulators[at];
            for (group, rows) in rows.iter().filter(|(_, rows)| !rows.is_empty()) {
                accumulator.fold_group(argument, group.index(), rows);
            }
        }
    }

    /// Takes in another worker's partial aggregates; `group` tells the number that its groups have here.
    pub fn absorb(&mut self, other: Folded, group: impl Fn(u32) -> u32) {
        let groups: Vec<u32> = other.groups.iter().map(|&own| group(own)).collect();
        let places = match other.places {
            Places::One(set, _) => self.places_of_one(set, &groups),
            Places::Many(_) => {
                let pairs = groups.iter().copied().zip(other.sets);
                self.places(&pairs.collect::<Vec<_>>())
            }
        };
        for (accumulator, other) in self.accumulators.iter_mut().zip(&other.accumulators) {
            accumulator.grow(self.groups.len());
            accumulator.merge(other, &places, 0..places.len());
        }
    }

    /// The set of all rows, where they have only one.
    pub fn only_set(&self) -> Option<SetId> {
        match self.places {
            Places::One(set, _) => Some(set),
            Places::Many(_) => None,
        }
    }

    /// After its groups have got other numbers.
    pub fn renumbered(mut self) -> Folded {
        if let Places::One(_, rows) = &mut self.places {
            let most = self.groups.iter().max().map_or(0, |&most| most as usize + 1);
            *rows = vec![NO_ID; most];
            let groups = self.groups.iter().zip(0..);
            groups.for_each(|(&group, row)| rows[group as usize] = row);
        } else {
            // Found out when the next rows come.
            self.places = Places::Many(PairPlaces::default());
        }
        self
    }

    /// The places of rows that all have the same set.
    fn places_of_one(&mut self, set: SetId, groups: &[u32]) -> Vec<u32> {
        if self.groups.is_empty() {
            self.places = Places::One(set, Vec::new());
        }
        let Places::One(known, places) = &mut self.places else {
            return self.places(&of_one(set, groups));
        };
        if *known != set {
            return self.places(&of_one(set, groups));
        }
        let most = groups.iter().max().map_or(0, |&most| most as usize + 1);
        if places.len() < most {
            places.resize(most, NO_ID);
        }
        let place = |&group: &u32| {
            let place = &mut places[group as usize];
            if *place == NO_ID {
                *place = self.groups.len() as u32;
                self.groups.push(group);
                self.sets.push(set);
            }
            *place
        };
        groups.iter().map(place).collect()
    }

    fn places(&mut self, rows: &[(u32, SetId)]) -> Vec<u32> {
        if let Places::One(..) = self.places {
            self.places = Places::Many(PairPlaces::default());
        }
        let Places::Many(pairs) = &mut self.places else { unreachable!("made just now") };
        let places = pairs.insert(&self.groups, &self.sets, rows);
        for (&place, &(group, set)) in places.iter().zip(rows) {
            if place as usize == self.groups.len() {
                self.groups.push(group);
                self.sets.push(set);
            }
        }
        places
    }
}

/// Groups with their set.
fn of_one(set: SetId, groups: &[u32]) -> Vec<(u32, SetId)> {
    groups.iter().map(|&group| (group, set)).collect()
}
