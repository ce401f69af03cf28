//! The chunk that grows: the writing ends of its columns.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::append_buffer::{Appender, append_buffer};
use super::chunk::{Added, Lives, PACKED_NONE};
use super::column_store::{Column, ColumnAppender, Encoding, assert_type};
use super::{Chunk, zone};
use crate::types::{ChunkId, RowBlock, RowId, TableSchema, ValueRef, Version};

/// Rows that are about to be stored.
pub(super) trait RowSource<'v> {
    /// How many.
    fn count(&self) -> usize;
    /// A value of the column's type.
    fn value(&self, row: usize, column: usize) -> ValueRef<'v>;
    /// The logical row.
    fn id(&self, row: usize) -> RowId;
}

/// The ids of new rows.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowIds<'a> {
    /// Consecutive from here on.
    From(RowId),
    /// Given by the caller, in any order.
    Each(&'a [RowId]),
}

impl RowIds<'_> {
    /// The id of one of the rows.
    #[inline]
    pub fn get(&self, row: usize) -> RowId {
        match self {
            RowIds::From(first) => RowId(first.0 + row as u64),
            RowIds::Each(ids) => ids[row],
        }
    }
}

/// The writing side of one chunk; dropped when the chunk is sealed.
#[derive(Debug)]
pub(super) struct ChunkWriter {
    pub chunk: Arc<Chunk>,
    columns: Vec<ColumnAppender>,
    rows: usize,
    row_ids: Option<Appender<u64>>,
    begins: Option<Appender<u64>>,
    previous: Option<Appender<u64>>,
}

impl ChunkWriter {
    /// An empty chunk for `capacity` rows; one encoding per column.
    pub fn create(
        id: ChunkId,
        schema: &TableSchema,
        capacity: usize,
        encodings: Vec<Encoding>,
    ) -> ChunkWriter {
        let (columns, appenders) = schema
            .columns
            .iter()
            .zip(encodings)
            .map(|(c, encoding)| Column::create(c.data_type, c.dropped, capacity, encoding))
            .unzip::<_, _, Vec<_>, Vec<_>>();
        let chunk = Arc::new(Chunk {
            id,
            capacity,
            rows: AtomicUsize::new(0),
            columns: columns.into(),
            first_row: AtomicU64::new(0),
            row_ids: OnceLock::new(),
            lives: Lives::new(),
            zones: OnceLock::new(),
            added: Added::default(),
        });
        let (row_ids, begins, previous) = (None, None, None);
        ChunkWriter { chunk, columns: appenders, rows: 0, row_ids, begins, previous }
    }

    /// Appends and publishes as many of the rows as fit, and says how many. `previous` is the
    /// packed location that they replace.
    pub fn append<'v>(
        &mut self,
        rows: &impl RowSource<'v>,
        begin: Version,
        previous: u64,
    ) -> usize {
        let (at, room) = (self.rows, rows.count().min(self.chunk.capacity - self.rows));
        let columns = self.columns.iter().enumerate();
        let count = columns
            .fold(room, |count, (i, column)| column.fitting(count, |row| rows.value(row, i)));
        for (i, appender) in self.columns.iter_mut().enumerate() {
            let column = &self.chunk.columns[i];
            let value = |row: usize| {
                let value = rows.value(row, i);
                assert_type(value, column.data_type);
                value
            };
            appender.extend(count, value, |row| column.set_null(at + row, self.chunk.capacity));
        }
        for row in 0..count {
            self.set_row_id(at + row, rows.id(row).0);
            self.set_begin(at + row, begin.0);
            self.set_previous(at + row, previous);
        }
        self.rows = at + count;
        self.chunk.rows.store(self.rows, Ordering::Release);
        count
    }

    /// Fills an empty chunk that was made for exactly these rows.
    pub fn fill(&mut self, block: &RowBlock, ids: &RowIds<'_>, begin: Version) {
        for (i, appender) in self.columns.iter_mut().enumerate() {
            let (column, values) = (&self.chunk.columns[i], &block.columns()[i]);
            assert!(values.data_type() == column.data_type, "a block is made for its table");
            let capacity = self.chunk.capacity;
            appender.extend_block(values, block.rows(), |row| column.set_null(row, capacity));
        }
        for row in 0..block.rows() {
            self.set_row_id(row, ids.get(row).0);
        }
        self.chunk.begin_all(begin);
        self.rows = block.rows();
        self.chunk.rows.store(self.rows, Ordering::Release);
    }

    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Ids are kept one by one from the first on that does not follow the one before it.
    fn set_row_id(&mut self, at: usize, id: u64) {
        let chunk = &self.chunk;
        if at == 0 {
            chunk.first_row.store(id, Ordering::Relaxed);
        }
        let first = chunk.first_row.load(Ordering::Relaxed);
        if self.row_ids.is_none() && id != first + at as u64 {
            let (mut ids, appended) = append_buffer(chunk.capacity);
            (first..first + at as u64).for_each(|id| ids.push(id));
            let _ = chunk.row_ids.set(appended);
            self.row_ids = Some(ids);
        }
        if let Some(ids) = &mut self.row_ids {
            ids.push(id);
        }
    }

    fn set_begin(&mut self, at: usize, begin: u64) {
        let lives = &self.chunk.lives;
        if at == 0 {
            lives.first_begin.store(begin, Ordering::Relaxed);
        }
        let first = lives.first_begin.load(Ordering::Relaxed);
        if self.begins.is_none() && begin != first {
            let (mut begins, appended) = append_buffer(self.chunk.capacity);
            begins.extend_repeated(first, at);
            let _ = lives.begins.set(appended);
            self.begins = Some(begins);
        }
        if let Some(begins) = &mut self.begins {
            begins.push(begin);
        }
        if begin > lives.max_begin.load(Ordering::Relaxed) {
            lives.max_begin.store(begin, Ordering::Relaxed);
        }
    }

    fn set_previous(&mut self, at: usize, previous: u64) {
        if self.previous.is_none() && previous != PACKED_NONE {
            let (mut links, appended) = append_buffer(self.chunk.capacity);
            links.extend_repeated(PACKED_NONE, at);
            let _ = self.chunk.lives.previous.set(appended);
            self.previous = Some(links);
        }
        if let Some(links) = &mut self.previous {
            links.push(previous);
        }
    }

    /// No row follows: computes the zones.
    pub fn seal(self) -> Arc<Chunk> {
        let rows = self.chunk.rows();
        let zones = self.chunk.columns.iter().map(|c| zone::of(c.slice(rows), c.data_type));
        let _ = self.chunk.zones.set(zones.collect());
        self.chunk
    }
}
