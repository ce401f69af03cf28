//! One table: its chunks, its row directory, its indexes.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::change_history::ChangeHistory;
use super::chunk_list::ChunkList;
use super::row_directory::RowDirectory;
use super::snapshot::SnapshotRegistry;
use super::statistics::{ColumnCounter, counters_of, merge_counters, summarise};
use super::table_writer::TableWriter;
use super::{Chunk, Index, TableStatistics, TableView};
use crate::types::{ColumnId, IndexId, Location, RowId, TableSchema, Value, ValueRef, Version};

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
    /// Recovery: indexes are filled at the end, see [`Table::defer_indexes`].
    pub(super) indexes_deferred: AtomicBool,
    pub(super) changes: ChangeHistory,
    /// See [`Table::oldest_version`].
    pub(super) oldest_version: AtomicU64,
    /// Rows that ended since the counters were made; see [`Recount`](super::Recount).
    pub(super) ended_since_count: AtomicU64,
    /// A recount is wanted or under way.
    pub(super) is_recounted: AtomicBool,
    /// Recounts that are done.
    pub(super) counts: AtomicU64,
    /// See [`Table::surprises`].
    pub(super) surprises: AtomicU64,
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
            indexes_deferred: AtomicBool::new(false),
            changes: ChangeHistory::default(),
            oldest_version: AtomicU64::new(0),
            ended_since_count: AtomicU64::new(0),
            is_recounted: AtomicBool::new(false),
            counts: AtomicU64::new(0),
            surprises: AtomicU64::new(0),
            counters: Mutex::new(Vec::new()),
            writer: Mutex::new(TableWriter::new()),
        }
    }

    /// The newest definition.
    pub fn schema(&self) -> Arc<TableSchema> {
        self.schema.load_full()
    }

    /// Snapshots before this version find nothing here, though there was a table of that name with rows: this one took
    /// its place.
    pub fn oldest_version(&self) -> Version {
        Version(self.oldest_version.load(Ordering::Relaxed))
    }

    /// A reading handle at a version: pins the chunks that exist now. The caller keeps the
    /// [`super::Snapshot`] alive. A view of a version that is not published yet is for the writer:
    /// it sees what was written before it was taken.
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

    /// Writer: the row whose newest version has this key in a unique index and is not ended; also
    /// rows that are not published yet. `None` if a key value is NULL.
    pub fn newest_holder(&self, index: &Index, key: &[ValueRef<'_>]) -> Option<RowId> {
        let key = index.encoding.equal_key(key)?;
        self.holder(index, &key, |_| true)
    }

    pub(super) fn holder(
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

    /// The newest version of a row: where it lies, since when, until when. `None` for an id never
    /// given or wholly reclaimed. Copies that reclaiming makes do not count: `since` is when the
    /// row was last changed, as long as a snapshot from before the copy lives.
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

    /// Writer: the values of a row's newest version, published or not, if it is alive.
    pub fn newest_row(&self, id: RowId) -> Option<Vec<Value>> {
        let (rows, chunks) = (self.rows.load(), self.chunks.load());
        let location = rows.get(id);
        let chunk = chunks.get(location.chunk)?;
        let alive = chunk.lives.end(location.offset as usize) == u64::MAX;
        let columns = 0..self.schema.load().columns.len() as u32;
        let cell = |column| chunk.cell(ColumnId(column), location.offset).to_owned();
        alive.then(|| columns.map(cell).collect())
    }

    pub(super) fn publish_indexes(&self) {
        self.indexes.load().iter().for_each(|index| index.publish());
    }

    /// Rows alive in the newest version, published or not.
    pub fn live_rows(&self) -> u64 {
        self.live_rows.load(Ordering::Relaxed).max(0) as u64
    }

    /// Adds a sealed chunk to the statistics.
    pub(super) fn count(&self, chunk: &Chunk) {
        let counters = counters_of(chunk);
        merge_counters(&mut self.counters.lock(), counters);
    }

    /// Estimates for the planner. Looks at all rows of the growing chunk: not for every activation.
    pub fn statistics(&self) -> TableStatistics {
        let schema = self.schema.load();
        let mut counters = self.counters.lock().clone();
        let chunks = self.chunks.load();
        let is_growing = |chunk: &&Arc<Chunk>| chunk.zones.get().is_none();
        let growing = chunks.chunks().iter().rev().map(|(_, chunk)| chunk).find(is_growing);
        if let Some(growing) = growing {
            merge_counters(&mut counters, counters_of(growing));
        }
        TableStatistics {
            rows: self.live_rows(),
            columns: summarise(&counters, schema.columns.iter().map(|c| c.data_type)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ColumnSlice;
    use super::super::twin::stored_table;
    use super::*;
    use crate::types::DataType;

    #[test]
    fn statistics_follow_the_rows() {
        let (_store, table) = stored_table(&[DataType::Integer, DataType::Text, DataType::Text]);
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
        let (_store, table) = stored_table(&[DataType::Varchar(40), DataType::Varchar(40)]);
        let text = |text: String| Value::Text(text.into());
        let row = |i| vec![text(format!("subject {}", i % 24)), text(format!("title {i}"))];
        let rows: Vec<_> = (0..40_000).map(row).collect();
        for rows in rows.chunks(100) {
            table.insert_rows(rows, Version(1));
        }
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
}
