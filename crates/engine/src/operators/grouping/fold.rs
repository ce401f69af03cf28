//! Rows to partial aggregates while they still come: what a grouping keeps is one row per group and distinct query
//! set, not its input.

use std::borrow::Cow;

use hashbrown::HashMap;

use super::GroupNode;
use super::accumulator::Accumulator;
use super::argument::Argument;
use super::build::Chunk;
use super::places::PairPlaces;
use crate::operators::kernel::{NO_ID, bucket_all};
use crate::operators::{Batch, Faults};
use crate::query_set::{QuerySets, SetId};
use crate::types::Error;

/// Up to so many groups rows are bucketed by group before they are aggregated,
pub(super) const FEW_GROUPS: usize = 64;
/// where there are so many rows per group.
const SHORT_RUN: usize = 16;

/// Up to so many pairs of a group and a set each is looked up once per chunk,
const FEW_PAIRS: usize = 256;
/// by a memo of so many pairs: 4 KiB, which stay in the core's first cache.
const PAIRS_MEMO: usize = 256;

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
    /// All rows have this set, and each is that of the group of its number.
    InOrder(SetId),
    /// All rows have this set: a row by group, [`NO_ID`] where there is none.
    One(SetId, Vec<u32>),
    /// By group and set.
    Many(PairPlaces),
}

