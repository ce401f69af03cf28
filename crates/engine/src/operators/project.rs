//! Computes the output columns anew.
//!
//! Columns that are only moved, repeated or left out cost nothing: `columns` is mapped. An expression costs one
//! evaluation per row; one that reads parameters one per (row, slot), for rows that several slots want.

use super::kernel::{evaluate, one_slot_per_row, prune, reads_parameters};
use super::{Batch, Faults};
use crate::query_set::{ColumnOrigin, Tuples};
use crate::types::{DataType, Scalar};

/// Computes the output columns anew.
#[derive(Clone, Debug, Default)]
pub struct ProjectNode {
    /// One per output column.
    pub expressions: Vec<Scalar>,
    /// Their types.
    pub types: Vec<DataType>,
}

/// Computes a chunk's output columns anew.
pub fn project(
    node: &ProjectNode,
    batch: &Batch<'_>,
    tuples: Tuples,
    faults: &mut Faults,
) -> Tuples {
    let mut tuples = match node.expressions.iter().any(reads_parameters) {
        true => one_slot_per_row(tuples, batch),
        false => tuples,
    };
    let mut computed = Vec::new();
    let first = tuples.computed.len();
    let columns = node.expressions.iter().zip(&node.types).map(|(expression, &data_type)| {
        if let Scalar::Column(column) = expression {
            return tuples.columns[*column];
        }
        computed.push(evaluate(expression, data_type, &tuples, batch, faults));
        ColumnOrigin::Computed(first + computed.len() - 1)
    });
    tuples.columns = columns.collect();
    tuples.computed.extend(computed);
    prune(tuples)
}
