//! (signatures)
use super::{Batch, Faults};
use crate::query_set::Tuples;
use crate::types::{DataType, Scalar};

/// Computes the output columns anew.
#[derive(Clone, Debug, Default)]
pub struct ProjectNode {
    /// One per output column.
    pub expressions: Vec<Scalar>,
    /// Their types.
    pub types: Vec<DataType>,
}

/// Computes a chunk's output columns anew; columns that are only moved or left out cost nothing.
pub fn project(
    node: &ProjectNode,
    batch: &Batch<'_>,
    tuples: Tuples,
    faults: &mut Faults,
) -> Tuples {
    let _ = (node, batch, tuples, faults);
    todo!()
}
