//! The end of the plan: rows go to the activations in their query set. Nothing is copied: an answer is a list
//! of row numbers. One counting sort over (row, slot) pairs, which are the answers' own rows.

use super::Batch;
use crate::query_set::{QuerySets, Tuples};
use crate::types::Slot;

/// The row numbers of every slot that wants some, in row order; slots ascend.
pub fn route(batch: &Batch<'_>, tuples: &Tuples) -> Vec<(Slot, Vec<u32>)> {
    let rows = tuples.rows as u32;
    if rows == 0 {
        return Vec::new();
    }
    if let QuerySets::Uniform(set) = tuples.sets {
        return batch.sets.members(set).map(|slot| (slot, (0..rows).collect())).collect();
    }
    let buckets = tuples.sets.expand(tuples.rows, batch.sets);
    buckets.iter().map(|(slot, rows)| (slot, rows.to_vec())).collect()
}
