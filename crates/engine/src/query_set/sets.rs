//! One logical column, several encodings, chosen by density.

use super::SetId;
use crate::types::Slot;

/// Which activations want which row.
#[derive(Clone, Debug)]
pub enum QuerySets {
    /// All rows have the same set. A batch of one is this case and costs nothing per row.
    Uniform(SetId),
    /// One interned set per row.
    Interned(Vec<SetId>),
    /// A bitmap per row: `words_per_row` words each.
    Bitmaps {
        /// Words of each row.
        words_per_row: usize,
        /// Row after row, slot 0 in the lowest bit of the first word.
        words: Vec<u64>,
    },
    /// Every row is wanted by exactly one activation: what index probes of a batch give.
    Single(Vec<Slot>),
}
