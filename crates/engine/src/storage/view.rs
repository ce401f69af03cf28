//! A table at a version: what readers hold.

use std::ops::ControlFlow;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;

use super::arrays;
use super::chunk_list::ChunkList;
use super::dictionary_codes::dictionary_codes;
use super::gather::{PositionRun, gather};
use super::key::{KeyBuffer, KeyEncoding, Limit};
use super::row_directory::RowDirectory;
use super::scattered::{codes, first_run, integers, jumps, scattered};
use super::whole_numbers::{append as append_whole_numbers, may_be_whole, whole_numbers};
use super::{Bound, Chunk, Clustering, Index, Table};
use crate::types::{
    ChunkId, ColumnId, DataType, Location, RowId, TableSchema, Value, ValueRef, Version,
};

/// A table at a version. Holds the chunks alive; answers hold it until they are sent.
#[derive(Debug)]
pub struct TableView {
    table: Arc<Table>,
    schema: Arc<TableSchema>,
    version: Version,
    chunks: Arc<ChunkList>,
    rows: Arc<RowDirectory>,
}

impl TableView {
    pub(super) fn new(table: &Arc<Table>, version: Version) -> TableView {
        TableView {
            table: table.clone(),
            schema: table.schema.load_full(),
            version,
            chunks: table.chunks.load_full(),
            rows: table.rows.load_full(),
        }
    }

    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// The definition when the view was taken.
    pub fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    /// What it sees.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The chunks that may hold rows that it sees, ascending by id.
    pub fn chunks(&self) -> &[(ChunkId, Arc<Chunk>)] {
        self.chunks.chunks()
    }

    /// A chunk.
    #[inline]
    pub fn chunk(&self, chunk: ChunkId) -> &Chunk {
        self.chunks.get(chunk).expect("a location comes from this view")
    }

    /// A chunk, unless it is gone or was begun after this view was taken.
    pub fn stored_chunk(&self, chunk: ChunkId) -> Option<&Arc<Chunk>> {
        self.chunks.get(chunk)
    }

