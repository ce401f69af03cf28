//! Bins: rows that are the same to all queries of a grouping.
//!
//! A row's class in a dimension is who wants the dimension's row, of the grouping's slots, and its values of the grouping's
//! keys. Rows that have the same class everywhere go to the same group of the same slots. So they can be aggregated once,
//! whatever the number of queries, and each bin handed to its slots at the end: aggregation by (key, set), in an array,
//! because the classes of a few dimensions have few combinations where queries ask by region, year or category.
//! Called by `mod` when a batch's star is put together.

use std::collections::HashMap;

use super::by_place::{ByPlace, each_number};
use super::kinds::Kinds;
use super::{ActiveGrouping, Dimension, Star};
use crate::query_set::words;
use crate::types::Slot;

/// Bins that a grouping may have: a worker's sums then take some tens of megabytes, which only very many pairs pay for.
const MOST_BINS: u64 = 1 << 20;
/// Bins of one sum beyond which they outgrow the second cache (16 bytes each, in 2 MiB).
const NEAR_BINS: usize = 1 << 17;
/// Combinations of set and keys that a dimension may have, met or not: what tells them apart is an array.
const MOST_COMBINATIONS: u64 = 1 << 20;

/// What writing a (row, slot) pair down, bucketing and aggregating it takes, in nanoseconds. This and [`ADD`] are what made
/// batches of 16 to 1,024 star queries fastest when they were run in turns with other figures: alone a pair takes 14, but
/// tables of many queries outgrow the caches.
const PAIR: f64 = 25.0;
/// Looking one row up in one dimension's classes.
const LOOK_UP: f64 = 1.3;
/// Adding a row to one aggregate of its bin, its argument's reading included.
const ADD: f64 = 2.5;
/// The same where bins lie beyond the second cache.
const ADD_FAR: f64 = 8.0;
/// Telling the kind of one place of a dimension, which is done once for all groupings.
const KIND: f64 = 3.0;
/// Finding out who of 64 queries wants a bin.
const SHARE: f64 = 5.0;

/// What a row counts that none of the grouping's slots wants: more than all bins, and as much from each root does not wrap
/// around.
pub(super) const NOBODYS: u32 = 1 << 24;
const MOST_ROOTS: usize = 100;
const _: () = assert!(MOST_BINS < NOBODYS as u64 && MOST_ROOTS as u64 * (NOBODYS as u64) < 1 << 32);

/// The bins of one grouping.
#[derive(Debug)]
pub(super) struct BinSpace {
    pub roots: Vec<BinRoot>,
    /// How many there are.
    pub bins: usize,
}

/// A dimension or a filter that tells bins apart.
#[derive(Debug, Default)]
pub(super) struct BinRoot {
    /// Position in [`Star::roots`].
    pub root: usize,
    /// By kind, what it counts in a bin's number: its class times the stride, or [`NOBODYS`].
    pub counts: Vec<u32>,
    stride: u32,
    /// By class, who wants it: words over positions among the grouping's slots.
    sets: Vec<u64>,
    /// By class, what it adds to the number of the group.
    groups: Vec<u32>,
}

/// By root, the share of the fact table's rows that it leaves to each slot, all of its rows or values taken as equally
/// frequent.
#[derive(Debug)]
pub(super) struct Shares(Vec<Vec<f64>>);

impl Shares {
    pub fn new(star: &Star, slots: usize) -> Shares {
        let root =
            |(_, root): &(_, usize)| of_slots(&star.dimensions[*root], star.words.width(), slots);
        Shares(star.roots.iter().map(root).collect())
    }

    /// Expected pairs of a grouping's slots with rows.
    fn pairs(&self, grouping: &ActiveGrouping, rows: f64) -> f64 {
        rows * grouping.slots.iter().map(|slot| self.of(*slot)).sum::<f64>()
    }

    /// The share of the rows that all roots leave to a slot.
    pub fn of(&self, slot: Slot) -> f64 {
        self.0.iter().map(|shares| shares[slot.index()]).product()
    }
}

