//! Rows come, change and go.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::chunk::{PACKED_NONE, pack};
use super::chunk_writer::{RowIds, RowSource};
use super::reclaim::Outdated;
use super::table_writer::TableWriter;
use super::{Index, Table};
use crate::types::{ColumnId, Location, RowId, Value, ValueRef, Version};

impl Table {
    /// Writer: appends a new row, visible from `begin` on, into all indexes. `row` has one value
    /// per [`crate::types::ColumnId`], of the column's type (dropped columns: NULL). The caller has
    /// checked constraints; types are asserted.
    pub fn insert(&self, row: &[Value], begin: Version) -> RowId {
        self.insert_rows(&[row], begin)
    }

    /// Writer: like [`Self::insert`] for many rows, which get consecutive ids; the first of them
    /// comes back. Much faster than one by one.
    pub fn insert_rows<R: AsRef<[Value]>>(&self, rows: &[R], begin: Version) -> RowId {
        let mut writer = self.writer.lock();
        let first = writer.next_rows(rows.len());
        self.insert_from(&mut writer, &NewRows { rows, ids: RowIds::From(first) }, begin);
        first
    }

    /// Writer: like [`Self::insert`] with a given row id. Ids may come in any order.
    pub fn insert_with_id(&self, id: RowId, row: &[Value], begin: Version) {
        self.insert_rows_with_ids(&[id], &[row], begin);
    }

    /// Writer: like [`Self::insert_rows`] with given row ids, in any order.
    pub fn insert_rows_with_ids<R: AsRef<[Value]>>(
        &self,
        ids: &[RowId],
        rows: &[R],
        begin: Version,
    ) {
        assert_eq!(ids.len(), rows.len(), "one id per row");
        let mut writer = self.writer.lock();
        ids.iter().for_each(|id| writer.skip_row(*id));
        self.insert_from(&mut writer, &NewRows { rows, ids: RowIds::Each(ids) }, begin);
    }

    /// Writer: the id that the next row will have; it is taken. The log names a row before it is
    /// stored.
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
        self.append_new(writer, rows, begin);
        for index in self.maintained_indexes().iter() {
            index.insert_many((0..rows.count()).map(|row| {
                (index.encoding.row_key(|column| rows.value(row, column.index())), rows.id(row).0)
            }));
        }
    }

    /// Appends new rows, without their index entries.
    pub(super) fn append_new<'v>(
        &self,
        writer: &mut TableWriter,
        rows: &impl RowSource<'v>,
        begin: Version,
    ) {
        self.changes.note(begin);
        writer.append(self, rows, begin, PACKED_NONE, |row, location| {
            self.set_newest(rows.id(row), location);
        });
        self.live_rows.fetch_add(rows.count() as i64, Ordering::Relaxed);
    }

    /// The indexes that changes of rows must change.
    fn maintained_indexes(&self) -> Arc<Vec<Arc<Index>>> {
        match self.indexes_deferred.load(Ordering::Relaxed) {
            true => Arc::default(),
            false => self.indexes.load_full(),
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

    /// Writer: ends the newest version of `row` at `begin` and appends its successor. Indexes whose
    /// key did not change are not touched.
    pub fn update(&self, id: RowId, row: &[Value], begin: Version) {
        self.assert_width(row);
        self.changes.note(begin);
        let mut writer = self.writer.lock();
        let old = self.rows.load().get(id);
        let chunks = self.chunks.load();
        let chunk = chunks.get(old.chunk).expect("the newest version of a row is stored");
        let mut is_outdated = false;
        for index in self.maintained_indexes().iter() {
            let mut columns = index.schema().columns.iter();
            let new = |column: ColumnId| row[column.index()].borrow();
            if columns.any(|column| chunk.cell(*column, old.offset) != new(*column)) {
                index.set_key_changed();
                index.insert(&index.encoding.row_key(new), id.0);
                is_outdated = true;
            }
        }
        writer.end(chunk, old, begin);
        self.note_miscounted(1);
        if is_outdated {
            writer.outdated.push_back(Outdated { location: old, end: begin });
        }
        let rows = NewRows { rows: &[row], ids: RowIds::From(id) };
        writer.append(self, &rows, begin, pack(old), |_, new| self.set_newest(id, new));
    }

    /// Writer: ends the newest version of `row` at `end`.
    pub fn delete(&self, id: RowId, end: Version) {
        self.changes.note(end);
        let mut writer = self.writer.lock();
        let old = self.rows.load().get(id);
        let chunks = self.chunks.load();
        let chunk = chunks.get(old.chunk).expect("the newest version of a row is stored");
        writer.end(chunk, old, end);
        self.note_miscounted(1);
        writer.outdated.push_back(Outdated { location: old, end });
        self.live_rows.fetch_sub(1, Ordering::Relaxed);
    }

    /// Writer: forgets all rows at once, for all snapshots from `version` on.
    pub fn truncate(&self, version: Version) {
        self.changes.note(version);
        let mut writer = self.writer.lock();
        writer.seal(self);
        for (_, chunk) in self.chunks.load().chunks() {
            chunk.lives.end_all.fetch_min(version.0, Ordering::Relaxed);
            writer.reclaimable(chunk);
        }
        let gone = self.live_rows.swap(0, Ordering::Relaxed).max(0);
        self.note_miscounted(gone as usize);
    }
}

/// Rows of values, with consecutive ids or with given ones.
struct NewRows<'a, R> {
    rows: &'a [R],
    ids: RowIds<'a>,
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
        self.ids.get(row)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Bound;
    use super::super::twin::{index_schema, stored_table};
    use super::*;
    use crate::types::{DataType, IndexId, IndexKind};

    fn integers(values: impl IntoIterator<Item = i32>) -> Vec<Vec<Value>> {
        values.into_iter().map(|value| vec![Value::Integer(value)]).collect()
    }

    #[test]
    fn unpublished_rows_have_holders_and_ended_rows_have_not() {
        let (_store, table) = stored_table(&[DataType::Integer]);
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

    #[test]
    fn truncated_rows_stay_for_older_snapshots() {
        let (store, table) = stored_table(&[DataType::Integer]);
        table.create_index(index_schema(1, &[0], IndexKind::Ordered, true)).expect("no rows");
        table.insert_rows(&integers(0..50_000), Version(1));
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
        assert_eq!((count(old.version()), count(Version(2))), (50_000, 10));
        assert_eq!(table.newest(RowId(0)).map(|newest| newest.2), Some(Version(2)));
        let before = table.memory();
        drop(old);
        store.reclaim(Version(3), usize::MAX);
        assert_eq!(count(Version(2)), 10);
        assert_eq!(table.newest(RowId(0)), None);
        assert!(table.memory() * 2 < before, "{} of {before}", table.memory());
    }

    #[test]
    #[should_panic(expected = "is no integer")]
    fn a_value_of_another_type_is_refused() {
        let (_store, table) = stored_table(&[DataType::Integer]);
        table.insert(&[Value::Date(1)], Version(1));
    }
}
