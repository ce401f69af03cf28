//! (signatures)
use super::Batch;
use crate::query_set::Tuples;
use crate::types::Slot;

/// The row numbers of every slot that wants some, in row order; slots ascend.
pub fn route(batch: &Batch<'_>, tuples: &Tuples) -> Vec<(Slot, Vec<u32>)> {
    let _ = (batch, tuples);
    todo!()
}
