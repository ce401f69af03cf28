//! The words of sets that fact rows meet: all of a batch's, or only those with slots whose groupings have no bins.

use super::{Dimension, padded_width};
use crate::operators::Batch;
use crate::query_set::{SetId, SetTable, words};

/// Words of a batch's sets as the kernels take them.
#[derive(Debug)]
pub(super) struct SetWords {
    /// The place of each word in the batch's sets; as many as a power of two, for which kernels are made. Words that only
    /// fill up are nobody's.
    pub numbers: Vec<u16>,
    /// How many of them do not only fill up.
    known: usize,
    /// By dimension, the words of set after set; none where the dimension's own serve.
    sets: Vec<Vec<u64>>,
}

impl SetWords {
    /// All words of sets of so many slots.
    pub fn all(slots: usize) -> SetWords {
        let width = padded_width(slots);
        SetWords { numbers: (0..width as u16).collect(), known: width, sets: Vec::new() }
    }

    /// The words with slots of a set; others in these words are nobody's.
    pub fn of(batch: &Batch<'_>, set: SetId, dimensions: &[Dimension]) -> SetWords {
        let own = batch.sets.words(set);
        let mut numbers: Vec<u16> =
            (0..).zip(own).filter(|(_, word)| **word != 0).map(|(number, _)| number).collect();
        let width = numbers.len().max(1).next_power_of_two();
        let known = numbers.len();
        numbers.resize(width, 0);
        let full = padded_width(batch.sets.slots());
        let pick = |set: &[u64]| {
            let word = |position: usize| match position < known {
                true => set[usize::from(numbers[position])] & own[usize::from(numbers[position])],
                false => 0,
            };
            (0..width).map(word).collect::<Vec<u64>>()
        };
        let sets =
            |dimension: &Dimension| dimension.sets.chunks_exact(full).flat_map(pick).collect();
        let sets = dimensions.iter().map(sets).collect();
        SetWords { numbers, known, sets }
    }

    /// Words of a set.
    pub fn width(&self) -> usize {
        self.numbers.len()
    }

    /// The words of a dimension's sets.
    pub fn sets<'a>(&'a self, dimensions: &'a [Dimension], number: usize) -> &'a [u64] {
        self.sets.get(number).map_or(&dimensions[number].sets, |sets| sets)
    }

    /// Bits that are somebody's, or nobody's between these.
    pub fn bits(&self) -> usize {
        self.known * u64::BITS as usize
    }

    /// One set's words.
    pub fn of_set(&self, table: &SetTable, set: SetId) -> Vec<u64> {
        let own = table.words(set);
        let word = |number: &u16| own.get(usize::from(*number)).copied().unwrap_or_default();
        let mut set: Vec<u64> = self.numbers[..self.known].iter().map(word).collect();
        set.resize(self.width(), 0);
        set
    }

    /// Whether nobody is in the set with this number.
    pub fn is_empty(&self, dimensions: &[Dimension], dimension: usize, number: usize) -> bool {
        let width = self.width();
        words::is_empty(&self.sets(dimensions, dimension)[number * width..][..width])
    }
}
