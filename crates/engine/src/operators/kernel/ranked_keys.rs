//! Integer keys of a whole input to dense ids, in the order of the keys: a bit per possible key, and how many bits come
//! before each word. A look-up is one word and a count of bits; nothing is hashed and nothing grows.

use arrow_array::{Array, ArrayRef};

use super::NO_ID;
use crate::types::for_each_integer;

/// Bits that may be spent whatever the number of keys: 1 MiB.
const FREE_SPAN: u64 = 1 << 23;
/// Bits per key beyond that. They take 32 bytes then, about what a key, its id and the free places of a hash table take;
/// rows that come in the order of their keys, as most tables are written, find the words in the cache besides.
const SPARSENESS: u64 = 128;

/// A place is a number of 32 bits, and there are some behind the last key's.
const MOST_SPAN: u64 = u32::MAX as u64 - 128;

/// The distinct keys of a column.
#[derive(Debug)]
pub struct RankedKeys {
    least: i64,
    words: Vec<Word>,
    length: usize,
}

/// Where the keys of a column lie.
#[derive(Clone, Copy, Debug)]
pub struct KeyRange {
    /// The least key; of no key some number that is larger than `most`.
    pub least: i64,
    /// The largest key.
    pub most: i64,
}

impl KeyRange {
    /// That of a column of integers or dates.
    pub fn of(column: &ArrayRef) -> KeyRange {
        let mut range = KeyRange::NONE;
        for_each_integer(column, |_, key| {
            range = KeyRange { least: range.least.min(key), most: range.most.max(key) };
        });
        range
    }

    /// That of no key.
    pub const NONE: KeyRange = KeyRange { least: i64::MAX, most: i64::MIN };

    /// That of both.
    pub fn with(self, other: KeyRange) -> KeyRange {
        KeyRange { least: self.least.min(other.least), most: self.most.max(other.most) }
    }

    /// How many numbers lie in it; `None` where they are too many for the keys of so many rows to be ranked.
    pub fn span_of(self, rows: usize) -> Option<u64> {
        let span = match self.least <= self.most {
            true => self.most.abs_diff(self.least).checked_add(1)?,
            false => 0,
        };
        (span <= FREE_SPAN.max(rows as u64 * SPARSENESS).min(MOST_SPAN)).then_some(span)
    }
}

/// 64 possible keys.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    bits: u64,
    /// Keys in the words before.
    before: u32,
}

impl RankedKeys {
    /// The keys of a column of integers or dates; `None` where they lie too far apart.
    pub fn of(column: &ArrayRef) -> Option<RankedKeys> {
        let range = KeyRange::of(column);
        let span = range.span_of(column.len())?;
        Some(RankedKeys::within(range.least, span, column))
    }

    /// The keys of a column that lie among `span` numbers from `least` on, as all do.
    pub fn within(least: i64, span: u64, column: &ArrayRef) -> RankedKeys {
        // The last one is empty.
        let mut words = vec![Word::default(); span.div_ceil(64) as usize + 1];
        for_each_integer(column, |_, key| {
            let place = key.wrapping_sub(least) as u64;
            words[(place / 64) as usize].bits |= 1 << (place % 64);
        });
        let mut length = 0;
        for word in &mut words {
            word.before = length;
            length += word.bits.count_ones();
        }
        RankedKeys { least, words, length: length as usize }
    }

    /// The keys of ranges that follow each other, all but the last of a multiple of 64 numbers: ids go on from one to the
    /// next.
    pub fn joined(ranges: Vec<RankedKeys>) -> RankedKeys {
        let words = ranges.iter().map(|own| own.words.len()).sum();
        let least = ranges.first().map_or(0, RankedKeys::least);
        let mut all = RankedKeys { least, words: Vec::with_capacity(words), length: 0 };
        for own in ranges {
            all.words.pop();
            let before = all.length as u32;
            let shifted =
                own.words.iter().map(|w| Word { bits: w.bits, before: w.before + before });
            all.words.extend(shifted);
            all.length += own.length;
        }
        all
    }

