//! What only the writer of a table needs: the growing chunk, the next ids, what can be reclaimed.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::chunk_writer::{ChunkWriter, RowSource};
use super::column_store::{Encoding, heap_size};
use super::reclaim::{Candidate, Outdated};
use super::statistics::ColumnCounter;
use super::{CHUNK_ROWS, Chunk, Dictionary, Table};
use crate::types::{
    ChunkId, ColumnSchema, DataType, Location, RowId, TableSchema, ValueRef, Version,
};

/// Row versions of the smallest chunk.
const LEAST_ROWS: usize = 256;
/// A dictionary with more strings, or with more bytes, is not extended: churning values would fill
/// it.
const DICTIONARY_STRINGS: usize = 1 << 16;
const DICTIONARY_BYTES: usize = 1 << 24;
/// A dictionary pays where every string occurs that often.
const DICTIONARY_REPEATS: f64 = 8.0;

/// The writer's side of a table.
#[derive(Debug)]
pub(super) struct TableWriter {
    growing: Option<ChunkWriter>,
    next_chunk: u32,
    next_row: u64,
    /// By column.
    dictionaries: Vec<Option<Arc<Dictionary>>>,
    /// Versions whose index entries can go once nobody sees them, by end.
    pub outdated: VecDeque<Outdated>,
    /// Sealed chunks that are mostly or wholly dead, each once.
    pub candidates: VecDeque<Candidate>,
}

/// Rows of a source from `done` on.
struct Rest<'a, R> {
    rows: &'a R,
    done: usize,
}

impl<'v, R: RowSource<'v>> RowSource<'v> for Rest<'_, R> {
    fn count(&self) -> usize {
        self.rows.count() - self.done
    }

    fn value(&self, row: usize, column: usize) -> ValueRef<'v> {
        self.rows.value(self.done + row, column)
    }

    fn id(&self, row: usize) -> RowId {
        self.rows.id(self.done + row)
    }
}

impl TableWriter {
    pub fn new() -> TableWriter {
        TableWriter {
            growing: None,
            next_chunk: 0,
            next_row: 0,
            dictionaries: Vec::new(),
            outdated: VecDeque::new(),
            candidates: VecDeque::new(),
        }
    }

    /// The first of `count` new row ids.
    pub fn next_rows(&mut self, count: usize) -> RowId {
        self.next_row += count as u64;
        RowId(self.next_row - count as u64)
    }

    /// The id that the next row gets.
    pub fn row_to_come(&self) -> RowId {
        RowId(self.next_row)
    }

    /// An id that was given elsewhere is not given again.
    pub fn skip_row(&mut self, id: RowId) {
        self.next_row = self.next_row.max(id.0 + 1);
    }

