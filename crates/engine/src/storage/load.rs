//! Rows in bulk: chunks that are filled where nobody sees them, then attached to their table at
//! once.
//!
//! Whoever loads fills chunks and sorts index entries on a thread of its own; the table's writer is
//! held up only while a chunk is begun. Attaching costs a look at each row and a merge of each
//! index. A load that is dropped leaves nothing but unused row ids.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use foldhash::fast::RandomState;
use hashbrown::HashSet;

use super::chunk_writer::{ChunkWriter, RowIds, RowSource};
use super::column_store::Encoding;
use super::key::{KeyBuffer, KeyEncoding, KeyWidth};
use super::narrowing::narrow;
use super::run::Run;
use super::table_writer::TableWriter;
use super::{CHUNK_ROWS, Chunk, Index, Table};
use crate::env::in_parallel;
use crate::types::{
    ChunkId, ColumnId, IndexId, Location, RowBlock, RowId, TableSchema, ValueRef, Version,
};

/// Blocks of fewer rows go into the table's growing chunk, unless they have many bytes.
const LEAST_ROWS: usize = CHUNK_ROWS / 2;
const LARGE_HEAP: usize = 1 << 20;

/// New rows of one table that nobody sees yet.
#[derive(Debug)]
pub struct Load {
    table: Arc<Table>,
    schema: Arc<TableSchema>,
    parts: Vec<Part>,
    runs: Vec<(IndexId, Run)>,
    rows: usize,
    memory: usize,
    /// How often the table had been counted when the load began.
    counts: u64,
    /// Blocks of fewer rows go into the table's growing chunk.
    least_rows: usize,
}

/// One block's rows; their ids are consecutive.
#[derive(Debug)]
struct Part {
    first: RowId,
    rows: PartRows,
}

#[derive(Debug)]
enum PartRows {
    Chunk(Arc<Chunk>),
    Block(RowBlock),
}

/// One row of a load.
#[derive(Clone, Copy, Debug)]
pub struct LoadRow<'a> {
    part: &'a Part,
    row: usize,
}

impl<'a> LoadRow<'a> {
    /// One value.
    #[inline]
    pub fn cell(&self, column: ColumnId) -> ValueRef<'a> {
        self.part.cell(self.row, column)
    }
}

/// Rows of a block with their ids.
struct BlockRows<'a> {
    block: &'a RowBlock,
    ids: RowIds<'a>,
}

impl<'a> RowSource<'a> for BlockRows<'a> {
    fn count(&self) -> usize {
        self.block.rows()
    }

    #[inline]
    fn value(&self, row: usize, column: usize) -> ValueRef<'a> {
        self.block.value(row, column)
    }

    fn id(&self, row: usize) -> RowId {
        self.ids.get(row)
    }
}

impl Part {
    fn rows(&self) -> usize {
        match &self.rows {
            PartRows::Chunk(chunk) => chunk.rows(),
            PartRows::Block(block) => block.rows(),
        }
    }

    #[inline]
    fn cell(&self, row: usize, column: ColumnId) -> ValueRef<'_> {
        match &self.rows {
            PartRows::Chunk(chunk) => chunk.cell(column, row as u32),
            PartRows::Block(block) => block.value(row, column.index()),
        }
    }
}

impl Load {
    /// No rows of a table yet.
    pub fn new(table: &Arc<Table>) -> Load {
        let (table, schema) = (table.clone(), table.schema());
        let (parts, runs, counts) = (Vec::new(), Vec::new(), table.counts());
        Load { table, schema, parts, runs, rows: 0, memory: 0, counts, least_rows: LEAST_ROWS }
    }

    /// Even small blocks become chunks.
    #[cfg(test)]
    pub(super) fn with_small_chunks(mut self) -> Load {
        self.least_rows = 1;
        self
    }

    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// The table's definition when the load began.
    pub fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes that they take, without new strings of dictionaries.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Adds rows, at most [`CHUNK_ROWS`], of the columns of [`Self::schema`]. They get consecutive
    /// ids; the first of them comes back.
    pub fn append(&mut self, block: &RowBlock) -> RowId {
        assert!(block.rows() <= CHUNK_ROWS, "a block fits a chunk");
        let first = self.table.writer.lock().next_rows(block.rows());
        self.rows += block.rows();
        let rows = match block.rows() >= self.least_rows || block.heap() > LARGE_HEAP {
            true => {
                let ids = RowIds::From(first);
                PartRows::Chunk(self.table.filled_chunk(&self.schema, block, &ids))
            }
            false => PartRows::Block(block.clone()),
        };
        self.memory += match &rows {
            PartRows::Chunk(chunk) => chunk.memory(),
            PartRows::Block(block) => block.heap() + block.rows() * block.columns().len() * 8,
        };
        self.parts.push(Part { first, rows });
        first
    }

