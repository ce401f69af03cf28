//! (signatures)
use super::{Batch, Faults, Users};
use crate::query_set::Tuples;
use crate::types::Predicate;

/// Rows that meet all predicates; templates that share the node bring their own.
#[derive(Clone, Debug, Default)]
pub struct FilterNode {
    /// One conjunction per variant, over the input's output columns.
    pub variants: Vec<Vec<Predicate>>,
}

/// Keeps for every slot the rows that meet its variant's predicates.
pub fn filter(
    node: &FilterNode,
    batch: &Batch<'_>,
    users: &[Users],
    tuples: Tuples,
    faults: &mut Faults,
) -> Tuples {
    let _ = (node, batch, users, tuples, faults);
    todo!()
}
