//! A run of row versions, column by column.

use super::{ColumnSlice, Zone};
use crate::types::{ColumnId, RowId, Version};

/// Row versions of a full chunk. Small tables start with smaller chunks.
pub const CHUNK_ROWS: usize = 8192;

/// A run of row versions, column by column; append-only, readable while it grows.
#[derive(Debug)]
pub struct Chunk {}

impl Chunk {
    /// Row versions readable now. Grows until the chunk is sealed.
    pub fn rows(&self) -> usize {
        todo!()
    }

    /// The first `rows()` values of a column. A column that was added after this chunk was written reads as
    /// its `missing` value.
    pub fn column(&self, column: ColumnId) -> ColumnSlice<'_> {
        let _ = column;
        todo!()
    }

    /// Smallest and largest value and NULLs of a column, once the chunk is sealed: `None` while it grows. Covers
    /// all versions, visible or not.
    pub fn zone(&self, column: ColumnId) -> Option<&Zone> {
        let _ = column;
        todo!()
    }

    /// Appends the offsets in `range` that `version` sees to `out`, ascending.
    pub fn visible(&self, version: Version, range: std::ops::Range<u32>, out: &mut Vec<u32>) {
        let _ = (version, range, out);
        todo!()
    }

    /// Whether `version` sees every row of this chunk: then nobody needs to look at row versions.
    pub fn all_visible(&self, version: Version) -> bool {
        let _ = version;
        todo!()
    }

    /// Whether `version` sees the row at `offset`.
    pub fn is_visible(&self, version: Version, offset: u32) -> bool {
        let _ = (version, offset);
        todo!()
    }

    /// The logical row at `offset`.
    pub fn row_id(&self, offset: u32) -> RowId {
        let _ = offset;
        todo!()
    }
}
