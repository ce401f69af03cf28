//! Computes the output columns anew.
//!
//! Columns that are only moved, repeated or left out cost nothing: `columns` is mapped. An expression costs one
//! evaluation per row; one that reads parameters one per (row, slot), for rows that several slots want whose values differ.

use super::kernel::{evaluate, one_value_per_row, parameters_read, prune};
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
    let read: Vec<usize> = node.expressions.iter().flat_map(parameters_read).copied().collect();
    let mut tuples = match read.is_empty() {
        true => tuples,
        false => one_value_per_row(tuples, &read, batch),
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
