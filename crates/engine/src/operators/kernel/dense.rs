//! Numbers to dense ids, counted from 0 in order of first appearance.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Found;

/// No id: the key was never given one.
pub const NO_ID: u32 = u32::MAX;

/// Keys `(prefix, code)` to dense ids. Codes under prefix 0 that lie close together are looked up in an array, all
/// others in a hash table.
#[derive(Debug, Default)]
pub struct DenseIds {
    /// Id by distance of the code from `least`, for prefix 0 and distances below its length.
    direct: Vec<u32>,
    least: u64,
    table: HashTable<Entry>,
    length: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    code: u64,
    prefix: u32,
    id: u32,
}

/// The array may have so many places per key: beyond that its cache misses cost more than hashing.
const SPARSENESS: usize = 16;
/// From so many keys on the hash table's misses cost no less,
const MANY_KEYS: usize = 4096;
/// and the array may have so many.
const MANY_KEYS_SPARSENESS: usize = 64;

#[inline]
fn hash(prefix: u32, code: u64) -> u64 {
    FixedState::default().hash_one((prefix, code))
}

impl DenseIds {
    /// Ids given so far.
    #[inline]
    pub fn len(&self) -> usize {
        self.length as usize
    }

    /// Prepares for `keys` more keys with codes from `least` to `largest`: takes the array where it pays.
    pub fn expect(&mut self, keys: usize, least: u64, largest: u64) {
        let keys = keys + self.len();
        if self.len() == 0 && self.direct.is_empty() && largest - least < least {
            self.least = least;
        }
        let sparseness = if keys < MANY_KEYS { SPARSENESS } else { MANY_KEYS_SPARSENESS };
        let places = (sparseness * keys) as u64;
        let farthest = largest.wrapping_sub(self.least);
        if farthest < places && farthest as usize >= self.direct.len() {
            // Twice the places each time, so that keys are not moved again and again.
            let doubled = 2 * self.direct.len() as u64;
            self.direct.resize((farthest + 1).max(doubled.min(places)) as usize, NO_ID);
            self.move_to_array();
        }
    }

    /// The key's place in the array, if that has one for it.
    #[inline]
    fn place(&self, prefix: u32, code: u64) -> Option<usize> {
        let distance = code.wrapping_sub(self.least);
        (prefix == 0 && distance < self.direct.len() as u64).then_some(distance as usize)
    }

    /// Moves the keys that the array has a place for out of the hash table.
    fn move_to_array(&mut self) {
        let (direct, least) = (&mut self.direct, self.least);
        let distance = |entry: &Entry| entry.code.wrapping_sub(least);
        let has_place =
            |entry: &mut Entry| entry.prefix == 0 && distance(entry) < direct.len() as u64;
        let moved: Vec<Entry> = self.table.extract_if(has_place).collect();
        moved.into_iter().for_each(|entry| direct[distance(&entry) as usize] = entry.id);
    }

    /// The id of a key, a new one where it has none.
    #[inline]
    pub fn insert(&mut self, prefix: u32, code: u64) -> u32 {
        match self.place(prefix, code) {
            Some(place) if self.direct[place] != NO_ID => self.direct[place],
            place => self.insert_slow(prefix, code, place),
        }
    }

    /// The ids of codes between `least` and `largest` under prefix 0, new ones where they have none, without a branch per
    /// code; `false` where the array has no place for all of them.
    pub fn insert_all(
        &mut self,
        codes: &[u64],
        (least, largest): (u64, u64),
        ids: &mut [u32],
    ) -> bool {
        // The array may reach around the end of all codes: then what lies between two of its codes may lie outside.
        let ends = self.place(0, least).zip(self.place(0, largest));
        if !self.table.is_empty() || ends.is_none_or(|(first, last)| first > last) {
            return false;
        }
        let mut length = self.length;
        for (id, &code) in ids.iter_mut().zip(codes) {
            let place = &mut self.direct[code.wrapping_sub(self.least) as usize];
            let is_new = *place == NO_ID;
            *id = if is_new { length } else { *place };
            *place = *id;
            length += u32::from(is_new);
        }
        self.length = length;
        true
    }

    fn insert_slow(&mut self, prefix: u32, code: u64, place: Option<usize>) -> u32 {
        if let Some(place) = place
            && self.table.is_empty()
        {
            self.direct[place] = self.length;
            self.length += 1;
            return self.length - 1;
        }
        let id = self.length;
        let same = |entry: &Entry| entry.code == code && entry.prefix == prefix;
        let rehash = |entry: &Entry| hash(entry.prefix, entry.code);
        match self.table.entry(hash(prefix, code), same, rehash) {
            Found::Occupied(known) => return known.get().id,
            Found::Vacant(free) => match place {
                Some(place) => self.direct[place] = id,
                None => _ = free.insert(Entry { code, prefix, id }),
            },
        }
        self.length += 1;
        id
    }