    /// One value; NULL at [`Location::NONE`].
    #[inline]
    pub fn cell(&self, column: ColumnId, location: Location) -> ValueRef<'_> {
        if location.is_none() {
            return ValueRef::Null;
        }
        self.chunk(location.chunk).cell(column, location.offset)
    }

    /// A column of many rows, as an array of the column's `data_type.arrow()`; NULL at
    /// [`Location::NONE`].
    pub fn gather(&self, column: ColumnId, locations: &[Location]) -> ArrayRef {
        if let Some(array) = scattered(self, column, self.data_type(column), locations) {
            return array;
        }
        gather(self.runs(locations), locations.len(), column, self.data_type(column))
    }

    /// A column of many rows in whole numbers: integers, and numerics' digits without the point. `None` where it holds
    /// something else, or one of the rows NULL.
    pub fn whole_numbers(&self, column: ColumnId, locations: &[Location]) -> Option<Vec<i64>> {
        if !may_be_whole(self.data_type(column)) {
            return None;
        }
        if jumps(locations) {
            let (numbers, nulls) = integers(self, column, locations)?;
            return nulls.is_none().then_some(numbers);
        }
        whole_numbers(self.runs(locations), locations.len(), column)
    }

    /// Strings of many rows as codes of their column's dictionary, all below the number that comes second; `None` where a
    /// row is NULL or has no code, or the dictionary has more strings than `most`.
    pub fn dictionary_codes(
        &self,
        column: ColumnId,
        locations: &[Location],
        most: usize,
    ) -> Option<(Vec<u32>, usize)> {
        if most == 0 || !self.data_type(column).is_string() {
            return None;
        }
        if jumps(locations) {
            let (codes, dictionary) = codes(self, column, locations, most)?;
            // Read after the chunks: their codes lie below, whatever is added meanwhile.
            return Some((codes, dictionary.len())).filter(|(_, length)| *length <= most);
        }
        dictionary_codes(|| self.runs(locations), locations.len(), column, most)
    }

    /// Which values of an integer column lie in one chunk only; `None` where they lie anywhere.
    pub fn clustering(&self, column: ColumnId) -> Option<Clustering> {
        Clustering::of(self, column)
    }

    /// Runs of rows of the same chunk.
    fn runs<'a>(
        &'a self,
        locations: &'a [Location],
    ) -> impl Iterator<Item = PositionRun<'a, Location>> {
        let mut rest = locations;
        std::iter::from_fn(move || {
            let first = *rest.first()?;
            let (positions, others) = rest.split_at(first_run(rest));
            rest = others;
            let chunk = (!first.is_none()).then(|| self.chunk(first.chunk));
            Some(PositionRun { chunk, positions })
        })
    }

    /// A column of the rows of one chunk at `offsets`.
    pub fn select(&self, column: ColumnId, chunk: ChunkId, offsets: &[u32]) -> ArrayRef {
        let run = PositionRun { chunk: Some(self.chunk(chunk)), positions: offsets };
        gather(std::iter::once(run), offsets.len(), column, self.data_type(column))
    }

    /// Appends the same in [whole numbers](TableView::whole_numbers); `None` where one of them is NULL or no such number, with
    /// some of them appended.
    pub fn append_whole_numbers(
        &self,
        column: ColumnId,
        chunk: ChunkId,
        offsets: &[u32],
        out: &mut Vec<i64>,
    ) -> Option<()> {
        may_be_whole(self.data_type(column)).then_some(())?;
        append_whole_numbers(self.chunk(chunk).column(column), offsets, out)
    }

    /// A column of a range of rows of one chunk; shares the chunk's memory where the representation
    /// allows.
    pub fn array(&self, column: ColumnId, chunk: ChunkId, range: Range<u32>) -> ArrayRef {
        arrays::array(self.chunk(chunk), column, self.data_type(column), range)
    }

    fn data_type(&self, column: ColumnId) -> DataType {
        self.schema.columns[column.index()].data_type
    }

    /// The visible version of a row.
    #[inline]
    pub fn resolve(&self, row: RowId) -> Option<Location> {
        let newest = self.rows.get(row);
        let chunk = self.chunks.get(newest.chunk);
        match chunk {
            Some(chunk) if chunk.lives.begin(newest.offset as usize) <= self.version.0 => {
                (self.version.0 < chunk.lives.end(newest.offset as usize)).then_some(newest)
            }
            _ if newest.is_none() => None,
            _ => self.resolve_older(newest),
        }
    }

    /// Walks back from a version that is too new, and may lie in a chunk that is newer than this
    /// view.
    fn resolve_older(&self, newest: Location) -> Option<Location> {
        let newer = self.table.chunks.load();
        let mut at = newest;
        loop {
            let chunk = self.chunks.get(at.chunk).or_else(|| newer.get(at.chunk))?;
            if chunk.lives.begin(at.offset as usize) <= self.version.0 {
                return (self.version.0 < chunk.lives.end(at.offset as usize)).then_some(at);
            }
            at = chunk.lives.previous(at.offset as usize).0;
        }
    }

    /// The logical row at a location.
    #[inline]
    pub fn row_id(&self, location: Location) -> RowId {
        self.chunk(location.chunk).row_id(location.offset)
    }

    /// Appends the visible rows whose whole key equals `key` (one value per key column; a NULL
    /// finds nothing).
    pub fn probe(&self, index: &Index, key: &[ValueRef<'_>], out: &mut Vec<Location>) {
        let Some(key) = index.encoding.equal_key(key) else { return };
        index.equal(&key, &mut |row| {
            if let Some(location) = self.resolve(RowId(row))
                && (!index.must_compare() || self.key_at(index, location).bytes() == key.bytes())
            {
                out.push(location);
            }
            ControlFlow::Continue(())
        });
    }

    fn key_at(&self, index: &Index, location: Location) -> KeyBuffer {
        let chunk = self.chunk(location.chunk);
        index.encoding.row_key(|column| chunk.cell(column, location.offset))
    }

    /// Appends the visible rows of an ordered index between two bounds, in key order (`descending`:
    /// reversed), at most `limit`. Bounds may name fewer columns than the key has: then they limit
    /// the prefix. Keys with a NULL in a bounded column are not in any bounded range.
    pub fn range(
        &self,
        index: &Index,
        lower: Bound<'_>,
        upper: Bound<'_>,
        descending: bool,
        limit: usize,
        out: &mut Vec<Location>,
    ) {
        let bounded = lower.values().len().max(upper.values().len());
        let Some((lower, upper)) = key_range(index, lower, upper) else { return };
        let never_null = &index.schema().columns[..bounded];
        let mut left = limit;
        if left == 0 {
            return;
        }
        index.range(lower.as_ref(), upper.as_ref(), descending, &mut |row, has_key| {
            if let Some(location) = self.resolve(RowId(row))
                && (!index.must_compare() || has_key(&self.key_at(index, location)))
                && never_null.iter().skip(1).all(|c| !self.cell(*c, location).is_null())
            {
                out.push(location);
                left -= 1;
            }
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }

    /// The whole row, one value per column id.
    pub fn row(&self, location: Location) -> Vec<Value> {
        let chunk = self.chunk(location.chunk);
        let columns = 0..self.schema.columns.len() as u32;
        columns.map(|column| chunk.cell(ColumnId(column), location.offset).to_owned()).collect()
    }
}

impl<'a> Bound<'a> {
    fn values(&self) -> &'a [Value] {
        match self {
            Bound::Unbounded => &[],
            Bound::Included(values) | Bound::Excluded(values) => values,
        }
    }
}

/// Encoded keys `lower <= key < upper`; `None` if nothing can lie between.
fn key_range(
    index: &Index,
    lower: Bound<'_>,
    upper: Bound<'_>,
) -> Option<(Option<KeyBuffer>, Option<KeyBuffer>)> {
    let encode = |values: &[Value], above: bool| match index.encoding.bound(values, above) {
        Ok(key) => Some(Ok(key)),
        Err(Limit::End) => Some(Err(())),
        Err(Limit::Nothing) => None,
    };
    let is_bounded = !lower.values().is_empty();
    let lower = match lower {
        Bound::Unbounded => None,
        Bound::Included(values) => Some(encode(values, false)?.ok()?),
        Bound::Excluded(values) => Some(encode(values, true)?.ok()?),
    };
    let upper = match upper {
        Bound::Included(values) if !values.is_empty() => encode(values, true)?.ok(),
        Bound::Excluded(values) if !values.is_empty() => encode(values, false)?.ok(),
        // NULLs of the first column come last, and are in no bounded range.
        _ if is_bounded => Some(KeyEncoding::null_prefix()),
        _ => None,
    };
    Some((lower, upper))
}
