//! Sets of characters, and the classes of characters that a pattern cannot tell apart.

/// The largest number of a character that sets know.
pub(super) const LAST: u32 = 0x7FFF_FFFE;

/// A set of characters by number. Invariant: ranges, both ends included, rise and neither touch nor overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Set(Vec<(u32, u32)>);

impl Set {
    pub(super) fn range(first: u32, last: u32) -> Self {
        Self(vec![(first, last)])
    }

    pub(super) fn of_ranges(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last);
                }
                _ => merged.push((first, last)),
            }
        }
        Self(merged)
    }

    pub(super) fn of_ascii(is: impl Fn(u8) -> bool) -> Self {
        let of = (0..0x80_u8).filter(|byte| is(*byte));
        Self::of_ranges(of.map(|byte| (byte.into(), byte.into())).collect())
    }

    pub(super) fn ranges(&self) -> &[(u32, u32)] {
        &self.0
    }

    /// All characters outside it.
    pub(super) fn complement(&self) -> Self {
        let mut ranges = Vec::with_capacity(self.0.len() + 1);
        let mut next = 0;
        for (first, last) in &self.0 {
            if *first > next {
                ranges.push((next, first - 1));
            }
            next = last + 1;
        }
        if next <= LAST {
            ranges.push((next, LAST));
        }
        Self(ranges)
    }

    /// With the other case of its letters.
    pub(super) fn in_any_case(&self) -> Self {
        let mut ranges = self.0.clone();
        for (first, last) in &self.0 {
            for (letters, moved) in [(('a', 'z'), -32), (('A', 'Z'), 32)] {
                let (from, to) = ((*first).max(letters.0.into()), (*last).min(letters.1.into()));
                if from <= to {
                    ranges.push((from.wrapping_add_signed(moved), to.wrapping_add_signed(moved)));
                }
            }
        }
        Self::of_ranges(ranges)
    }

    pub(super) fn without(&self, code: u32) -> Self {
        let mut ranges = self.complement().0;
        ranges.push((code, code));
        Self::of_ranges(ranges).complement()
    }
}

/// Classes of characters: those of one class are in the same sets.
#[derive(Debug)]
pub(super) struct Classes {
    /// Where each class but the first begins.
    starts: Vec<u32>,
    ascii: [u32; 128],
}

impl Classes {
    /// The classes that some sets tell apart.
    pub(super) fn of<'s>(sets: impl Iterator<Item = &'s Set>) -> Self {
        let mut starts: Vec<u32> = sets
            .flat_map(|set| set.ranges().iter().flat_map(|(first, last)| [*first, last + 1]))
            .filter(|start| *start > 0)
            .collect();
        starts.sort_unstable();
        starts.dedup();
        let mut classes = Self { starts, ascii: [0; 128] };
        let ascii = std::array::from_fn(|code| classes.search(code as u32));
        classes.ascii = ascii;
        classes
    }

    fn search(&self, code: u32) -> u32 {
        self.starts.partition_point(|start| *start <= code) as u32
    }

    /// The class of a character.
    pub(super) fn class(&self, code: u32) -> u32 {
        match self.ascii.get(code as usize) {
            Some(class) => *class,
            None => self.search(code),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.starts.len() + 1
    }

    /// A set as ranges of classes.
    pub(super) fn ranges(&self, set: &Set) -> Box<[(u32, u32)]> {
        let ranges = set.ranges().iter();
        ranges.map(|(first, last)| (self.search(*first), self.search(*last))).collect()
    }
}
