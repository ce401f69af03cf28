//! (row, slot) pairs of a block, bucketed by slot: a counting sort, without a branch per pair.

use crate::query_set::SetTable;

/// Members written out at once; most words have fewer.
const STRIDE: usize = 4;

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

    /// Buckets the pairs of a block. `members` are the slots of row after row, `ends` where each row's end.
    pub fn fill(&mut self, slots: usize, members: &[u16], ends: &[u32]) {
        self.offsets.clear();
        self.offsets.resize(slots + 1, 0);
        members.iter().for_each(|&slot| self.offsets[usize::from(slot) + 1] += 1);
        let mut total = 0;
        for offset in &mut self.offsets {
            total += *offset;
            *offset = total;
        }
        self.next.clone_from(&self.offsets);
        self.rows.resize(members.len(), 0);
        let mut start = 0;
        for (row, &end) in (0..).zip(ends) {
            for &slot in &members[start..end as usize] {
                let place = &mut self.next[usize::from(slot)];
                self.rows[*place as usize] = row;
                *place += 1;
            }
            start = end as usize;
        }
    }
}

/// Rows that a block may have, by the width of a row's number.
pub const MOST_ROWS: usize = 1 << 16;

/// Appends the slots of row after row to `members`, and where each row's end to `ends`. A row has as many words as
/// `numbers`, which says the word's place in the batch's sets.
pub(super) fn flatten(words: &[u64], numbers: &[u16], members: &mut Vec<u16>, ends: &mut Vec<u32>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("bmi1") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { flatten_by_bit_instructions(words, numbers, members, ends) };
    }
    flatten_anywhere(words, numbers, members, ends);
}

/// Counting bits takes one instruction here and a dozen without: a third of the whole kernel.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt,bmi1")]
fn flatten_by_bit_instructions(
    words: &[u64],
    numbers: &[u16],
    members: &mut Vec<u16>,
    ends: &mut Vec<u32>,
) {
    flatten_anywhere(words, numbers, members, ends);
}

/// The positions of the words that are not 0, without a branch per word: which these are nobody can guess.
#[inline(always)]
fn nonzero(row: &[u64], positions: &mut [usize]) -> usize {
    let mut count = 0;
    for (position, &word) in row.iter().enumerate() {
        // `count` never passes `position`.
        positions[count] = position;
        count += usize::from(word != 0);
    }
    count
}

#[inline(always)]
fn flatten_anywhere(words: &[u64], numbers: &[u16], members: &mut Vec<u16>, ends: &mut Vec<u32>) {
    let width = numbers.len();
    let mut length = members.len();
    let mut wanted = vec![0; width];
    for row in words.chunks_exact(width) {
        // Room for all members of the row, and for what is written beyond them.
        if members.len() < length + width * 64 + STRIDE {
            members.resize((length + width * 64 + STRIDE) * 2, 0);
        }
        let found = nonzero(row, &mut wanted);
        for &word in &wanted[..found] {
            let (first, mut rest) = (numbers[word] * 64, row[word]);
            let mut written = length;
            length += rest.count_ones() as usize;
            while rest != 0 {
                let room = members[written..].first_chunk_mut::<STRIDE>();
                for member in room.expect("there is room") {
                    *member = first + rest.trailing_zeros() as u16;
                    rest &= rest.wrapping_sub(1);
                }
                written += STRIDE;
            }
        }
        ends.push(length as u32);
    }
    members.truncate(length);
}

/// Slots that a member's number can tell apart, also where one is written past the end of a word.
pub const MOST_SLOTS: usize = u16::MAX as usize - 64;

/// Whether the batch is small enough for the numbers above.
pub fn fits(sets: &SetTable) -> bool {
    sets.slots() < MOST_SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_flattened_in_order() {
        let words = [0b1011, 1 << 63, 0, 0, u64::MAX, 1];
        let (mut members, mut ends) = (vec![7], Vec::new());
        flatten(&words, &[0, 1], &mut members, &mut ends);
        assert_eq!(ends, [5, 5, 70]);
        assert_eq!(members[..5], [7, 0, 1, 3, 127]);
        assert_eq!(members[5..69], (0..64).collect::<Vec<u16>>());
        assert_eq!(members[69..], [64]);
    }
}
