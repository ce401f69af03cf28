//! A table at a version: what readers hold.

use std::sync::Arc;

use arrow_array::ArrayRef;

use super::{Bound, Chunk, Index, Table};
use crate::types::{ChunkId, ColumnId, Location, RowId, TableSchema, Value, ValueRef, Version};

/// A table at a version. Holds the chunks alive; answers hold it until they are sent.
#[derive(Debug)]
pub struct TableView {}

impl TableView {
    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        todo!()
    }

    /// The definition when the view was taken.
    pub fn schema(&self) -> &Arc<TableSchema> {
        todo!()
    }

    /// What it sees.
    pub fn version(&self) -> Version {
        todo!()
    }

    /// The chunks that may hold rows that it sees, ascending by id.
    pub fn chunks(&self) -> &[(ChunkId, Arc<Chunk>)] {
        todo!()
    }

    /// A chunk.
    pub fn chunk(&self, chunk: ChunkId) -> &Chunk {
        let _ = chunk;
        todo!()
    }

    /// One value; NULL at [`Location::NONE`].
    pub fn cell(&self, column: ColumnId, location: Location) -> ValueRef<'_> {
        let _ = (column, location);
        todo!()
    }

    /// A column of many rows, as an array of the column's `data_type.arrow()`; NULL at [`Location::NONE`].
    pub fn gather(&self, column: ColumnId, locations: &[Location]) -> ArrayRef {
        let _ = (column, locations);
        todo!()
    }

    /// The visible version of a row.
    pub fn resolve(&self, row: RowId) -> Option<Location> {
        let _ = row;
        todo!()
    }

    /// The logical row at a location.
    pub fn row_id(&self, location: Location) -> RowId {
        let _ = location;
        todo!()
    }

    /// Appends the visible rows whose whole key equals `key` (one value per key column; a NULL finds nothing).
    pub fn probe(&self, index: &Index, key: &[ValueRef<'_>], out: &mut Vec<Location>) {
        let _ = (index, key, out);
        todo!()
    }

    /// Appends the visible rows of an ordered index between two bounds, in key order (`descending`: reversed),
    /// at most `limit`. Bounds may name fewer columns than the key has: then they limit the prefix. Keys with a
    /// NULL in a bounded column are not in any bounded range.
    pub fn range(
        &self,
        index: &Index,
        lower: Bound<'_>,
        upper: Bound<'_>,
        descending: bool,
        limit: usize,
        out: &mut Vec<Location>,
    ) {
        let _ = (index, lower, upper, descending, limit, out);
        todo!()
    }

    /// The whole row, one value per column id.
    pub fn row(&self, location: Location) -> Vec<Value> {
        let _ = location;
        todo!()
    }
}
