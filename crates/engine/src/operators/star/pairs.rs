//! (row, slot) pairs of a block, bucketed by slot: a counting sort, without a branch that nobody can guess.

use crate::query_set::SetTable;

/// A pair as a number: the row, counted from the block's first, above the slot.
pub(super) type Pair = u32;

/// Slots written out at once; most words have fewer.
const STRIDE: usize = 4;
/// Rows whose words are gone through before slots are written out: what is found lies in the first cache meanwhile.
const ROWS: usize = 64;

/// Pairs bucketed by slot: of each the row, counted from the block's first.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    /// Slot `s` has `rows[offsets[s]..offsets[s + 1]]`.
    offsets: Vec<u32>,
    rows: Vec<u16>,
    next: Vec<u32>,
}

impl Buckets {
    /// One slot's rows, ascending.
    pub fn of(&self, slot: usize) -> &[u16] {
        &self.rows[self.offsets[slot] as usize..self.offsets[slot + 1] as usize]
    }

    /// How many there are.
    pub fn pairs(&self) -> usize {
        self.rows.len()
    }

    /// Buckets the pairs of a block, which come with rows ascending.
    pub fn fill(&mut self, slots: usize, pairs: &[Pair]) {
        self.offsets.clear();
        self.offsets.resize(slots + 1, 0);
        pairs.iter().for_each(|&pair| self.offsets[slot_of(pair) + 1] += 1);
        let mut total = 0;
        for offset in &mut self.offsets {
            total += *offset;
            *offset = total;
        }
        self.next.clone_from(&self.offsets);
        self.rows.resize(pairs.len(), 0);
        for &pair in pairs {
            let place = &mut self.next[slot_of(pair)];
            self.rows[*place as usize] = (pair >> 16) as u16;
            *place += 1;
        }
    }
}

/// A row and a slot as one number.
pub(super) fn pair(row: usize, slot: usize) -> Pair {
    (row as u32) << 16 | slot as u32
}

#[inline(always)]
fn slot_of(pair: Pair) -> usize {
    usize::from(pair as u16)
}

/// Rows that a block may have, by the width of a row's number.
pub const MOST_ROWS: usize = 1 << 16;

/// Appends the pairs of rows from `first` on. A row has as many words as `numbers`, which says each word's place in the
/// batch's sets.
pub(super) fn flatten(words: &[u64], numbers: &[u16], first: usize, pairs: &mut Vec<Pair>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("bmi1") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { flatten_by_bit_instructions(words, numbers, first, pairs) };
    }
    flatten_anywhere(words, numbers, first, pairs);
}

/// Counting bits takes one instruction here and a dozen without: a third of the whole kernel.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt,bmi1")]
fn flatten_by_bit_instructions(
    words: &[u64],
    numbers: &[u16],
    first: usize,
    pairs: &mut Vec<Pair>,
) {
    flatten_anywhere(words, numbers, first, pairs);
}

#[inline(always)]
fn flatten_anywhere(words: &[u64], numbers: &[u16], first: usize, pairs: &mut Vec<Pair>) {
    let width = numbers.len();
    let mut found = vec![(0u64, 0); ROWS * width];
    let mut length = pairs.len();
    for (part, words) in words.chunks(ROWS * width).enumerate() {
        let count = nonzero(words, numbers, first + part * ROWS, &mut found);
        for &(word, base) in &found[..count] {
            // Room for a whole word, and for what is written beyond it.
            if pairs.len() < length + 64 + STRIDE {
                pairs.resize((length + 64 + STRIDE) * 2, 0);
            }
            let (mut rest, mut written) = (word, length);
            length += word.count_ones() as usize;
            while rest != 0 {
                let room = pairs[written..].first_chunk_mut::<STRIDE>();
                for pair in room.expect("there is room") {
                    *pair = base + rest.trailing_zeros();
                    rest &= rest.wrapping_sub(1);
                }
                written += STRIDE;
            }
        }
    }
    pairs.truncate(length);
}

/// The words that are not 0, each with the pair of its row and its first slot: without a branch per word, since which
/// these are nobody can guess.
#[inline(always)]
fn nonzero(words: &[u64], numbers: &[u16], first: usize, found: &mut [(u64, Pair)]) -> usize {
    let mut count = 0;
    for (row, words) in words.chunks_exact(numbers.len()).enumerate() {
        for (&word, &number) in words.iter().zip(numbers) {
            found[count] = (word, pair(first + row, usize::from(number) * 64));
            count += usize::from(word != 0);
        }
    }
    count
}

/// Slots that a pair can tell apart, also where one is written past the end of a word.
pub const MOST_SLOTS: usize = u16::MAX as usize - 64;

/// Whether the batch is small enough for the numbers above.
pub fn fits(sets: &SetTable) -> bool {
    sets.slots() < MOST_SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_come_in_order() {
        let words = [0b1011, 1 << 63, 0, 0, u64::MAX, 1];
        let mut pairs = vec![pair(4, 1)];
        flatten(&words, &[0, 2], 5, &mut pairs);
        let of = |row: usize| {
            let own = pairs.iter().filter(|pair| **pair >> 16 == row as u32);
            own.map(|&pair| slot_of(pair)).collect::<Vec<usize>>()
        };
        assert_eq!(of(4), [1]);
        assert_eq!(of(5), [0, 1, 3, 191]);
        assert!(of(6).is_empty());
        assert_eq!(of(7), (0..64).chain([128]).collect::<Vec<usize>>());
        assert_eq!(pairs.len(), 1 + 4 + 65);
    }

    #[test]
    fn buckets_keep_the_order_of_rows() {
        let mut buckets = Buckets::default();
        buckets.fill(3, &[pair(0, 2), pair(1, 0), pair(1, 2), pair(9, 2)]);
        assert_eq!((buckets.of(0), buckets.of(1)), (&[1][..], &[][..]));
        assert_eq!(buckets.of(2), [0, 1, 9]);
    }
}
