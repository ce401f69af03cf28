//! One table: its chunks, its row directory, its indexes.

use std::sync::Arc;

use super::{Index, TableStatistics, TableView};
use crate::types::{IndexId, IndexSchema, Location, Result, RowId, TableSchema, Value, Version};

/// One table. Methods that say *writer* are for the single writer only.
#[derive(Debug)]
pub struct Table {}

impl Table {
    /// The newest definition.
    pub fn schema(&self) -> Arc<TableSchema> {
        todo!()
    }

    /// Writer: replaces the definition after ALTER TABLE (columns may be added, dropped, renamed; indexes are
    /// added and dropped by [`Self::create_index`] and [`Self::drop_index`]).
    pub fn alter(&self, schema: TableSchema) {
        let _ = schema;
        todo!()
    }

    /// A reading handle at a version: pins the chunks that exist now. The caller keeps the
    /// [`super::Snapshot`] alive.
    pub fn view(self: &Arc<Self>, version: Version) -> Arc<TableView> {
        let _ = version;
        todo!()
    }

    /// The index of that id.
    pub fn index(&self, index: IndexId) -> Option<Arc<Index>> {
        let _ = index;
        todo!()
    }

    /// All indexes.
    pub fn indexes(&self) -> Vec<Arc<Index>> {
        todo!()
    }

    /// Writer: builds an index over all rows; a duplicate in a unique one is 23505 and leaves nothing.
    pub fn create_index(&self, schema: IndexSchema) -> Result<()> {
        let _ = schema;
        todo!()
    }

    /// Writer: forgets an index.
    pub fn drop_index(&self, index: IndexId) {
        let _ = index;
        todo!()
    }

    /// Writer: appends a new row, visible from `begin` on, into all indexes. `row` has one value per
    /// [`crate::types::ColumnId`], of the column's type (dropped columns: NULL). The caller has checked
    /// constraints; types are asserted.
    pub fn insert(&self, row: &[Value], begin: Version) -> RowId {
        let _ = (row, begin);
        todo!()
    }

    /// Writer: like [`Self::insert`] with a given row id (recovery). Ids may come in any order.
    pub fn insert_with_id(&self, id: RowId, row: &[Value], begin: Version) {
        let _ = (id, row, begin);
        todo!()
    }

    /// Writer: ends the newest version of `row` at `begin` and appends its successor. Indexes whose key did not
    /// change are not touched.
    pub fn update(&self, id: RowId, row: &[Value], begin: Version) {
        let _ = (id, row, begin);
        todo!()
    }

    /// Writer: ends the newest version of `row` at `end`.
    pub fn delete(&self, id: RowId, end: Version) {
        let _ = (id, end);
        todo!()
    }

    /// Writer: forgets all rows at once, for all snapshots from `version` on.
    pub fn truncate(&self, version: Version) {
        let _ = version;
        todo!()
    }

    /// The newest version of a row: where it lies, since when, until when. `None` for an id never given or
    /// wholly reclaimed.
    pub fn newest(&self, id: RowId) -> Option<(Location, Version, Version)> {
        let _ = id;
        todo!()
    }

    /// Estimates for the planner.
    pub fn statistics(&self) -> TableStatistics {
        todo!()
    }
}