    /// Appends row versions, in new chunks where they do not fit the growing one; says where each
    /// lies.
    pub fn append<'v>(
        &mut self,
        table: &Table,
        rows: &impl RowSource<'v>,
        begin: Version,
        previous: u64,
        mut placed: impl FnMut(usize, Location),
    ) {
        let mut done = 0;
        while done < rows.count() {
            let rest = Rest { rows, done };
            let Some(growing) = &mut self.growing else {
                self.begin_chunk(table, &rest);
                continue;
            };
            let (chunk, first) = (growing.chunk.id, growing.rows());
            let count = growing.append(&rest, begin, previous);
            for row in 0..count {
                placed(done + row, Location { chunk, offset: (first + row) as u32 });
            }
            done += count;
            if done < rows.count() {
                self.seal(table);
            }
        }
    }

    /// Begins a chunk whose size suits the table and that fits at least the first of `rows`.
    fn begin_chunk<'v>(&mut self, table: &Table, rows: &impl RowSource<'v>) {
        let schema = table.schema.load();
        let known = table.live_rows.load(Ordering::Relaxed).max(0) as usize;
        let capacity = known.max(rows.count()).next_power_of_two().clamp(LEAST_ROWS, CHUNK_ROWS);
        let encodings = self.encodings(table, &schema, |at, counter| {
            let first = heap_size(rows.value(0, at));
            heap_capacity(&schema.columns[at], counter, capacity).max(first)
        });
        let growing = ChunkWriter::create(self.next_chunk(), &schema, capacity, encodings);
        let chunk = std::iter::once(growing.chunk.clone());
        table.chunks.store(Arc::new(table.chunks.load().with(chunk)));
        self.growing = Some(growing);
    }

    /// The id of a new chunk.
    pub fn next_chunk(&mut self) -> ChunkId {
        self.next_chunk += 1;
        ChunkId(self.next_chunk - 1)
    }

    /// The chunk that [`Self::next_chunk`] will number next.
    pub fn following_chunk(&self) -> ChunkId {
        ChunkId(self.next_chunk)
    }

    /// How a new chunk stores its columns; `heap` says how many bytes plain strings get.
    pub fn encodings(
        &mut self,
        table: &Table,
        schema: &TableSchema,
        heap: impl Fn(usize, Option<&ColumnCounter>) -> usize,
    ) -> Vec<Encoding> {
        let counters = table.counters.lock();
        let encodings = (0..schema.columns.len()).map(|at| {
            let counter = counters.get(at);
            let dictionary = self.choose_dictionary(schema, at, counter);
            Encoding { dictionary, heap: heap(at, counter) }
        });
        encodings.collect()
    }

    /// The dictionary that the next chunk of a string column uses, if it pays.
    fn choose_dictionary(
        &mut self,
        schema: &TableSchema,
        at: usize,
        counter: Option<&ColumnCounter>,
    ) -> Option<Arc<Dictionary>> {
        let column = &schema.columns[at];
        if self.dictionaries.len() <= at {
            self.dictionaries.resize(at + 1, None);
        }
        if !column.data_type.is_string() || column.dropped {
            return None;
        }
        let unique = |index: &crate::types::IndexSchema| {
            index.unique && matches!(&index.columns[..], [only] if only.index() == at)
        };
        let pays = match counter {
            Some(counter) if counter.values() > 0 => {
                counter.distinct() * DICTIONARY_REPEATS <= counter.values() as f64
            }
            _ => !schema.indexes.iter().any(unique),
        };
        let small = |dictionary: &Dictionary| {
            dictionary.len() <= DICTIONARY_STRINGS && dictionary.memory() <= DICTIONARY_BYTES
        };
        let dictionary = &mut self.dictionaries[at];
        if !pays || !dictionary.as_deref().is_none_or(small) {
            return None;
        }
        Some(dictionary.get_or_insert_with(|| Arc::new(Dictionary::new())).clone())
    }

    /// No row follows in the growing chunk.
    pub fn seal(&mut self, table: &Table) {
        if let Some(growing) = self.growing.take() {
            let chunk = growing.seal();
            table.count(&chunk);
            self.note_dead(&chunk);
        }
    }

    /// Ends a row version.
    pub fn end(&mut self, chunk: &Chunk, location: Location, end: Version) {
        chunk.lives.set_end(location.offset as usize, chunk.capacity, end.0);
        if chunk.zones.get().is_some() {
            self.note_dead(chunk);
        }
    }

    /// Remembers a sealed chunk once it is mostly dead.
    fn note_dead(&mut self, chunk: &Chunk) {
        let ended = chunk.lives.ended.load(Ordering::Relaxed) as usize;
        if ended * 4 >= chunk.rows() * 3 {
            self.reclaimable(chunk);
        }
    }

    /// Remembers a sealed chunk to be reclaimed.
    pub fn reclaimable(&mut self, chunk: &Chunk) {
        if !chunk.lives.is_candidate.swap(true, Ordering::Relaxed) {
            self.candidates.push_back(Candidate { chunk: chunk.id, forgotten: 0 });
        }
    }

    /// The dictionaries that there are, with the places of their columns.
    pub fn dictionaries(&self) -> impl Iterator<Item = (usize, &Dictionary)> {
        let all = self.dictionaries.iter().enumerate();
        all.filter_map(|(at, dictionary)| Some((at, dictionary.as_deref()?)))
    }
}

/// Bytes of a new plain heap: what the column's values took so far, and an eighth more. A chunk
/// whose heap is full is sealed early.
fn heap_capacity(column: &ColumnSchema, counter: Option<&ColumnCounter>, rows: usize) -> usize {
    let width = counter.and_then(ColumnCounter::mean_bytes);
    let width = width.map_or(first_guess(column.data_type), |width| width.ceil() as usize);
    (rows * width * 9 / 8 + 256).min(u32::MAX as usize)
}

/// Bytes of a value of which nothing is known yet.
fn first_guess(data_type: DataType) -> usize {
    match data_type {
        DataType::Varchar(n) | DataType::Char(n) => (n as usize).min(32),
        _ => 32,
    }
}
