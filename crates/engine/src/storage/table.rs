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
            writer.reclaimable(chunk);
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

    /// Rows alive in the newest version, published or not.
    pub fn live_rows(&self) -> u64 {
        self.live_rows.load(Ordering::Relaxed).max(0) as u64
    }

    /// Estimates for the planner. Looks at all rows of the growing chunk: not for every activation.
    pub fn statistics(&self) -> TableStatistics {
        let schema = self.schema.load();
        let mut counters = self.counters.lock().clone();
        if let Some((_, growing)) = self.chunks.load().chunks().last()
            && growing.zones.get().is_none()
        {
            count_chunk(&mut counters, growing);
        }
        TableStatistics {
            rows: self.live_rows(),
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

#[cfg(test)]
mod tests {
    use super::super::twin::{index_schema, table_schema};
    use super::super::{Bound, ColumnSlice, Store};
    use super::*;
    use crate::types::{ColumnDefault, ColumnSchema, DataType, IndexKind, array_cell};

    fn table(types: &[DataType]) -> (Arc<Store>, Arc<Table>) {
        let store = Store::new(1);
        let table = store.create_table(table_schema(types, Vec::new()));
        (store, table)
    }

    fn integers(values: impl IntoIterator<Item = i32>) -> Vec<Vec<Value>> {
        values.into_iter().map(|value| vec![Value::Integer(value)]).collect()
    }

    #[test]
    fn an_index_over_existing_rows_finds_them_and_refuses_duplicates() {
        let (store, table) = table(&[DataType::Integer]);
        let first = table.insert_rows(&integers(0..1_000), Version(1));
        table.update(first, &[Value::Integer(-5)], Version(2));
        store.publish(Version(2));
        let unique = index_schema(7, &[0], IndexKind::Ordered, true);
        table.create_index(unique.clone()).expect("all keys differ");
        let index = table.index(IndexId(7)).expect("just created");
        let probe = |version, key| {
            let mut out = Vec::new();
            table.view(Version(version)).probe(&index, &[ValueRef::Integer(key)], &mut out);
            out.len()
        };
        assert_eq!((probe(1, 0), probe(1, -5), probe(2, 0), probe(2, -5)), (1, 0, 0, 1));
        assert_eq!(table.newest_holder(&index, &[ValueRef::BigInt(-5)]), Some(first));
        assert_eq!(table.newest_holder(&index, &[ValueRef::Integer(0)]), None);
        table.drop_index(IndexId(7));
        table.insert(&[Value::Integer(17)], Version(3));
        let error = table.create_index(unique).expect_err("17 occurs twice");
        assert_eq!(error.state.code(), "23505");
        assert_eq!(error.message, "could not create unique index \"i7\"");
        assert_eq!(error.detail.as_deref(), Some("Key (c0)=(17) is duplicated."));
        assert!(table.index(IndexId(7)).is_none() && table.schema().indexes.is_empty());
    }

    #[test]
    fn unpublished_rows_have_holders_and_ended_rows_have_not() {
        let (_store, table) = table(&[DataType::Integer]);
        table.create_index(index_schema(1, &[0], IndexKind::Ordered, true)).expect("no rows");
        let index = table.index(IndexId(1)).expect("just created");
        let row = table.insert(&[Value::Integer(4)], Version(1));
        let null = table.insert(&[Value::Null], Version(1));
        assert_eq!(table.newest_holder(&index, &[ValueRef::Integer(4)]), Some(row));
        assert_eq!(table.newest_holder(&index, &[ValueRef::Null]), None);
        table.delete(row, Version(1));
        assert_eq!(table.newest_holder(&index, &[ValueRef::Integer(4)]), None);
        let again = table.insert(&[Value::Integer(4)], Version(1));
        assert_eq!(table.newest_holder(&index, &[ValueRef::Integer(4)]), Some(again));
        let mut out = Vec::new();
        let view = table.view(Version(1));
        view.range(&index, Bound::Unbounded, Bound::Unbounded, true, 9, &mut out);
        let ids: Vec<RowId> = out.iter().map(|location| view.row_id(*location)).collect();
        assert_eq!(ids, [null, again]);
    }

    fn added(name: &str, data_type: DataType, missing: Value) -> ColumnSchema {
        ColumnSchema {
            name: name.into(),
            data_type,
            not_null: false,
            default: ColumnDefault::None,
            dropped: false,
            missing,
        }
    }

    #[test]
    fn columns_come_and_go() {
        let (store, table) = table(&[DataType::Integer, DataType::Text]);
        let old = table.insert(&[Value::Integer(1), Value::Text("one".into())], Version(1));
        let before = table.view(Version(1));
        let mut schema = TableSchema::clone(&table.schema());
        schema.columns.push(added("n", DataType::Integer, Value::Integer(42)));
        schema.columns[1].dropped = true;
        table.alter(schema);
        let mut schema = TableSchema::clone(&table.schema());
        schema.columns.push(added("s", DataType::Text, Value::Text("a missing string".into())));
        schema.columns.push(added("d", DataType::Date, Value::Null));
        table.alter(schema);
        let row = [
            Value::Integer(2),
            Value::Null,
            Value::Integer(3),
            Value::Text("new".into()),
            Value::Date(9),
        ];
        let new = table.insert(&row, Version(2));
        store.publish(Version(2));
        let view = table.view(Version(2));
        let at = [old, new].map(|row| view.resolve(row).expect("visible"));
        let cells = |column| at.map(|location| view.cell(ColumnId(column), location).to_owned());
        let missing = Value::Text("a missing string".into());
        assert_eq!(cells(2), [Value::Integer(42), Value::Integer(3)]);
        assert_eq!(cells(3), [missing.clone(), Value::Text("new".into())]);
        assert_eq!(cells(4), [Value::Null, Value::Date(9)]);
        for column in 2..5 {
            let array = view.gather(ColumnId(column), &at);
            let whole = view.array(ColumnId(column), at[0].chunk, 0..1);
            assert_eq!(array_cell(&array, 0).to_owned(), cells(column)[0]);
            assert_eq!(array_cell(&array, 1).to_owned(), cells(column)[1]);
            assert_eq!(array_cell(&whole, 0).to_owned(), cells(column)[0]);
        }
        let chunk = view.chunk(at[0].chunk);
        assert!(matches!(chunk.column(ColumnId(2)), ColumnSlice::Constant(Value::Integer(42), 1)));
        assert_eq!(before.row(at[0]), [Value::Integer(1), Value::Text("one".into())]);
        // An update brings the old row into the new shape.
        table.update(old, &view.row(at[0]), Version(3));
        let view = table.view(Version(3));
        let location = view.resolve(old).expect("visible");
        assert_eq!(view.cell(ColumnId(3), location).to_owned(), missing);
        assert_eq!(view.cell(ColumnId(1), location), ValueRef::Null);
    }

    #[test]
    fn truncated_rows_stay_for_older_snapshots() {
        let (store, table) = table(&[DataType::Integer]);
        table.create_index(index_schema(1, &[0], IndexKind::Ordered, true)).expect("no rows");
        table.insert_rows(&integers(0..5_000), Version(1));
        store.publish(Version(1));
        let old = store.snapshot();
        table.truncate(Version(2));
        table.insert_rows(&integers(0..10), Version(2));
        store.publish(Version(2));
        store.reclaim(Version(3), usize::MAX);
        let index = table.index(IndexId(1)).expect("an index");
        let count = |version: Version| {
            let (view, mut out) = (table.view(version), Vec::new());
            view.range(&index, Bound::Unbounded, Bound::Unbounded, false, usize::MAX, &mut out);
            out.len()
        };
        assert_eq!((count(old.version()), count(Version(2))), (5_000, 10));
        assert_eq!(table.newest(RowId(0)).map(|newest| newest.2), Some(Version(2)));
        let before = table.memory();
        drop(old);
        store.reclaim(Version(3), usize::MAX);
        assert_eq!(count(Version(2)), 10);
        assert_eq!(table.newest(RowId(0)), None);
        assert!(table.memory() * 2 < before, "{} of {before}", table.memory());
    }

    #[test]
    fn statistics_follow_the_rows() {
        let (_store, table) = table(&[DataType::Integer, DataType::Text, DataType::Text]);
        let row = |i: i32| {
            let name = if i % 4 == 0 {
                Value::Null
            } else {
                Value::Text(["a", "bcd"][i as usize % 2].into())
            };
            vec![Value::Integer(i - 10), name, Value::Text(format!("string number {i}").into())]
        };
        let rows: Vec<_> = (0..20_000).map(row).collect();
        let first = table.insert_rows(&rows, Version(1));
        table.delete(first, Version(2));
        let statistics = table.statistics();
        assert_eq!(statistics.rows, 19_999);
        let [number, name, unique] = &statistics.columns[..] else { panic!("three columns") };
        assert!((number.distinct - 20_000.0).abs() < 2_000.0, "{}", number.distinct);
        assert_eq!(
            (&number.min, &number.max),
            (&Some(Value::Integer(-10)), &Some(Value::Integer(19_989)))
        );
        assert_eq!((name.null_share, name.distinct.round()), (0.25, 2.0));
        assert!((unique.width - 18.5).abs() < 1.0, "{}", unique.width);
    }

    #[test]
    fn repeated_strings_are_coded_and_unique_ones_plain() {
        let (_store, table) = table(&[DataType::Varchar(40), DataType::Varchar(40)]);
        let text = |text: String| Value::Text(text.into());
        let row = |i| vec![text(format!("subject {}", i % 24)), text(format!("title {i}"))];
        let rows: Vec<_> = (0..40_000).map(row).collect();
        rows.chunks(100).for_each(|rows| drop(table.insert_rows(rows, Version(1))));
        let view = table.view(Version(1));
        for (_, chunk) in &view.chunks()[1..] {
            assert!(matches!(chunk.column(ColumnId(0)), ColumnSlice::Codes(..)));
            assert!(matches!(chunk.column(ColumnId(1)), ColumnSlice::Strings(..)));
        }
        assert!(view.chunks().len() < 12, "{}", view.chunks().len());
        assert_eq!(
            view.chunk(view.chunks()[3].0).cell(ColumnId(0), 5).data_type(),
            Some(DataType::Text)
        );
    }

    #[test]
    #[should_panic(expected = "is no integer")]
    fn a_value_of_another_type_is_refused() {
        let (_store, table) = table(&[DataType::Integer]);
        table.insert(&[Value::Date(1)], Version(1));
    }
}
