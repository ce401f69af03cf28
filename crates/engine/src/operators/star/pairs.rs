//! (row, slot) pairs of a block, bucketed by slot: a counting sort, without a branch per pair.

use super::ActiveGrouping;
use crate::query_set::SetTable;

/// Members written out at once; most words have fewer.
const STRIDE: usize = 4;

/// A row of a block and its group's number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Keyed {
    pub number: u32,
    pub row: u32,
}

/// How a slot's grouping numbers a row's group: the sum of code × factor over up to so many columns.
pub const FEW_KEYS: usize = 3;

/// Per slot, the coded columns and factors of its grouping.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    few: Vec<[(u32, u32); FEW_KEYS]>,
    /// By slot, where there are more columns.
    many: Vec<Option<Vec<(u32, u32)>>>,
}

impl Numbering {
    /// For the slots of all groupings. `columns` is how many coded columns a row has, then comes one that is 0.
    pub fn new(groupings: &[ActiveGrouping], columns: usize, slots: usize) -> Numbering {
        let nothing = [(columns as u32, 0); FEW_KEYS];
        let mut numbering = Numbering { few: vec![nothing; slots], many: vec![None; slots] };
        for grouping in groupings {
            let keys = grouping.keys.iter().map(|&(column, factor)| (column as u32, factor));
            let keys: Vec<(u32, u32)> = keys.collect();
            for slot in &grouping.slots {
                match keys.len() <= FEW_KEYS {
                    true => numbering.few[slot.index()][..keys.len()].copy_from_slice(&keys),
                    false => numbering.many[slot.index()] = Some(keys.clone()),
                }
            }
        }
        numbering
    }

    /// The number of a row's group for a slot; `codes` are the row's.
    #[inline(always)]
    fn number(&self, slot: usize, codes: &[u32]) -> u32 {
        let part = |(column, factor): (u32, u32)| codes[column as usize].wrapping_mul(factor);
        let few = self.few[slot];
        part(few[0]).wrapping_add(part(few[1])).wrapping_add(part(few[2]))
    }

    fn number_of_many(&self, slot: usize, codes: &[u32]) -> Option<u32> {
        let keys = self.many[slot].as_ref()?;
        Some(keys.iter().map(|&(column, factor)| codes[column as usize] * factor).sum())
    }
}

/// Pairs bucketed by slot.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    /// Slot `s` has `pairs[offsets[s]..offsets[s + 1]]`.
    offsets: Vec<u32>,
    pairs: Vec<Keyed>,
    next: Vec<u32>,
}

impl Buckets {
    /// One slot's pairs, rows ascending.
    pub fn of(&self, slot: usize) -> &[Keyed] {
        &self.pairs[self.offsets[slot] as usize..self.offsets[slot + 1] as usize]
    }

    /// Buckets the pairs of a block. `members` are the slots of row after row, `ends` where each row's end, `codes` the
    /// codes of row after row, `width` each.
    pub fn fill(
        &mut self,
        slots: usize,
        members: &[u16],
        ends: &[u32],
        (codes, width): (&[u32], usize),
        numbering: &Numbering,
    ) {
        self.offsets.clear();
        self.offsets.resize(slots + 1, 0);
        members.iter().for_each(|&slot| self.offsets[usize::from(slot) + 1] += 1);
        let mut total = 0;
        for offset in &mut self.offsets {
            total += *offset;
            *offset = total;
        }
        self.next.clone_from(&self.offsets);
        self.pairs.resize(members.len(), Keyed::default());
        let mut start = 0;
        for (row, (&end, codes)) in (0..).zip(ends.iter().zip(codes.chunks_exact(width))) {
            for &slot in &members[start..end as usize] {
                let slot = usize::from(slot);
                let place = &mut self.next[slot];
                self.pairs[*place as usize] = Keyed { number: numbering.number(slot, codes), row };
                *place += 1;
            }
            start = end as usize;
        }
        self.number_many(slots, codes, width, numbering);
    }

    /// Numbers the groups of slots with many key columns.
    fn number_many(&mut self, slots: usize, codes: &[u32], width: usize, numbering: &Numbering) {
        for slot in (0..slots).filter(|&slot| numbering.many[slot].is_some()) {
            let range = self.offsets[slot] as usize..self.offsets[slot + 1] as usize;
            for pair in &mut self.pairs[range] {
                let codes = &codes[pair.row as usize * width..][..width];
                pair.number = numbering.number_of_many(slot, codes).unwrap_or_default();
            }
        }
    }
}

/// Appends the slots of row after row, given as `width` words each, to `members`, and where each row's end to `ends`.
pub(super) fn flatten(words: &[u64], width: usize, members: &mut Vec<u16>, ends: &mut Vec<u32>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("bmi1") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { flatten_by_bit_instructions(words, width, members, ends) };
    }
    flatten_anywhere(words, width, members, ends);
}

/// Counting bits takes one instruction here and a dozen without: a third of the whole kernel.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt,bmi1")]
fn flatten_by_bit_instructions(
    words: &[u64],
    width: usize,
    members: &mut Vec<u16>,
    ends: &mut Vec<u32>,
) {
    flatten_anywhere(words, width, members, ends);
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
fn flatten_anywhere(words: &[u64], width: usize, members: &mut Vec<u16>, ends: &mut Vec<u32>) {
    let mut length = members.len();
    let mut wanted = vec![0; width];
    for row in words.chunks_exact(width) {
        // Room for all members of the row, and for what is written beyond them.
        if members.len() < length + width * 64 + STRIDE {
            members.resize((length + width * 64 + STRIDE) * 2, 0);
        }
        let found = nonzero(row, &mut wanted);
        for &word in &wanted[..found] {
            let (first, mut rest) = (word as u16 * 64, row[word]);
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
        flatten(&words, 2, &mut members, &mut ends);
        assert_eq!(ends, [5, 5, 70]);
        assert_eq!(members[..5], [7, 0, 1, 3, 127]);
        assert_eq!(members[5..69], (0..64).collect::<Vec<u16>>());
        assert_eq!(members[69..], [64]);
    }
}