fn of_slots(dimension: &Dimension, width: usize, slots: usize) -> Vec<f64> {
    let mut rows = vec![0u32; dimension.sets.len() / width];
    match dimension.places.is_empty() {
        true => each_number!(&dimension.numbers, number => {
            (1..dimension.numbers.len() as u32).for_each(|place| rows[number(place) as usize] += 1)
        }),
        false => each_number!(&dimension.numbers, number => {
            dimension.places.iter().for_each(|&place| rows[number(place) as usize] += 1)
        }),
    }
    let mut wanted = vec![0.0; slots];
    for (number, &count) in rows.iter().enumerate().skip(1).filter(|(_, count)| **count > 0) {
        words::for_each(dimension.set_number(width, number), |slot| {
            wanted[slot.index()] += f64::from(count)
        });
    }
    let all = dimension.rows.max(1) as f64;
    wanted.iter_mut().for_each(|wanted| *wanted = (*wanted / all).min(1.0));
    words::for_each(dimension.set_number(width, 0), |slot| wanted[slot.index()] = 1.0);
    wanted
}

impl BinSpace {
    /// A grouping's bins where these cost less than its pairs; `None` where not, or where they are too many.
    pub fn new(
        star: &Star,
        grouping: &ActiveGrouping,
        aggregates: usize,
        shares: &Shares,
        kinds: &mut [Option<Kinds>],
    ) -> Option<BinSpace> {
        let rows = star.fact.table().live_rows() as f64;
        let pairs = shares.pairs(grouping, rows);
        let words = words::word_count(grouping.slots.len());
        let cost = |roots: usize, places: usize, bins: usize| {
            let aggregates = aggregates.max(1);
            let add = if bins * aggregates > NEAR_BINS { ADD_FAR } else { ADD };
            let added = rows.min(pairs) * add * aggregates as f64;
            let shared = SHARE * (bins * words) as f64;
            rows * LOOK_UP * roots as f64 + added + KIND * places as f64 + shared
        };
        let unknown = (0..star.roots.len()).filter(|root| kinds[*root].is_none());
        let places = unknown.map(|root| star.dimensions[star.roots[root].1].numbers.len()).sum();
        if pairs * PAIR < cost(restricting(star, grouping), places, 0) {
            return None;
        }
        let mut space = BinSpace { roots: Vec::new(), bins: 1 };
        for root in 0..star.roots.len() {
            let kinds = kinds[root].get_or_insert_with(|| Kinds::new(star, root));
            space.add(star, grouping, root, kinds)?;
        }
        let cost = cost(space.roots.len(), places, space.bins);
        (cost < pairs * PAIR && !space.roots.is_empty()).then_some(space)
    }

    /// Multiplies the bins by a root's classes; `None` where they get too many.
    fn add(
        &mut self,
        star: &Star,
        grouping: &ActiveGrouping,
        root: usize,
        kinds: &Kinds,
    ) -> Option<()> {
        let Some(own) = BinRoot::new(star, grouping, root, kinds, self.bins as u32)? else {
            return Some(());
        };
        let bins = self.bins as u64 * own.groups.len().max(1) as u64;
        self.bins = usize::try_from(bins).ok().filter(|_| bins <= MOST_BINS)?;
        self.roots.push(own);
        (self.roots.len() <= MOST_ROOTS).then_some(())
    }

    /// Who wants a bin, one word of it, and its group's number.
    pub fn of_bin(&self, bin: usize, word: usize, width: usize) -> (u64, u32) {
        let mut rest = bin as u32;
        let (mut set, mut group) = (u64::MAX, 0);
        for root in self.roots.iter().rev() {
            let class = (rest / root.stride) as usize;
            rest %= root.stride;
            set &= root.sets[class * width + word];
            group += root.groups[class];
        }
        (set, group)
    }
}

