//! One table: its chunks, its row directory, its indexes.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::chunk::{PACKED_NONE, pack};
use super::chunk_list::ChunkList;
use super::chunk_writer::RowSource;
use super::row_directory::RowDirectory;
use super::snapshot::SnapshotRegistry;
use super::statistics::{ColumnCounter, count_chunk, summarise};
use super::table_writer::TableWriter;
use super::{Index, TableStatistics, TableView};
use crate::types::{
    ColumnId, Error, IndexId, IndexSchema, Location, Result, RowId, SqlState, TableSchema, Value,
    ValueRef, Version,
};

/// One table. Methods that say *writer* are for the single writer only.
#[derive(Debug)]
pub struct Table {
    pub(super) snapshots: Arc<SnapshotRegistry>,
    pub(super) schema: ArcSwap<TableSchema>,
    pub(super) chunks: ArcSwap<ChunkList>,
    pub(super) rows: ArcSwap<RowDirectory>,
    pub(super) indexes: ArcSwap<Vec<Arc<Index>>>,
    /// Rows alive in the newest version.
    pub(super) live_rows: AtomicI64,
    /// By column, of sealed chunks.
    pub(super) counters: Mutex<Vec<ColumnCounter>>,
    pub(super) writer: Mutex<TableWriter>,
}

impl Table {
    pub(super) fn new(schema: TableSchema, snapshots: Arc<SnapshotRegistry>) -> Table {
        let indexes =
            schema.indexes.iter().map(|index| Arc::new(Index::new(&schema, index.clone())));
        Table {
            snapshots,
            indexes: ArcSwap::from_pointee(indexes.collect()),
            schema: ArcSwap::from_pointee(schema),
            chunks: ArcSwap::from_pointee(ChunkList::new(Vec::new())),
            rows: ArcSwap::from_pointee(RowDirectory::new(1)),
            live_rows: AtomicI64::new(0),
            counters: Mutex::new(Vec::new()),
            writer: Mutex::new(TableWriter::new()),
        }
    }

    /// The newest definition.
    pub fn schema(&self) -> Arc<TableSchema> {
        self.schema.load_full()
    }

    /// Writer: replaces the definition after ALTER TABLE (columns may be added, dropped, renamed; indexes are
    /// added and dropped by [`Self::create_index`] and [`Self::drop_index`]).
    pub fn alter(&self, schema: TableSchema) {
        let mut writer = self.writer.lock();
        let before = self.schema.load();
        assert!(schema.columns.len() >= before.columns.len(), "columns are never forgotten");
        let kept = before.columns.iter().zip(&schema.columns);
        kept.for_each(|(old, new)| {
            assert!(same_storage(old.data_type, new.data_type), "a column keeps how it is stored");
        });
        writer.seal(self);
        for (_, chunk) in self.chunks.load().chunks() {
            let known = chunk.columns.len() + chunk.added.len();
            let added: Box<[Value]> =
                schema.columns[known..].iter().map(|column| column.missing.clone()).collect();
            if !added.is_empty() {
                chunk.added.push(added);
            }
        }
        let indexes = self.indexes.load().iter().map(|index| index.schema().clone()).collect();
        self.schema.store(Arc::new(TableSchema { indexes, ..schema }));
    }

    /// A reading handle at a version: pins the chunks that exist now. The caller keeps the
    /// [`super::Snapshot`] alive. A view of a version that is not published yet is for the writer: it sees what
    /// was written before it was taken.
    pub fn view(self: &Arc<Self>, version: Version) -> Arc<TableView> {
        if version > self.snapshots.published() {
            self.publish_indexes();
        }
        Arc::new(TableView::new(self, version))
    }

    /// The index of that id.
    pub fn index(&self, index: IndexId) -> Option<Arc<Index>> {
        self.indexes.load().iter().find(|i| i.schema().id == index).cloned()
    }

    /// All indexes.
    pub fn indexes(&self) -> Vec<Arc<Index>> {
        Vec::clone(&self.indexes.load())
    }

