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
}
