//! Bins to the slots that want them: what was aggregated once for a grouping becomes partial results of each of its
//! queries.

use std::ops::Range;

use super::bin_space::BinSpace;
use crate::query_set::words;

/// A bin and its group's number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BinShare {
    pub bin: u32,
    pub group: u32,
}

/// The bins of the slots of one word of a grouping's sets.
#[derive(Debug, Default)]
pub(super) struct BinShares {
    /// By bit, where its bins begin; then the end.
    offsets: Vec<u32>,
    /// Bit after bit.
    shares: Vec<BinShare>,
}

impl BinShares {
    /// Hands bins out to slots: `slots` are positions among the grouping's `count`, all in the same word.
    pub fn new(space: &BinSpace, seen: &[u32], count: usize, slots: Range<usize>) -> BinShares {
        let (word, width) = (slots.start / 64, words::word_count(count));
        let own = (slots.start % 64, slots.len());
        let mask = (u64::MAX >> (64 - own.1)) << own.0;
        let wanted = |&bin: &u32| {
            let (set, group) = space.of_bin(bin as usize, word, width);
            (set & mask != 0).then_some((set & mask, group, bin))
        };
        let wanted: Vec<(u64, u32, u32)> = seen.iter().filter_map(wanted).collect();
        let mut offsets = vec![0u32; 65];
        wanted.iter().for_each(|(set, ..)| {
            words::for_each(&[*set], |bit| offsets[bit.index() + 1] += 1);
        });
        (1..65).for_each(|bit| offsets[bit] += offsets[bit - 1]);
        let mut next = offsets.clone();
        let mut shares = vec![BinShare::default(); offsets[64] as usize];
        for (set, group, bin) in wanted {
            words::for_each(&[set], |bit| {
                let place = &mut next[bit.index()];
                shares[*place as usize] = BinShare { bin, group };
                *place += 1;
            });
        }
        BinShares { offsets, shares }
    }

    /// The bins of a slot by its position among the grouping's, each with its group.
    pub fn of(&self, position: usize) -> &[BinShare] {
        let bit = position % 64;
        &self.shares[self.offsets[bit] as usize..self.offsets[bit + 1] as usize]
    }
}