impl Places {
    /// The same kind, of no row.
    pub(super) fn emptied(&self) -> Places {
        match self {
            Places::InOrder(set) | Places::One(set, _) => Places::One(*set, Vec::new()),
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
            places: Places::InOrder(SetId::EMPTY),
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
            Places::InOrder(_) => 0,
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
            QuerySets::Bitmaps { words_per_row: 1, words } if self.has_few_pairs(chunk) => {
                self.places_of_words(&chunk.groups, words, batch).into()
            }
            sets => {
                let sets = sets.ids(chunk.groups.len(), batch.sets);
                let pairs = chunk.groups.iter().copied().zip(sets);
                self.places(&pairs.collect::<Vec<_>>()).into()
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
        let rows = bucket_all(places, self.groups.len());
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
            Places::InOrder(set) | Places::One(set, _) => self.places_of_one(set, &groups),
            Places::Many(_) => {
                let pairs = groups.iter().copied().zip(other.sets);
                self.places(&pairs.collect::<Vec<_>>()).into()
            }
        };
        for (accumulator, other) in self.accumulators.iter_mut().zip(&other.accumulators) {
            accumulator.grow(self.groups.len());
            accumulator.merge(other, &places, 0..places.len());
        }
    }

    /// Takes in partial aggregates of groups that have none here and whose numbers are the next, counted from `first` on.
    pub fn append(&mut self, other: Folded, first: u32) {
        let rows = self.groups.len() as u32;
        match (&mut self.places, &other.places) {
            (Places::InOrder(own), Places::InOrder(set)) if own == set && rows == first => {}
            _ => {
                let numbers: Vec<u32> = other.groups.iter().map(|&group| first + group).collect();
                return self.absorb(Folded { groups: numbers, ..other }, |group| group);
            }
        }
        self.groups.extend(other.groups.iter().map(|&group| first + group));
        self.sets.extend(other.sets);
        let pairs = self.accumulators.iter_mut().zip(other.accumulators);
        pairs.for_each(|(own, other)| own.append(other));
    }

    /// The set of all rows, where they have only one.
    pub fn only_set(&self) -> Option<SetId> {
        match self.places {
            Places::InOrder(set) | Places::One(set, _) => Some(set),
            Places::Many(_) => None,
        }
    }

    /// Whether row `i` is of group `i`.
    pub fn is_in_order(&self) -> bool {
        matches!(self.places, Places::InOrder(_))
    }

    /// After its groups have got other numbers.
    pub fn renumbered(mut self) -> Folded {
        self.places = match self.places {
            Places::InOrder(set) | Places::One(set, _)
                if self.groups.iter().copied().eq(0..self.groups.len() as u32) =>
            {
                Places::InOrder(set)
            }
            Places::InOrder(set) | Places::One(set, _) => Places::One(set, self.rows_by_group()),
            // Found out when the next rows come.
            Places::Many(_) => Places::Many(PairPlaces::default()),
        };
        self
    }

    /// Of groups with a row each.
    fn rows_by_group(&self) -> Vec<u32> {
        let most = self.groups.iter().max().map_or(0, |&most| most as usize + 1);
        let mut rows = vec![NO_ID; most];
        self.groups.iter().zip(0..).for_each(|(&group, row)| rows[group as usize] = row);
        rows
    }

    /// The places of rows that all have the same set.
    fn places_of_one<'a>(&mut self, set: SetId, groups: &'a [u32]) -> Cow<'a, [u32]> {
        if self.groups.is_empty() {
            self.places = Places::InOrder(set);
        }
        if let Places::InOrder(known) = self.places {
            let count = self.groups.len() as u32;
            if let Some(end) = end_in_order(count, groups).filter(|_| known == set) {
                self.groups.extend(count..end);
                self.sets.resize(end as usize, set);
                return Cow::Borrowed(groups);
            }
            self.places = Places::One(known, (0..count).collect());
        }
        let Places::One(known, places) = &mut self.places else {
            return self.places(&of_one(set, groups)).into();
        };
        if *known != set {
            return self.places(&of_one(set, groups)).into();
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

    fn has_few_pairs(&self, chunk: &Chunk) -> bool {
        let most = chunk.groups.iter().max().map_or(0, |&most| most as usize);
        most < FEW_GROUPS && self.groups.len() <= FEW_PAIRS
    }

    /// The places of rows of few groups and few distinct sets: looked up once for each pair of these.
    fn places_of_words(&mut self, groups: &[u32], words: &[u64], batch: &Batch<'_>) -> Vec<u32> {
        let (pairs, mut numbers) = distinct_pairs(groups, words);
        let (groups, words): (Vec<u32>, Vec<u64>) = pairs.into_iter().unzip();
        let sets = QuerySets::Bitmaps { words_per_row: 1, words }.ids(groups.len(), batch.sets);
        let places = self.places(&groups.into_iter().zip(sets).collect::<Vec<_>>());
        numbers.iter_mut().for_each(|number| *number = places[*number as usize]);
        numbers
    }

    fn places(&mut self, rows: &[(u32, SetId)]) -> Vec<u32> {
        if !matches!(self.places, Places::Many(_)) {
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

/// The first number that no group has, if those from `known` on come in their order.
fn end_in_order(known: u32, groups: &[u32]) -> Option<u32> {
    let (mut end, mut is_in_order) = (known, true);
    for &group in groups {
        is_in_order &= group <= end;
        end += u32::from(group == end);
    }
    is_in_order.then_some(end)
}

/// The distinct pairs of a group and a word, in order of first appearance, and the number of each row's.
fn distinct_pairs(groups: &[u32], words: &[u64]) -> (Vec<(u32, u64)>, Vec<u32>) {
    let mut pairs: Vec<(u32, u64)> = Vec::new();
    let mut known: HashMap<(u32, u64), u32> = HashMap::new();
    // No group has this number.
    let mut lately = [(0, NO_ID, 0); PAIRS_MEMO];
    let rows = groups.iter().zip(words);
    let numbers = rows.map(|(&group, &word)| {
        let mixed = (word ^ u64::from(group) << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let entry = &mut lately[(mixed >> (64 - PAIRS_MEMO.ilog2())) as usize];
        if (entry.0, entry.1) != (word, group) {
            let number = *known.entry((group, word)).or_insert_with(|| {
                pairs.push((group, word));
                pairs.len() as u32 - 1
            });
            *entry = (word, group, number);
        }
        entry.2
    });
    let numbers = numbers.collect();
    (pairs, numbers)
}

/// Groups with their set.
fn of_one(set: SetId, groups: &[u32]) -> Vec<(u32, SetId)> {
    groups.iter().map(|&group| (group, set)).collect()
}
