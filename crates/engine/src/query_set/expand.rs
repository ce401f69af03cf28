//! From rows with sets to (row, slot) pairs bucketed by slot: the base of grouping, sorting and routing.

use super::{QuerySets, SetTable};
use crate::types::Slot;

/// The rows of each slot. Two arrays, made by one counting sort.
#[derive(Clone, Debug)]
pub struct SlotBuckets {
    /// Slot `s` has `rows[offsets[s]..offsets[s + 1]]`.
    pub offsets: Vec<u32>,
    /// Rows, ascending within a slot.
    pub rows: Vec<u32>,
}

impl SlotBuckets {
    /// The rows that a slot wants, ascending.
    #[inline]
    pub fn rows(&self, slot: Slot) -> &[u32] {
        &self.rows[self.offsets[slot.index()] as usize..self.offsets[slot.index() + 1] as usize]
    }

    /// Slots that want at least one row, with their rows.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &[u32])> {
        let slots = (0..self.offsets.len() as u32 - 1).map(Slot);
        slots.map(|slot| (slot, self.rows(slot))).filter(|(_, rows)| !rows.is_empty())
    }
}

impl QuerySets {
    /// All (row, slot) pairs, bucketed by slot.
    pub fn expand(&self, rows: usize, table: &SetTable) -> SlotBuckets {
        if let (QuerySets::Uniform(id), 1) = (self, table.slots()) {
            let rows = if table.cardinality(*id) == 1 { rows as u32 } else { 0 };
            return SlotBuckets { offsets: vec![0, rows], rows: (0..rows).collect() };
        }
        let mut offsets = vec![0u32; table.slots() + 1];
        for row in 0..rows {
            self.row(row).for_each(table, |slot| offsets[slot.index() + 1] += 1);
        }
        let mut total = 0u32;
        for offset in &mut offsets {
            total = total.checked_add(*offset).expect("pairs of one run fit 32 bits");
            *offset = total;
        }
        let mut next = offsets.clone();
        let mut bucketed = vec![0u32; total as usize];
        for row in 0..rows {
            self.row(row).for_each(table, |slot| {
                let place = &mut next[slot.index()];
                bucketed[*place as usize] = row as u32;
                *place += 1;
            });
        }
        SlotBuckets { offsets, rows: bucketed }
    }
}
