//! From a group and a query set to a number, counted from 0 in order of first appearance: what partial aggregates are found
//! by. Sets get small numbers of their own, so that a group's pairs lie side by side and an array serves where pairs are
//! many and sets few.

use hashbrown::HashMap;

use crate::operators::kernel::DenseIds;
use crate::query_set::{Recall, SetId};

/// Numbers of pairs.
#[derive(Debug, Default)]
pub struct PairPlaces {
    sets: HashMap<SetId, u32>,
    /// Bits that the numbers of sets take in codes.
    bits: u32,
    ids: DenseIds,
}

impl PairPlaces {
    /// The number of each row's pair; `groups` and `sets` are the pairs that had one before, in that order.
    pub fn insert(&mut self, groups: &[u32], sets: &[SetId], rows: &[(u32, SetId)]) -> Vec<u32> {
        let is_new = self.ids.len() < groups.len();
        if is_new {
            self.number(sets.iter().copied());
        }
        let numbers = self.number(rows.iter().map(|(_, set)| *set));
        let bits = self.sets.len().next_power_of_two().ilog2();
        if is_new || bits > self.bits {
            (self.bits, self.ids) = (bits, DenseIds::default());
            let known = groups.iter().zip(sets).map(|(&group, set)| (group, self.sets[set]));
            let codes = self.codes(known);
            self.insert_codes(&codes);
            assert_eq!(self.ids.len(), groups.len(), "pairs that differ keep differing");
        }
        let pairs = rows.iter().zip(numbers).map(|(&(group, _), number)| (group, number));
        let codes = self.codes(pairs);
        self.insert_codes(&codes)
    }

    fn codes(&self, pairs: impl Iterator<Item = (u32, u32)>) -> Vec<u64> {
        pairs.map(|(group, set)| u64::from(group) << self.bits | u64::from(set)).collect()
    }

    fn insert_codes(&mut self, codes: &[u64]) -> Vec<u32> {
        let Some(most) = codes.iter().copied().max() else { return Vec::new() };
        self.ids.expect(codes.len(), 0, most);
        let mut ids = vec![0; codes.len()];
        if self.ids.insert_all(codes, (0, most), &mut ids) {
            return ids;
        }
        codes.iter().map(|&code| self.ids.insert(0, code)).collect()
    }

    /// The number of each set.
    fn number(&mut self, sets: impl Iterator<Item = SetId>) -> Vec<u32> {
        // No set has this id.
        let mut lately = Recall::new(u64::MAX, 0);
        let known = &mut self.sets;
        let mut number = |set: SetId| {
            let next = known.len() as u32;
            *known.entry(set).or_insert(next)
        };
        sets.map(|set| lately.get(set.0.into(), || number(set))).collect()
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.ids.memory() + self.sets.capacity() * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_keep_their_numbers_when_further_sets_come() {
        let mut places = PairPlaces::default();
        let mut known: Vec<(u32, SetId)> = Vec::new();
        for round in 0..40u32 {
            let rows: Vec<(u32, SetId)> = (0..500)
                .map(|row| (row * 7 % 97 * (round + 1), SetId(row % (round + 1) * 1001)))
                .collect();
            let (groups, sets): (Vec<u32>, Vec<SetId>) = known.iter().copied().unzip();
            if round == 20 {
                places = PairPlaces::default();
            }
            let numbers = places.insert(&groups, &sets, &rows);
            for (row, number) in rows.into_iter().zip(numbers) {
                if number as usize == known.len() {
                    assert!(!known.contains(&row), "{row:?} has a number");
                    known.push(row);
                }
                assert_eq!(known[number as usize], row);
            }
        }
    }
}
