//! Sorted bounds: between two neighbouring bounds of a batch's key sets all keys have the same query set.

use super::super::key_set::{Key, KeySet};
use crate::query_set::{SetId, SetTable, words};
use crate::types::Slot;

/// A chunk whose zone covers more intervals than this is not worth a closer look.
const ZONE_INTERVALS: usize = 256;

/// The elementary intervals of a batch's key sets on one column, and the query set of each.
#[derive(Debug)]
pub struct KeyIndex<K> {
    bounds: Vec<K>,
    /// One more than bounds: `sets[i]` holds for keys from `bounds[i - 1]` (in) to `bounds[i]` (out).
    sets: Vec<SetId>,
    nulls: SetId,
}

impl<K: Key> KeyIndex<K> {
    /// `others` are the slots without a predicate on the column: they want every key and NULL.
    pub fn new(filters: &[(Slot, &KeySet<K>)], others: &[u64], table: &SetTable) -> KeyIndex<K> {
        let mut toggles: Vec<(&K, Slot)> = Vec::new();
        let mut nulls = others.to_vec();
        for (slot, keys) in filters {
            toggles.extend(keys.cuts().iter().map(|cut| (cut, *slot)));
            if keys.nulls() {
                words::insert(&mut nulls, *slot);
            }
        }
        toggles.sort_unstable();
        let mut current = others.to_vec();
        let mut index = KeyIndex {
            bounds: Vec::new(),
            sets: vec![table.intern(&current)],
            nulls: table.intern(&nulls),
        };
        for toggled in toggles.chunk_by(|a, b| a.0 == b.0) {
            for (_, slot) in toggled {
                current[slot.index() / 64] ^= 1 << (slot.0 % 64);
            }
            // Below the smallest key there is nothing.
            if *toggled[0].0 == K::minimum() {
                index.sets.clear();
            } else {
                index.bounds.push(toggled[0].0.clone());
            }
            index.sets.push(table.intern(&current));
        }
        index
    }

    /// The set for a key.
    #[inline]
    pub fn find(&self, key: &K) -> SetId {
        self.sets[self.bounds.partition_point(|bound| bound <= key)]
    }

    /// Like [`Self::find`], for a borrowed form of the key.
    #[inline]
    pub fn find_by(&self, not_above: impl Fn(&K) -> bool) -> SetId {
        self.sets[self.bounds.partition_point(not_above)]
    }

    /// The set of keys that have so many bounds not above them.
    #[inline]
    pub fn set(&self, bounds: usize) -> SetId {
        self.sets[bounds]
    }

    /// The set for NULL.
    pub fn nulls(&self) -> SetId {
        self.nulls
    }

    /// Where the set changes, ascending.
    pub fn bounds(&self) -> &[K] {
        &self.bounds
    }

    /// The keys that have sets of their own, and the set of all other keys; `None` unless the index consists of
    /// single keys.
    pub fn as_points(&self) -> Option<(Vec<(&K, SetId)>, SetId)> {
        let gap = self.sets[0];
        let mut points = Vec::new();
        for (at, key) in self.bounds.iter().enumerate() {
            let set = self.sets[at + 1];
            if set == gap {
                continue;
            }
            let next = self.bounds.get(at + 1);
            if key.successor().as_ref() != next {
                return None;
            }
            points.push((key, set));
        }
        Some((points, gap))
    }

    /// Adds the sets of all keys between two (both in) to `wanted`, and of NULL where `nulls`; `None` where that
    /// are too many intervals.
    pub fn union_between(
        &self,
        keys: Option<(K, K)>,
        nulls: bool,
        table: &SetTable,
        wanted: &mut [u64],
    ) -> Option<()> {
        if nulls {
            words::union_into(wanted, table.words(self.nulls));
        }
        let Some((low, high)) = keys else { return Some(()) };
        let first = self.bounds.partition_point(|bound| *bound <= low);
        let last = self.bounds.partition_point(|bound| *bound <= high);
        if last - first > ZONE_INTERVALS {
            return None;
        }
        for set in &self.sets[first..=last] {
            words::union_into(wanted, table.words(*set));
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_carry_the_slots_that_cover_them() {
        let table = SetTable::new(4);
        let (a, b) = (KeySet::span(Some(3i64), Some(7)), KeySet::point(5));
        let none = KeySet::none();
        let others = [0b1000];
        let index =
            KeyIndex::new(&[(Slot(0), &a), (Slot(1), &b), (Slot(2), &none)], &others, &table);
        let members = |key: i64| table.words(index.find(&key))[0];
        assert_eq!([members(2), members(3), members(5), members(6), members(7)], [8, 9, 11, 9, 8]);
        assert!(index.as_points().is_none());
        let mut wanted = [0];
        index.union_between(Some((6, 9)), false, &table, &mut wanted).expect("few intervals");
        assert_eq!(wanted, [0b1001]);
    }

    #[test]
    fn neighbouring_points_are_points() {
        let table = SetTable::new(2);
        let (a, b) = (KeySet::point(5i64), KeySet::point(6));
        let index = KeyIndex::new(&[(Slot(0), &a), (Slot(1), &b)], &[0], &table);
        let (points, gap) = index.as_points().expect("two points");
        assert_eq!(gap, SetId::EMPTY);
        let expected = [(&5, table.singleton(Slot(0))), (&6, table.singleton(Slot(1)))];
        assert_eq!(points, expected);
    }
}