    /// Writer: builds an index over all rows; a duplicate in a unique one is 23505 and leaves nothing.
    pub fn create_index(&self, schema: IndexSchema) -> Result<()> {
        let _writer = self.writer.lock();
        let table = self.schema.load();
        let index = Index::new(&table, schema.clone());
        for (_, chunk) in self.chunks.load().chunks() {
            for offset in 0..chunk.rows() as u32 {
                let (row, cell) = (chunk.row_id(offset), |column| chunk.cell(column, offset));
                let key = index.encoding.row_key(cell);
                if schema.unique && chunk.is_visible(Version(u64::MAX - 1), offset) {
                    self.check_duplicate(&index, &schema, cell, row)?;
                }
                index.insert(&key, row.0);
            }
        }
        // Old versions may have had other keys.
        index.set_key_changed();
        index.publish();
        let mut indexes = self.indexes();
        indexes.push(Arc::new(index));
        self.set_indexes(indexes);
        Ok(())
    }

    fn set_indexes(&self, indexes: Vec<Arc<Index>>) {
        let mut schema = TableSchema::clone(&self.schema.load());
        schema.indexes = indexes.iter().map(|index| index.schema().clone()).collect();
        self.indexes.store(Arc::new(indexes));
        self.schema.store(Arc::new(schema));
    }

