//! (signatures)
use super::{Batch, Cut, Faults};
use crate::plan::SortKey;
use crate::query_set::Tuples;

/// ORDER BY, with the activations' LIMIT and OFFSET.
#[derive(Clone, Debug, Default)]
pub struct SortNode {
    /// Most significant first.
    pub keys: Vec<SortKey>,
}

/// One worker's part of a sort's input.
#[derive(Debug, Default)]
pub struct SortBuild {}

impl SortBuild {
    /// Takes in a chunk. `cuts` by slot.
    pub fn add(
        &mut self,
        node: &SortNode,
        batch: &Batch<'_>,
        cuts: &[Cut],
        tuples: Tuples,
        faults: &mut Faults,
    ) {
        let _ = (node, batch, cuts, tuples, faults);
        todo!()
    }
}

/// Sorts the whole input and gives every slot its cut: each slot's rows come in its order. `cuts` by slot.
pub fn sort(
    node: &SortNode,
    batch: &Batch<'_>,
    cuts: &[Cut],
    builds: Vec<SortBuild>,
    faults: &mut Faults,
) -> Tuples {
    let _ = (node, batch, cuts, builds, faults);
    todo!()
}
