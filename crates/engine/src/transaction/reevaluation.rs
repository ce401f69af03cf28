//! What a change needs in order to be computed again from a newer version of its row.

use crate::types::{Check, ColumnId, DataType, Predicate, Scalar, Value};

/// The statement behind a change, to be evaluated on a newer version of the row: PostgreSQL's EvalPlanQual.
///
/// Under READ COMMITTED a block's change is computed from its statement's snapshot and computed again at commit
/// if the row has changed since. Where the WHERE clause no longer holds (or the row is gone) the client has
/// already been told that the row was changed, so the commit fails with 40001 instead of dropping the change.
#[derive(Debug)]
pub struct Reevaluation {
    /// The WHERE clause.
    pub predicates: Vec<Predicate>,
    /// The SET clause; empty for DELETE.
    pub assignments: Vec<(ColumnId, Scalar)>,
    /// CHECK constraints, over the new row's columns.
    pub checks: Vec<Check>,
    /// The activation's parameters.
    pub parameters: Box<[Value]>,
    /// Their types.
    pub parameter_types: Box<[DataType]>,
    /// ON CONFLICT DO UPDATE: the row that was not inserted; its columns follow those of the existing row.
    pub excluded: Option<Box<[Value]>>,
}