    /// The id of a key, [`NO_ID`] where it has none.
    #[inline]
    pub fn find(&self, prefix: u32, code: u64) -> u32 {
        if let Some(place) = self.place(prefix, code) {
            let id = self.direct[place];
            if id != NO_ID || self.table.is_empty() {
                return id;
            }
        }
        let same = |entry: &&Entry| entry.code == code && entry.prefix == prefix;
        let found = self.table.find(hash(prefix, code), |entry| same(&entry));
        found.map_or(NO_ID, |entry| entry.id)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.direct.capacity() * 4 + self.table.capacity() * (size_of::<Entry>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_dense_in_order_of_appearance_and_stay() {
        let mut ids = DenseIds::default();
        let first: Vec<u32> = [7, 9, 7, u64::MAX].iter().map(|&code| ids.insert(0, code)).collect();
        ids.expect(100, 0, 200);
        let second: Vec<u32> =
            [9, 11, 7, u64::MAX].iter().map(|&code| ids.insert(0, code)).collect();
        assert_eq!((first, second), (vec![0, 1, 0, 2], vec![1, 3, 0, 2]));
        assert_eq!(ids.len(), 4);
        let found: Vec<u32> = [7, 9, 11, 12, 500].iter().map(|&code| ids.find(0, code)).collect();
        assert_eq!(found, [0, 1, 3, NO_ID, NO_ID]);
    }

    #[test]
    fn codes_inserted_together_get_the_ids_that_they_get_one_by_one() {
        let (mut together, mut one_by_one) = (DenseIds::default(), DenseIds::default());
        for round in 0..20u64 {
            let codes: Vec<u64> =
                (0..300).map(|i| 500 + i * i * 7919 % (100 * (round + 1))).collect();
            let ends = (*codes.iter().min().expect("some"), *codes.iter().max().expect("some"));
            together.expect(codes.len(), ends.0, ends.1);
            let mut ids = vec![0; codes.len()];
            assert!(together.insert_all(&codes, ends, &mut ids));
            let expected: Vec<u32> = codes.iter().map(|&code| one_by_one.insert(0, code)).collect();
            assert_eq!(ids, expected);
        }
        let far = [1 << 50];
        assert!(!together.insert_all(&far, (far[0], far[0]), &mut [0]));
        let mut around = DenseIds::default();
        around.expect(100, u64::MAX - 5, u64::MAX);
        around.direct.resize(20, NO_ID);
        let codes = [3, u64::MAX - 2, u64::MAX / 2];
        assert!(!around.insert_all(&codes, (3, u64::MAX - 2), &mut [0; 3]));
    }

    #[test]
    fn keys_keep_their_ids_when_they_move_to_the_array() {
        let mut ids = DenseIds::default();
        let codes: Vec<u64> = (0..5000u64).map(|i| i * 37 % 5003 * 11).collect();
        let first: Vec<u32> = codes.iter().map(|&code| ids.insert(0, code)).collect();
        assert_eq!(first, (0..5000).collect::<Vec<u32>>());
        ids.insert(1, 11);
        ids.expect(1000, 0, 60_000);
        assert!(!ids.direct.is_empty());
        let found: Vec<u32> = codes.iter().map(|&code| ids.find(0, code)).collect();
        let again: Vec<u32> = codes.iter().map(|&code| ids.insert(0, code)).collect();
        assert_eq!((&found, &again), (&first, &first));
        assert_eq!((ids.find(1, 11), ids.find(0, 1), ids.insert(0, 1)), (5000, NO_ID, 5001));
    }

    #[test]
    fn codes_far_from_zero_have_an_array_too() {
        let mut ids = DenseIds::default();
        ids.expect(100, 1 << 40, (1 << 40) + 99);
        assert_eq!(ids.direct.len(), 100);
        let codes = [(1 << 40) + 5, (1 << 40) - 1, 3, (1 << 40) + 5, u64::MAX];
        assert_eq!(codes.map(|code| ids.insert(0, code)), [0, 1, 2, 0, 3]);
        ids.expect(100, 0, (1 << 40) + 200);
        assert_eq!(codes.map(|code| ids.find(0, code)), [0, 1, 2, 0, 3]);
        assert_eq!([ids.find(0, 5), ids.find(1, codes[0])], [NO_ID; 2]);
    }

    #[test]
    fn prefixes_are_part_of_the_key() {
        let mut ids = DenseIds::default();
        ids.expect(10, 0, 100);
        assert_eq!([ids.insert(0, 5), ids.insert(1, 5), ids.insert(2, 5)], [0, 1, 2]);
        assert_eq!([ids.find(0, 5), ids.find(1, 5), ids.find(3, 5)], [0, 1, NO_ID]);
    }
}
