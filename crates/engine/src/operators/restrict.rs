//! (signatures)
use super::Batch;
use crate::query_set::{SetId, Tuples};

/// Keeps the slots of `set` only, and the rows that one of them wants.
pub fn restrict(batch: &Batch<'_>, set: SetId, tuples: Tuples) -> Tuples {
    let _ = (batch, set, tuples);
    todo!()
}