    /// Sorts the entries of all indexes, on at most `workers` threads. Gives the first row whose
    /// key another row of the load before it has, and the unique index concerned.
    pub fn sort(&mut self, workers: usize) -> Option<(Arc<Index>, usize)> {
        let indexes = self.table.indexes();
        let runs = in_parallel(workers, &indexes, |index| {
            let run = self.sorted_run(index);
            (self.first_duplicate(index, &run), run)
        });
        let mut duplicate: Option<(Arc<Index>, usize)> = None;
        for (index, (found, run)) in indexes.into_iter().zip(runs) {
            self.runs.push((index.schema().id, run));
            if let Some(row) = found
                && duplicate.as_ref().is_none_or(|(_, before)| row < *before)
            {
                duplicate = Some((index, row));
            }
        }
        duplicate
    }

    fn sorted_run(&self, index: &Index) -> Run {
        let mut run = index.run(self.rows);
        for part in &self.parts {
            for row in 0..part.rows() {
                let key = index.encoding.row_key(|column| part.cell(row, column));
                run.push(&key, part.first.0 + row as u64);
            }
        }
        run.sort();
        run
    }

    fn first_duplicate(&self, index: &Index, run: &Run) -> Option<usize> {
        let mut first = None;
        if index.schema().unique {
            run.equal_keys(|group| {
                let of_group = self.second_of_group(index, run, group);
                first = first.into_iter().chain(of_group).min();
            });
        }
        first
    }

    /// The first row of a group of equal keys that another one before it has; NULLs equal nothing.
    fn second_of_group(&self, index: &Index, run: &Run, group: Range<usize>) -> Option<usize> {
        let mut seen = HashSet::<_, RandomState>::default();
        group.map(|at| self.position(RowId(run.row(at)))).find(|row| {
            let row = self.row(*row);
            let key = index.encoding.row_key(|column| row.cell(column));
            let has_null = index.schema().columns.iter().any(|c| row.cell(*c).is_null());
            !has_null && !seen.insert(key.bytes().to_vec())
        })
    }

    /// Which of the load's rows has this id.
    fn position(&self, id: RowId) -> usize {
        let part = self.parts.partition_point(|part| part.first <= id) - 1;
        let before: usize = self.parts[..part].iter().map(Part::rows).sum();
        before + (id.0 - self.parts[part].first.0) as usize
    }

