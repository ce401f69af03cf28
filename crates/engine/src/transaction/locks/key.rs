//! What can be locked.

use std::sync::Arc;

use crate::types::{IndexId, RowId, TableId};

/// Something that can be locked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LockKey {
    /// A stored row.
    Row(TableId, RowId),
    /// A key of a unique index, in its encoding, there or not: whoever adds it or takes it away has this.
    Key(TableId, IndexId, Arc<[u8]>),
    /// Definitions: one block at a time changes them.
    Definitions,
    /// A table: what statements and LOCK TABLE take.
    Table(TableId),
    /// A table's definition: what LOCK TABLE and those take who change it. Statements read the definition that they were
    /// planned for.
    Definition(TableId),
    /// A number that clients have agreed on.
    Advisory(AdvisoryKey),
}

/// What an advisory lock is on: a number of 64 bits, or two of 32; neither meets the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdvisoryKey {
    /// One number.
    Number(i64),
    /// Two numbers.
    Pair(i32, i32),
}

impl LockKey {
    /// Whether its locks are counted against the limits of sessions and of all: how many there are is up to clients.
    pub fn is_counted(&self) -> bool {
        matches!(self, LockKey::Table(_) | LockKey::Definition(_) | LockKey::Advisory(_))
    }
}