impl BinRoot {
    /// A dimension's classes for a grouping: outside `None` where they are too many, inside where the dimension tells no
    /// rows apart.
    fn new(
        star: &Star,
        grouping: &ActiveGrouping,
        root: usize,
        kinds: &Kinds,
        stride: u32,
    ) -> Option<Option<BinRoot>> {
        let dimension = &star.dimensions[star.roots[root].1];
        let width = words::word_count(grouping.slots.len());
        let (numbers, sets) = restricted(dimension, star.words.width(), &grouping.slots);
        let is_key = |key: &&(usize, u32)| star.columns[key.0].root == star.roots[root].1;
        if !grouping.keys.iter().filter(is_key).all(|key| kinds.tells(key.0)) {
            return None;
        }
        let keys: Vec<(&ByPlace, u32, u32)> = grouping
            .keys
            .iter()
            .filter(is_key)
            .map(|key| {
                let column = &star.columns[key.0];
                (&column.codes, column.count() as u32, key.1)
            })
            .collect();
        let all = |words: &[u64]| {
            words.iter().map(|word| word.count_ones() as usize).sum::<usize>()
                == grouping.slots.len()
        };
        if keys.is_empty() && sets.chunks_exact(width).skip(1).all(all) && !numbers.contains(&0) {
            return Some(None);
        }
        let combinations = keys.iter().try_fold((sets.len() / width) as u64, |product, key| {
            product.checked_mul(u64::from(key.1))
        });
        let combinations = combinations.filter(|count| *count <= MOST_COMBINATIONS)?;
        // By combination, its class and one; 0: not met yet.
        let mut known = vec![0u16; combinations as usize];
        let mut counts = vec![NOBODYS; kinds.places.len()];
        let mut own = BinRoot { root, stride, ..BinRoot::default() };
        let known_sets = kinds.places.iter().zip(&kinds.sets);
        for (count, (&place, &set)) in counts.iter_mut().zip(known_sets) {
            let set = numbers[usize::from(set)];
            if set == 0 {
                continue;
            }
            let combination = keys
                .iter()
                .fold(set, |number, (codes, count, _)| number * count + codes.get(place));
            let known = &mut known[combination as usize];
            if *known == 0 {
                let group = keys.iter().map(|(codes, _, factor)| codes.get(place) * factor).sum();
                *known = own.add_class(&sets[set as usize * width..][..width], group)?;
            }
            *count = u32::from(*known - 1) * stride;
        }
        own.counts = counts;
        Some(Some(own))
    }

    /// One class more, of rows that a set wants and that belong to a group: how many there are. `None` where what they count
    /// in a bin's number would not fit.
    fn add_class(&mut self, set: &[u64], group: u32) -> Option<u16> {
        self.sets.extend_from_slice(set);
        self.groups.push(group);
        let classes = self.groups.len() as u64;
        let fits = classes * u64::from(self.stride) <= MOST_BINS;
        u16::try_from(classes).ok().filter(|_| fits)
    }
}

/// Roots that keep rows from a grouping's slots for sure: those where a missing key does.
fn restricting(star: &Star, grouping: &ActiveGrouping) -> usize {
    let keeps_from_all = |(_, dimension): &&(_, usize)| {
        let passing = star.dimensions[*dimension].set_number(star.words.width(), 0);
        grouping.slots.iter().all(|slot| !words::contains(passing, *slot))
    };
    star.roots.iter().filter(keeps_from_all).count()
}

/// A dimension's sets restricted to some slots: by number the number of the restricted one, and the words of these over
/// positions among the slots. Number 0 is the empty set.
fn restricted(dimension: &Dimension, width: usize, slots: &[Slot]) -> (Vec<u32>, Vec<u64>) {
    let own_width = words::word_count(slots.len());
    let mut sets = vec![0; own_width];
    let mut known = HashMap::from([(sets.clone(), 0)]);
    let number = |set: &[u64]| {
        let mut own = vec![0; own_width];
        for (position, slot) in slots.iter().enumerate() {
            let wants = set[slot.index() / 64] >> (slot.index() % 64) & 1;
            own[position / 64] |= wants << (position % 64);
        }
        let next = known.len() as u32;
        *known.entry(own).or_insert_with_key(|own| {
            sets.extend_from_slice(own);
            next
        })
    };
    let numbers = dimension.sets.chunks_exact(width).map(number).collect();
    (numbers, sets)
}