    /// The row at a position.
    pub fn row(&self, position: usize) -> LoadRow<'_> {
        let mut row = position;
        for part in &self.parts {
            if row < part.rows() {
                return LoadRow { part, row };
            }
            row -= part.rows();
        }
        panic!("row {position} of {}", self.rows)
    }

    /// Its rows, in order.
    pub fn each_row(&self) -> impl Iterator<Item = LoadRow<'_>> {
        let of_part = |part| (0..Part::rows(part)).map(move |row| LoadRow { part, row });
        self.parts.iter().flat_map(of_part)
    }

    /// Rows that no row before them equals in `columns`, none of which is NULL: their positions too.
    pub fn distinct(&self, columns: &[ColumnId]) -> Vec<(usize, LoadRow<'_>)> {
        let types = columns.iter().map(|c| (*c, self.schema.columns[c.index()].data_type));
        let encoding = KeyEncoding { columns: types.collect(), width: KeyWidth::Bytes };
        let mut seen: HashSet<Box<[u8]>, RandomState> = HashSet::default();
        let mut last = KeyEncoding::null_prefix();
        let mut is_new = |row: &LoadRow<'_>| {
            let key = encoding.row_key(|column| row.cell(column));
            // Rows of one parent mostly come together.
            if key.bytes() == last.bytes() || seen.contains(key.bytes()) {
                return false;
            }
            seen.insert(key.bytes().into());
            last = key;
            true
        };
        let has_null = |row: &LoadRow<'_>| columns.iter().any(|c| row.cell(*c).is_null());
        let rows = self.each_row().enumerate();
        rows.filter(|(_, row)| !has_null(row) && is_new(row)).collect()
    }

    /// The first row some of whose `columns` are NULL and some are not.
    pub fn first_mixed(&self, columns: &[ColumnId]) -> Option<usize> {
        let is_mixed = |row: &LoadRow<'_>| {
            let nulls = columns.iter().filter(|column| row.cell(**column).is_null()).count();
            0 < nulls && nulls < columns.len()
        };
        self.each_row().position(|row| is_mixed(&row))
    }

    /// Whether one of the rows has this key of an index that was sorted for.
    pub fn has_key(&self, index: &Index, key: &[ValueRef<'_>]) -> bool {
        let Some(key) = index.encoding.equal_key(key) else { return false };
        let run = self.runs.iter().find(|(id, _)| *id == index.schema().id);
        run.is_some_and(|(_, run)| run.has_key(&key))
    }

    /// Whether one of the rows has this key (as [`Index::kept_key`] gives it) of an index that was sorted for.
    pub(crate) fn has_kept_key(&self, index: IndexId, key: &[u8]) -> bool {
        let run = self.runs.iter().find(|(id, _)| *id == index);
        run.is_some_and(|(_, run)| run.has_key(&KeyBuffer::of_bytes(key)))
    }

    /// Writer: the first row whose key a stored row has, and the unique index concerned.
    pub fn first_stored(&self) -> Option<(Arc<Index>, usize)> {
        let unique = self.table.indexes().into_iter().filter(|index| index.schema().unique);
        let found = unique.filter_map(|index| {
            let row = self.first_stored_in(&index)?;
            Some((index, row))
        });
        found.min_by_key(|(_, row)| *row)
    }

    fn first_stored_in(&self, index: &Index) -> Option<usize> {
        let columns = &index.schema().columns;
        let is_stored = |row: LoadRow<'_>| {
            let has_null = columns.iter().any(|column| row.cell(*column).is_null());
            let key = || index.encoding.row_key(|column| row.cell(column));
            !has_null && self.table.holder(index, &key(), |_| true).is_some()
        };
        let run = self.runs.iter().find(|(id, _)| *id == index.schema().id);
        let without_nulls = columns.iter().all(|c| self.schema.columns[c.index()].not_null);
        let Some((_, run)) = run.filter(|_| without_nulls) else {
            return self.each_row().position(is_stored);
        };
        let mut suspects = Vec::new();
        index.common_keys(run, &mut |at| suspects.push(RowId(run.row(at))));
        let mut positions: Vec<usize> =
            suspects.into_iter().map(|row| self.position(row)).collect();
        positions.sort_unstable();
        positions.into_iter().find(|position| is_stored(self.row(*position)))
    }

    /// Writer: puts all rows into the table, visible from `begin` on. The table's columns are still
    /// those of [`Self::schema`]; indexes may have come or gone.
    pub fn attach(&mut self, begin: Version) {
        let table = self.table.clone();
        for index in table.indexes() {
            let known = self.runs.iter().position(|(id, _)| *id == index.schema().id);
            match known.map(|at| self.runs.swap_remove(at).1) {
                Some(run) => index.insert_run(&run),
                None => index.insert_run(&self.sorted_run(&index)),
            }
        }
        let mut chunks = Vec::new();
        let mut writer = table.writer.lock();
        for part in self.parts.drain(..) {
            match part.rows {
                PartRows::Chunk(chunk) => chunks.push(chunk),
                PartRows::Block(block) => {
                    let rows = BlockRows { block: &block, ids: RowIds::From(part.first) };
                    table.append_new(&mut writer, &rows, begin);
                }
            }
        }
        table.attach_chunks(&mut writer, chunks, begin);
        if table.counts() != self.counts {
            // A recount that did not see these chunks has dropped what they added.
            table.note_miscounted(self.rows);
        }
    }
}

impl Table {
    /// A sealed chunk of exactly these rows, which nobody sees.
    fn filled_chunk(&self, schema: &TableSchema, block: &RowBlock, ids: &RowIds<'_>) -> Arc<Chunk> {
        let encodings: Vec<Encoding> =
            self.writer.lock().encodings(self, schema, |at, _| block.columns()[at].heap());
        let unnumbered = ChunkId(u32::MAX);
        let mut filling = ChunkWriter::create(unnumbered, schema, block.rows(), encodings);
        filling.fill(block, ids, Version::INFINITY);
        let mut chunk = filling.seal();
        self.count(&chunk);
        narrow(&mut chunk);
        chunk
    }