    fn check_duplicate<'v>(
        &self,
        index: &Index,
        schema: &IndexSchema,
        cell: impl Fn(ColumnId) -> ValueRef<'v>,
        row: RowId,
    ) -> Result<()> {
        if schema.columns.iter().any(|column| cell(*column).is_null()) {
            return Ok(());
        }
        let key = index.encoding.row_key(&cell);
        match self.holder(index, &key, |other| other != row) {
            None => Ok(()),
            Some(_) => Err(self.duplicate(schema, &cell)),
        }
    }

    fn duplicate<'v>(&self, index: &IndexSchema, cell: impl Fn(ColumnId) -> ValueRef<'v>) -> Error {
        let table = self.schema.load();
        let names = index.columns.iter().map(|c| &*table.columns[c.index()].name);
        let names: Vec<&str> = names.collect();
        let values: Vec<String> = index.columns.iter().map(|c| display(cell(*c))).collect();
        let message = format!("could not create unique index \"{}\"", index.name);
        let detail = format!("Key ({})=({}) is duplicated.", names.join(", "), values.join(", "));
        let error = Error::new(SqlState::UniqueViolation, message).detail(detail);
        error.constraint(&*table.name, &*index.name)
    }

    /// Writer: forgets an index.
    pub fn drop_index(&self, index: IndexId) {
        let _writer = self.writer.lock();
        let mut indexes = self.indexes();
        indexes.retain(|kept| kept.schema().id != index);
        self.set_indexes(indexes);
    }

    /// Writer: the row whose newest version has this key in a unique index and is not ended; also rows that
    /// are not published yet. `None` if a key value is NULL.
    pub fn newest_holder(&self, index: &Index, key: &[ValueRef<'_>]) -> Option<RowId> {
        let key = index.encoding.equal_key(key)?;
        self.holder(index, &key, |_| true)
    }

    fn holder(
        &self,
        index: &Index,
        key: &super::key::KeyBuffer,
        counts: impl Fn(RowId) -> bool,
    ) -> Option<RowId> {
        let (chunks, rows) = (self.chunks.load(), self.rows.load());
        let mut holder = None;
        index.equal_newest(key, &mut |row| {
            let location = rows.get(RowId(row));
            let Some(chunk) = chunks.get(location.chunk) else { return ControlFlow::Continue(()) };
            let alive = chunk.lives.end(location.offset as usize) == u64::MAX;
            let same = || {
                let found = index.encoding.row_key(|c| chunk.cell(c, location.offset));
                found.bytes() == key.bytes()
            };
            if alive && counts(RowId(row)) && same() {
                holder = Some(RowId(row));
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        holder
    }

    /// Writer: appends a new row, visible from `begin` on, into all indexes. `row` has one value per
    /// [`crate::types::ColumnId`], of the column's type (dropped columns: NULL). The caller has checked
    /// constraints; types are asserted.
    pub fn insert(&self, row: &[Value], begin: Version) -> RowId {
        self.insert_rows(&[row], begin)
    }

    /// Writer: like [`Self::insert`] for many rows, which get consecutive ids; the first of them comes back.
    /// Much faster than one by one.
    pub fn insert_rows<R: AsRef<[Value]>>(&self, rows: &[R], begin: Version) -> RowId {
        let mut writer = self.writer.lock();
        let first = writer.next_rows(rows.len());
        self.insert_from(&mut writer, &NewRows { rows, first, ids: None }, begin);
        first
    }

    /// Writer: like [`Self::insert`] with a given row id (recovery). Ids may come in any order.
    pub fn insert_with_id(&self, id: RowId, row: &[Value], begin: Version) {
        self.insert_rows_with_ids(&[id], &[row], begin);
    }

    /// Writer: like [`Self::insert_rows`] with given row ids (recovery), in any order.
    pub fn insert_rows_with_ids<R: AsRef<[Value]>>(
        &self,
        ids: &[RowId],
        rows: &[R],
        begin: Version,
    ) {
        assert_eq!(ids.len(), rows.len(), "one id per row");
        let mut writer = self.writer.lock();
        ids.iter().for_each(|id| writer.skip_row(*id));
        self.insert_from(&mut writer, &NewRows { rows, first: RowId(0), ids: Some(ids) }, begin);
    }

    /// Writer: the id that the next row will have; it is taken. The log names a row before it is stored.
    pub fn reserve_row_id(&self) -> RowId {
        self.writer.lock().next_rows(1)
    }

    /// Ids from here on were never given.
    pub fn next_row_id(&self) -> RowId {
        self.writer.lock().row_to_come()
    }

    /// Recovery: ids below `id` count as given.
    pub fn raise_next_row_id(&self, id: RowId) {
        if let Some(last) = id.0.checked_sub(1) {
            self.writer.lock().skip_row(RowId(last));
        }
    }

    fn insert_from<R: AsRef<[Value]>>(
        &self,
        writer: &mut TableWriter,
        rows: &NewRows<'_, R>,
        begin: Version,
    ) {
        rows.rows.iter().for_each(|row| self.assert_width(row.as_ref()));
        writer.append(self, rows, begin, PACKED_NONE, |row, location| {
            self.set_newest(rows.id(row), location);
        });
        self.live_rows.fetch_add(rows.count() as i64, Ordering::Relaxed);
        for index in self.indexes.load().iter() {
            index.insert_many((0..rows.count()).map(|row| {
                (index.encoding.row_key(|column| rows.value(row, column.index())), rows.id(row).0)
            }));
        }
    }

    fn assert_width(&self, row: &[Value]) {
        assert_eq!(row.len(), self.schema.load().columns.len(), "one value per column");
    }

    pub(super) fn set_newest(&self, id: RowId, location: Location) {
        let rows = self.rows.load();
        if rows.covers(id) {
            return rows.set(id, location);
        }
        let grown = rows.grown(id);
        grown.set(id, location);
        self.rows.store(Arc::new(grown));
    }

    /// Writer: ends the newest version of `row` at `begin` and appends its successor. Indexes whose key did not
    /// change are not touched.
    pub fn update(&self, id: RowId, row: &[Value], begin: Version) {
        self.assert_width(row);
        let mut writer = self.writer.lock();
        let old = self.rows.load().get(id);
        let chunks = self.chunks.load();
        let chunk = chunks.get(old.chunk).expect("the newest version of a row is stored");
        for index in self.indexes.load().iter() {
            let mut columns = index.schema().columns.iter();
            let new = |column: ColumnId| row[column.index()].borrow();
            if columns.any(|column| chunk.cell(*column, old.offset) != new(*column)) {
                index.set_key_changed();
                index.insert(&index.encoding.row_key(new), id.0);
            }
        }
        writer.end(chunk, old, begin);
        let rows = NewRows { rows: &[row], first: id, ids: None };
        writer.append(self, &rows, begin, pack(old), |_, new| self.set_newest(id, new));
    }

    /// Writer: ends the newest version of `row` at `end`.
    pub fn delete(&self, id: RowId, end: Version) {
        let mut writer = self.writer.lock();
        let old = self.rows.load().get(id);
        let chunks = self.chunks.load();
        let chunk = chunks.get(old.chunk).expect("the newest version of a row is stored");
        writer.end(chunk, old, end);
        self.live_rows.fetch_sub(1, Ordering::Relaxed);
    }

    /// Writer: forgets all rows at once, for all snapshots from `version` on.
    pub fn truncate(&self, version: Version) {
        let mut writer = self.writer.lock();
        writer.seal(self);
        for (_, chunk) in self.chunks.load().chunks() {
            chunk.lives.end_all.fetch_min(version.0, Ordering::Relaxed);
            writer.reclaimable(chunk.id);
        }
        self.live_rows.store(0, Ordering::Relaxed);
    }

    /// The newest version of a row: where it lies, since when, until when. `None` for an id never given or
    /// wholly reclaimed. Copies that reclaiming makes do not count: `since` is when the row was last changed,
    /// as long as a snapshot from before the copy lives.
    pub fn newest(&self, id: RowId) -> Option<(Location, Version, Version)> {
        let (rows, chunks) = (self.rows.load(), self.chunks.load());
        let location = rows.get(id);
        let chunk = chunks.get(location.chunk)?;
        let end = chunk.lives.end(location.offset as usize);
        let (mut begin, mut at) = (u64::MAX, location);
        while let Some(chunk) = chunks.get(at.chunk) {
            begin = chunk.lives.begin(at.offset as usize);
            match chunk.lives.previous(at.offset as usize) {
                (previous, true) => at = previous,
                _ => break,
            }
        }
        Some((location, Version(begin), Version(end)))
    }

    pub(super) fn publish_indexes(&self) {
        self.indexes.load().iter().for_each(|index| index.publish());
    }

    /// Estimates for the planner.
    pub fn statistics(&self) -> TableStatistics {
        let schema = self.schema.load();
        let mut counters = self.counters.lock().clone();
        if let Some((_, growing)) = self.chunks.load().chunks().last()
            && growing.zones.get().is_none()
        {
            count_chunk(&mut counters, growing);
        }
        TableStatistics {
            rows: self.live_rows.load(Ordering::Relaxed).max(0) as u64,
            columns: summarise(&counters, schema.columns.iter().map(|c| c.data_type)),
        }
    }

    /// Bytes held by chunks, dictionaries, the row directory and indexes.
    pub fn memory(&self) -> usize {
        let chunks: usize = self.chunks.load().chunks().iter().map(|(_, c)| c.memory()).sum();
        let indexes: usize = self.indexes.load().iter().map(|index| index.weigh().1).sum();
        chunks + indexes + self.rows.load().memory() + self.writer.lock().dictionary_memory()
    }
}

/// Rows of values, with consecutive ids or with given ones.
struct NewRows<'a, R> {
    rows: &'a [R],
    first: RowId,
    ids: Option<&'a [RowId]>,
}

impl<'a, R: AsRef<[Value]>> RowSource<'a> for NewRows<'a, R> {
    fn count(&self) -> usize {
        self.rows.len()
    }

    #[inline]
    fn value(&self, row: usize, column: usize) -> ValueRef<'a> {
        self.rows[row].as_ref()[column].borrow()
    }

    fn id(&self, row: usize) -> RowId {
        self.ids.map_or(RowId(self.first.0 + row as u64), |ids| ids[row])
    }
}

/// Whether values of both types are stored alike.
fn same_storage(a: crate::types::DataType, b: crate::types::DataType) -> bool {
    use crate::types::DataType as T;
    let numeric = |a, b| matches!((a, b), (T::Numeric { scale: x, .. }, T::Numeric { scale: y, .. }) if x == y);
    a == b || a.is_string() && b.is_string() || numeric(a, b)
}

/// A key value as PostgreSQL's DETAIL shows it.
fn display(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "null".into(),
        ValueRef::Boolean(v) => if v { "t" } else { "f" }.into(),
        ValueRef::SmallInt(v) => v.to_string(),
        ValueRef::Integer(v) => v.to_string(),
        ValueRef::BigInt(v) => v.to_string(),
        ValueRef::Real(v) => v.to_string(),
        ValueRef::Double(v) => v.to_string(),
        ValueRef::Text(v) => v.into(),
        other => format!("{other:?}"),
    }
}
