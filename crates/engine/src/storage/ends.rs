//! Until when the row versions of one chunk live, with a mark for each that has an end at all.
//!
//! Few rows of a chunk have ended, mostly. A reader goes by the marks, a word for 64 rows, and looks at the ends of
//! marked rows only where some end is later than its version: those of the others lie all over the chunk's ends, each a
//! miss of the cache. One writer, readers without locks: an end is written before the last one's version, that before the mark, and
//! all before the version from which on it counts is published, so whoever reads at that version finds them.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows of a word of marks.
const WORD: usize = 64;

/// The ends of a chunk's row versions.
#[derive(Debug)]
pub(super) struct Ends {
    values: Box<[AtomicU64]>,
    marks: Box<[AtomicU64]>,
    /// The latest end of a row that is marked.
    last: AtomicU64,
}

impl Ends {
    /// None of so many rows has ended.
    pub fn new(capacity: usize) -> Ends {
        let marks = capacity.div_ceil(WORD);
        Ends {
            values: (0..capacity).map(|_| AtomicU64::new(u64::MAX)).collect(),
            marks: (0..marks).map(|_| AtomicU64::new(0)).collect(),
            last: AtomicU64::new(0),
        }
    }

    /// The version from which on the row is gone; the largest number where it has no end.
    #[inline]
    pub fn get(&self, offset: usize) -> u64 {
        self.values[offset].load(Ordering::Relaxed)
    }

    /// Writer: ends a row.
    pub fn set(&self, offset: usize, end: u64) {
        assert!(self.get(offset) == u64::MAX, "a row version ends once");
        self.values[offset].store(end, Ordering::Relaxed);
        self.last.fetch_max(end, Ordering::Relaxed);
        self.marks[offset / WORD].fetch_or(1 << (offset % WORD), Ordering::Release);
    }

    /// By row.
    pub fn values(&self) -> &[AtomicU64] {
        &self.values
    }

    /// Bytes allocated.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.values) + size_of_val(&*self.marks)
    }

    /// Appends the rows of `range` that have not ended at `version`, ascending.
    pub fn living(&self, version: u64, range: Range<u32>, out: &mut Vec<u32>) {
        out.reserve(range.len());
        // Ended rows are rare: what lies between two of them is appended at once.
        let mut next = range.start;
        for word in range.start as usize / WORD..(range.end as usize).div_ceil(WORD) {
            // Marks come before the last end: who sees a mark sees an end that is not earlier than the row's.
            let mut marks = self.marks[word].load(Ordering::Acquire);
            if marks == 0 {
                continue;
            }
            let all_ended = self.last.load(Ordering::Relaxed) <= version;
            while marks != 0 {
                let marked = (word * WORD) as u32 + marks.trailing_zeros();
                marks &= marks - 1;
                let is_gone = || all_ended || self.get(marked as usize) <= version;
                if range.contains(&marked) && is_gone() {
                    out.extend(next..marked);
                    next = marked + 1;
                }
            }
        }
        out.extend(next..range.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(crate::properties::usual())]

        #[test]
        fn living_rows_are_those_that_end_later(
            ended in prop::collection::btree_map(0usize..300, 1u64..6, 0..80),
            version in 0u64..7,
            range in (0u32..300, 0u32..=300),
        ) {
            let ends = Ends::new(300);
            ended.iter().for_each(|(&offset, &end)| ends.set(offset, end));
            let range = range.0..range.1.max(range.0);
            let mut living = Vec::new();
            ends.living(version, range.clone(), &mut living);
            let lives = |row: &u32| ended.get(&(*row as usize)).is_none_or(|end| *end > version);
            prop_assert_eq!(living, range.filter(lives).collect::<Vec<_>>());
        }
    }
}
