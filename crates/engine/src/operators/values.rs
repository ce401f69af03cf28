//! (signatures)
use super::{Batch, Faults};
use crate::query_set::{SetId, Tuples};
use crate::types::{DataType, Scalar};

/// Rows given in the statement.
#[derive(Clone, Debug, Default)]
pub struct ValuesNode {
    /// Row after row: literals, parameters, expressions over parameters.
    pub rows: Vec<Vec<Scalar>>,
    /// The columns' types.
    pub types: Vec<DataType>,
}

/// The rows for every slot of `set`.
pub fn values(node: &ValuesNode, batch: &Batch<'_>, set: SetId, faults: &mut Faults) -> Tuples {
    let _ = (node, batch, set, faults);
    todo!()
}