    /// Gives chunks that nobody has seen their place.
    fn attach_chunks(&self, writer: &mut TableWriter, mut chunks: Vec<Arc<Chunk>>, begin: Version) {
        for chunk in &mut chunks {
            let unseen = Arc::get_mut(chunk).expect("nobody else has an unattached chunk");
            unseen.id = writer.next_chunk();
            unseen.begin_all(begin);
        }
        self.changes.note(begin);
        // Chunks before the rows that lie in them.
        self.chunks.store(Arc::new(self.chunks.load().with(chunks.iter().cloned())));
        for chunk in &chunks {
            for offset in 0..chunk.rows() as u32 {
                self.set_newest(chunk.row_id(offset), Location { chunk: chunk.id, offset });
            }
            self.live_rows.fetch_add(chunk.rows() as i64, Ordering::Relaxed);
        }
    }

    /// Recovery: puts rows with given ids into the table, while indexes are deferred. The chunk that many become, in
    /// their order.
    pub fn restore(&self, ids: &[RowId], block: &RowBlock, begin: Version) -> Option<ChunkId> {
        assert!(self.indexes_deferred.load(Ordering::Relaxed), "indexes are filled at the end");
        assert_eq!(ids.len(), block.rows(), "one id per row");
        let ids_of_rows = RowIds::Each(ids);
        let is_large = block.rows() >= LEAST_ROWS && block.rows() <= CHUNK_ROWS;
        let chunk = is_large.then(|| self.filled_chunk(&self.schema(), block, &ids_of_rows));
        let mut writer = self.writer.lock();
        if let Some(last) = ids.iter().max() {
            writer.skip_row(*last);
        }
        match chunk {
            Some(chunk) => {
                let id = writer.following_chunk();
                self.attach_chunks(&mut writer, vec![chunk], begin);
                Some(id)
            }
            None => {
                self.append_new(&mut writer, &BlockRows { block, ids: ids_of_rows }, begin);
                None
            }
        }
    }

    /// Recovery: from now on changes of rows leave the indexes alone, until [`Self::fill_index`]
    /// has filled each and [`Self::maintain_indexes`] was called. Nobody probes meanwhile.
    pub fn defer_indexes(&self) {
        self.indexes_deferred.store(true, Ordering::Relaxed);
    }

    /// Recovery: fills an index with all rows that are alive. No snapshot sees others.
    pub fn fill_index(&self, index: &Index) {
        let mut run = index.run(self.live_rows() as usize);
        for (_, chunk) in self.chunks.load().chunks() {
            let alive = |row: &u32| chunk.lives.end(*row as usize) == u64::MAX;
            for row in (0..chunk.rows() as u32).filter(alive) {
                let key = index.encoding.row_key(|column| chunk.cell(column, row));
                run.push(&key, chunk.row_id(row).0);
            }
        }
        run.sort();
        index.insert_run(&run);
    }

    /// Recovery: all indexes are filled; changes of rows change them again.
    pub fn maintain_indexes(&self) {
        self.publish_indexes();
        self.indexes_deferred.store(false, Ordering::Relaxed);
    }
}

/// For tests: stores rows in chunks of at most `chunk_rows`, whose columns are as narrow as their values allow.
#[cfg(test)]
pub(crate) fn load_in_chunks<R: AsRef<[crate::types::Value]>>(
    table: &Arc<Table>,
    rows: &[R],
    chunk_rows: usize,
    begin: Version,
) -> Vec<RowId> {
    let mut load = Load::new(table).with_small_chunks();
    let ids = rows.chunks(chunk_rows).flat_map(|rows| {
        let first = load.append(&RowBlock::from_rows(&table.schema(), rows));
        (0..rows.len() as u64).map(move |row| RowId(first.0 + row))
    });
    let ids = ids.collect();
    assert!(load.sort(1).is_none() && load.first_stored().is_none(), "keys differ");
    load.attach(begin);
    ids
}

#[cfg(test)]
mod tests {
    use super::super::twin::{index_schema, table_schema};
    use super::super::{Bound, Store};
    use super::*;
    use crate::types::{DataType, IndexKind, Value};

    const TYPES: [DataType; 2] = [DataType::Integer, DataType::Varchar(9)];

    fn table() -> (Arc<Store>, Arc<Table>) {
        let store = Store::new(2);
        let key = index_schema(1, &[0], IndexKind::Ordered, true);
        let mut schema =
            table_schema(&TYPES, vec![key, index_schema(2, &[1, 0], IndexKind::Ordered, true)]);
        schema.columns[0].not_null = true;
        let table = store.create_table(schema);
        (store, table)
    }

