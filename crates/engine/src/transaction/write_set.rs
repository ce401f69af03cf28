//! What a transaction wants to change, before it is anybody else's business.

use std::sync::Arc;

use crate::types::{ColumnId, Location, Predicate, RowId, Scalar, TableId, Value, Version};

/// How a block reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// A fresh snapshot per statement; changed rows are evaluated again at commit.
    ReadCommitted,
    /// One snapshot; a changed row is 40001.
    RepeatableRead,
}

/// One change of one row.
#[derive(Clone, Debug)]
pub enum Change {
    /// A new row; the id is provisional until commit.
    Insert {
        /// The table.
        table: TableId,
        /// One value per column id.
        row: Box<[Value]>,
    },
    /// A new version of a row.
    Update {
        /// The table.
        table: TableId,
        /// The row.
        id: RowId,
        /// The version that it was computed from.
        base: Version,
        /// One value per column id.
        row: Box<[Value]>,
        /// How to compute it again from a newer version; `None`: a newer version is a conflict.
        again: Option<Arc<Reevaluation>>,
    },
    /// The end of a row.
    Delete {
        /// The table.
        table: TableId,
        /// The row.
        id: RowId,
        /// The version that was seen.
        base: Version,
        /// How to decide again on a newer version.
        again: Option<Arc<Reevaluation>>,
    },
    /// SELECT FOR UPDATE: the row must not have changed since.
    Expect {
        /// The table.
        table: TableId,
        /// The row.
        id: RowId,
        /// The version that was seen.
        base: Version,
    },
}

/// The statement behind a change, to be evaluated on a newer version of the row (EvalPlanQual).
#[derive(Debug)]
pub struct Reevaluation {
    /// The WHERE clause: where it no longer holds, the change is dropped.
    pub predicates: Vec<Predicate>,
    /// The SET clause; empty for DELETE.
    pub assignments: Vec<(ColumnId, Scalar)>,
    /// The activation's parameters.
    pub parameters: Box<[Value]>,
}

/// The changes of one transaction in statement order, and an index over them for its own reads.
#[derive(Debug, Default)]
pub struct WriteSet {
    /// In statement order.
    pub changes: Vec<Change>,
}

/// Where a row of the private overlay lies is never a storage location.
pub const OVERLAY: Location = Location { chunk: crate::types::ChunkId(u32::MAX - 1), offset: 0 };
