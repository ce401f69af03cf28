//! One query's groups: numbers of 32 bits to places counted from 0, and what each aggregate knows of them.

use crate::operators::grouping::Accumulator;

/// No place.
const FREE: u32 = u32::MAX;
/// Places of a new table.
const FIRST: usize = 16;
/// Spreads numbers over the table: 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Group numbers met so far. Open addressing, at most half full: the few hundred groups of a query lie in the core's
/// first cache.
#[derive(Clone, Debug)]
pub(super) struct GroupPlaces {
    entries: Vec<(u32, u32)>,
    shift: u32,
    /// By place.
    pub numbers: Vec<u32>,
}

impl Default for GroupPlaces {
    fn default() -> GroupPlaces {
        GroupPlaces { entries: Vec::new(), shift: 64, numbers: Vec::new() }
    }
}

impl GroupPlaces {
    /// The place of a group, a new one where it has none.
    #[inline]
    pub fn place(&mut self, number: u32) -> u32 {
        if self.numbers.len() * 2 >= self.entries.len() {
            self.grow();
        }
        let mask = self.entries.len() - 1;
        let mut at = (u64::from(number).wrapping_mul(SPREAD) >> self.shift) as usize;
        loop {
            let entry = &mut self.entries[at & mask];
            if entry.1 == FREE {
                *entry = (number, self.numbers.len() as u32);
                self.numbers.push(number);
                return self.numbers.len() as u32 - 1;
            }
            if entry.0 == number {
                return entry.1;
            }
            at += 1;
        }
    }

    /// Forgets all groups.
    pub fn clear(&mut self) {
        self.entries.fill((0, FREE));
        self.numbers.clear();
    }

    #[cold]
    fn grow(&mut self) {
        let entries = (self.entries.len() * 2).max(FIRST);
        self.entries = vec![(0, FREE); entries];
        self.shift = 64 - entries.trailing_zeros();
        for (place, &number) in self.numbers.iter().enumerate() {
            let mut at = (u64::from(number).wrapping_mul(SPREAD) >> self.shift) as usize;
            while self.entries[at & (entries - 1)].1 != FREE {
                at += 1;
            }
            self.entries[at & (entries - 1)] = (number, place as u32);
        }
    }
}

/// One query's groups and aggregates.
#[derive(Clone, Debug, Default)]
pub(super) struct SlotGroups {
    pub places: GroupPlaces,
    pub accumulators: Vec<Accumulator>,
}

impl SlotGroups {
    /// Bytes that a group takes.
    pub fn width(aggregates: usize) -> usize {
        4 * size_of::<(u32, u32)>() + 8 + 24 * aggregates
    }

    /// Bytes of these that a row of the group visits: entries of a table that is a third full, counts and sums.
    pub fn visited(aggregates: usize) -> usize {
        3 * size_of::<(u32, u32)>() + 16 * aggregates
    }
}
