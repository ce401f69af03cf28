//! Writes as the engine receives them.
//!
//! Writes whose rows can be found and computed by the engine alone come as [`UpdatePlan`], [`DeletePlan`] and
//! [`InsertPlan`] and run inside the write heartbeat in arrival order. Everything else (subqueries, FROM,
//! USING) the `sql` crate evaluates on a snapshot as a query over hidden row ids and hands in as a write set.

use std::sync::Arc;

use crate::types::{ColumnId, DataType, IndexId, Predicate, RowRules, Scalar, TableId};

use super::OutputColumn;

/// INSERT, UPDATE or DELETE, planned once for all its activations.
#[derive(Clone, Debug)]
pub struct WritePlan {
    /// What to do.
    pub action: WriteAction,
    /// RETURNING, over the columns of the new row (DELETE: the old one); empty without.
    pub returning: Vec<Scalar>,
    /// What the client gets, one per RETURNING item.
    pub output: Arc<[OutputColumn]>,
    /// Types of the parameters.
    pub parameters: Vec<DataType>,
    /// The statement with its literals lifted.
    pub text: Arc<str>,
}

/// Rows from which an INSERT is worth a load.
const LARGE_INSERT: usize = 512;

impl WritePlan {
    /// Whether this is an INSERT of so many rows that they should come in bulk: one without ON
    /// CONFLICT and RETURNING.
    pub fn is_large_insert(&self) -> bool {
        match &self.action {
            WriteAction::Insert(insert) => {
                insert.rows.len() >= LARGE_INSERT
                    && insert.on_conflict.is_none()
                    && self.output.is_empty()
            }
            _ => false,
        }
    }
}

/// The kind of write.
#[derive(Clone, Debug)]
pub enum WriteAction {
    /// New rows.
    Insert(InsertPlan),
    /// New versions of rows.
    Update(UpdatePlan),
    /// Ends of rows.
    Delete(DeletePlan),
}

/// `INSERT INTO table VALUES ...`
#[derive(Clone, Debug)]
pub struct InsertPlan {
    /// The table.
    pub table: TableId,
    /// Row after row, one scalar per column of the table by [`ColumnId`]: already cast to the column's type.
    pub rows: Vec<Vec<InsertSource>>,
    /// ON CONFLICT.
    pub on_conflict: Option<OnConflict>,
    /// What the table says of the new rows.
    pub rules: RowRules,
}

/// Where an inserted value comes from.
#[derive(Clone, Debug)]
pub enum InsertSource {
    /// A parameter, a literal or an expression over parameters.
    Scalar(Scalar),
    /// The column's default is the next value of its sequence.
    NextValue(crate::types::SequenceId),
}

/// `ON CONFLICT (columns) DO ...`
#[derive(Clone, Debug)]
pub struct OnConflict {
    /// The arbiter; `None` for DO NOTHING without a target: any unique index.
    pub index: Option<IndexId>,
    /// What to do with the row that is there.
    pub action: ConflictAction,
}

/// What ON CONFLICT does.
#[derive(Clone, Debug)]
pub enum ConflictAction {
    /// DO NOTHING
    Nothing,
    /// DO UPDATE SET ... WHERE ...: scalars see the existing row's columns, then `excluded`'s.
    Update {
        /// Columns and their new values.
        assignments: Vec<(ColumnId, Scalar)>,
        /// The WHERE clause, a conjunction.
        predicates: Vec<Predicate>,
    },
}

/// `UPDATE table SET ... WHERE ...`
#[derive(Clone, Debug)]
pub struct UpdatePlan {
    /// The table.
    pub table: TableId,
    /// A conjunction over the table's columns.
    pub predicates: Vec<Predicate>,
    /// Columns and their new values, over the old row's columns; cast to the column's type.
    pub assignments: Vec<(ColumnId, Scalar)>,
    /// What the table says of the new rows.
    pub rules: RowRules,
}

/// `DELETE FROM table WHERE ...`
#[derive(Clone, Debug)]
pub struct DeletePlan {
    /// The table.
    pub table: TableId,
    /// A conjunction over the table's columns.
    pub predicates: Vec<Predicate>,
}