    fn block(table: &Table, keys: impl IntoIterator<Item = i32>) -> RowBlock {
        let text = |key: i32| match key.rem_euclid(5) {
            0 => Value::Null,
            rest => Value::Text("x".repeat(rest as usize).into()),
        };
        let rows: Vec<_> = keys.into_iter().map(|k| vec![Value::Integer(k), text(k)]).collect();
        RowBlock::from_rows(&table.schema(), &rows)
    }

    fn keys(table: &Arc<Table>, index: u32, version: Version) -> Vec<Value> {
        let (view, mut out) = (table.view(version), Vec::new());
        let index = table.index(IndexId(index)).expect("an index of the table");
        view.range(&index, Bound::Unbounded, Bound::Unbounded, false, usize::MAX, &mut out);
        out.iter().map(|at| view.cell(ColumnId(0), *at).to_owned()).collect()
    }

    #[test]
    fn a_load_is_seen_whole_or_not_at_all() {
        let (store, table) = table();
        table.insert(&[Value::Integer(-1), Value::Null], Version(1));
        store.publish(Version(1));
        let old = store.snapshot();
        let mut load = Load::new(&table);
        load.append(&block(&table, (0..CHUNK_ROWS as i32).rev()));
        load.append(&block(&table, 20_000..20_010));
        assert!(load.sort(2).is_none() && load.first_stored().is_none());
        // Others write meanwhile, and an index comes that the load has not sorted for.
        table.insert(&[Value::Integer(-2), Value::Null], Version(2));
        table.create_index(index_schema(3, &[0], IndexKind::Ordered, false)).expect("no rule");
        assert_eq!(keys(&table, 1, Version(2)).len(), 2);
        load.attach(Version(2));
        store.publish(Version(2));
        let wanted: Vec<Value> =
            (-2..CHUNK_ROWS as i32).chain(20_000..20_010).map(Value::Integer).collect();
        assert_eq!(keys(&table, 1, Version(2)), wanted);
        assert_eq!(keys(&table, 3, Version(2)), wanted);
        assert_eq!(keys(&table, 2, Version(2)).len(), wanted.len());
        assert_eq!(keys(&table, 1, old.version()), [Value::Integer(-1)]);
        assert_eq!((table.live_rows(), table.statistics().rows), (8_204, 8_204));
    }

    #[test]
    fn the_first_duplicate_is_named() {
        let (_store, table) = table();
        table.insert(&[Value::Integer(7), Value::Null], Version(1));
        let mut load = Load::new(&table);
        load.append(&block(&table, [4, 5, 9, 5, 4]));
        let (index, row) = load.sort(2).expect("5 and 4 occur twice");
        assert_eq!((index.schema().id, row), (IndexId(1), 3));
        let mut load = Load::new(&table);
        load.append(&block(&table, [1, 2]));
        load.append(&block(&table, [3, 7, 8]));
        assert!(load.sort(2).is_none());
        let (index, row) = load.first_stored().expect("7 is stored");
        assert_eq!((index.schema().id, row), (IndexId(1), 3));
        drop(load);
        assert_eq!(keys(&table, 1, Version(1)).len(), 1);
    }

    #[test]
    fn restored_rows_are_indexed_at_the_end() {
        let (store, table) = table();
        table.defer_indexes();
        let ids: Vec<RowId> = (0..CHUNK_ROWS as u64).map(|id| RowId(id * 2)).rev().collect();
        table.restore(&ids, &block(&table, 0..CHUNK_ROWS as i32), Version(1));
        table.restore(&[RowId(1)], &block(&table, [-4]), Version(1));
        table.update(RowId(0), &[Value::Integer(-9), Value::Null], Version(2));
        table.delete(RowId(2), Version(2));
        table.indexes().iter().for_each(|index| table.fill_index(index));
        table.maintain_indexes();
        store.publish(Version(2));
        let last = CHUNK_ROWS as i32;
        let wanted: Vec<Value> =
            [-9, -4].into_iter().chain(0..last - 2).map(Value::Integer).collect();
        assert_eq!(keys(&table, 1, Version(2)), wanted);
        assert_eq!(keys(&table, 2, Version(2)).len(), wanted.len());
        assert_eq!(table.next_row_id(), RowId(CHUNK_ROWS as u64 * 2 - 1));
        store.reclaim(Version(3), usize::MAX);
        assert_eq!(keys(&table, 1, Version(2)), wanted);
    }
}
