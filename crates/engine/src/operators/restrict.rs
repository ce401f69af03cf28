//! Where a shared operator's output goes to several consumers: each takes the slots that are its own.

use super::Batch;
use crate::query_set::{QuerySets, SetId, Tuples};

/// Keeps the slots of `set` only, and the rows that one of them wants. Free where that is everything.
pub fn restrict(batch: &Batch<'_>, set: SetId, tuples: Tuples) -> Tuples {
    if set == batch.sets.all() || matches!(tuples.sets, QuerySets::Uniform(all) if all == set) {
        return tuples;
    }
    let sets = tuples.sets.restrict(set, tuples.rows, batch.sets);
    tuples.with_sets(sets, batch.sets)
}