    /// The least key; 0 where there is none.
    pub fn least(&self) -> i64 {
        self.least
    }

    /// Distinct keys.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Ids of the rows' keys; [`NO_ID`] for keys that are not there and for NULL.
    pub fn find(&self, column: &ArrayRef) -> Vec<u32> {
        let nowhere = self.words.len() as u64 * 64 - 1;
        let mut places = vec![nowhere as u32; column.len()];
        for_each_integer(column, |row, key| {
            // The difference of a smaller key, taken as a number without sign, lies behind the last key's.
            places[row] = (key.wrapping_sub(self.least) as u64).min(nowhere) as u32;
        });
        rank(&self.words, &mut places);
        places
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.words.capacity() * size_of::<Word>()
    }
}

/// From the places of keys, bit by bit through all words, to their ids.
fn rank(words: &[Word], places: &mut [u32]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { rank_by_bit_instructions(words, places) };
    }
    rank_anywhere(words, places);
}

/// Counting bits takes one instruction here and a dozen without.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn rank_by_bit_instructions(words: &[Word], places: &mut [u32]) {
    rank_anywhere(words, places);
}

/// No branch, which could be guessed wrong: so the memory is asked for many rows at once.
#[inline(always)]
fn rank_anywhere(words: &[Word], places: &mut [u32]) {
    for place in places {
        let word = words[(*place / 64) as usize];
        let bit = 1u64 << (*place % 64);
        let id = word.before + (word.bits & (bit - 1)).count_ones();
        *place = if word.bits & bit == 0 { NO_ID } else { id };
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use arrow_array::{Int32Array, Int64Array};
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn ids_are_the_ranks_of_keys() {
        for seed in 0..200 {
            let mut random = StdRng::seed_from_u64(seed);
            let (least, span) = (random.random_range(-500..500), random.random_range(1..300));
            let mut keys = |count: usize| -> Vec<Option<i32>> {
                let key =
                    |_| random.random_bool(0.9).then(|| random.random_range(least..least + span));
                (0..count).map(key).collect()
            };
            let (own, asked) = (keys(40), keys(60));
            let known: BTreeSet<i32> = own.iter().flatten().copied().collect();
            let column: ArrayRef = Arc::new(Int32Array::from(own));
            let ranked = RankedKeys::of(&column).expect("keys lie close together");
            assert_eq!(ranked.len(), known.len(), "seed {seed}");
            let rank = |key: i32| known.range(..key).count() as u32;
            let expected: Vec<u32> = asked
                .iter()
                .map(|key| key.filter(|key| known.contains(key)).map_or(NO_ID, rank))
                .collect();
            let wide = Int64Array::from_iter(asked.iter().map(|key| key.map(i64::from)));
            assert_eq!(ranked.find(&(Arc::new(wide) as ArrayRef)), expected, "seed {seed}");
            let mut places: Vec<u32> = (0..ranked.words.len() as u32 * 64).collect();
            let mut anywhere = places.clone();
            super::rank(&ranked.words, &mut places);
            rank_anywhere(&ranked.words, &mut anywhere);
            assert_eq!(places, anywhere, "seed {seed}");
        }
    }

    #[test]
    fn keys_at_both_ends_of_the_range_are_kept_apart() {
        let far: ArrayRef = Arc::new(Int64Array::from(vec![i64::MIN, i64::MAX]));
        assert!(RankedKeys::of(&far).is_none());
        let near: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, i64::MAX - 1]));
        let ranked = RankedKeys::of(&near).expect("neighbours");
        assert_eq!(ranked.find(&far), [NO_ID, 1]);
    }

    #[test]
    fn nothing_is_found_among_no_keys() {
        let none: ArrayRef = Arc::new(Int32Array::from(vec![None, None]));
        let ranked = RankedKeys::of(&none).expect("no keys");
        let some: ArrayRef = Arc::new(Int32Array::from(vec![Some(0), None]));
        assert_eq!((ranked.len(), ranked.find(&some)), (0, vec![NO_ID, NO_ID]));
    }
}
