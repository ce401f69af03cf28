//! Chunks whose row versions nobody sees any more.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::chunk::{MOVED, pack};
use super::chunk_list::ChunkList;
use super::chunk_writer::RowSource;
use super::table_writer::TableWriter;
use super::{Chunk, Index, Table};
use crate::types::{ChunkId, ColumnId, Location, RowId, TableSchema, ValueRef, Version};

/// Candidates looked at per call: while an old snapshot is pinned there may be many that must wait.
const LOOKED_AT: usize = 64;

/// A chunk that is mostly or wholly dead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub chunk: ChunkId,
    /// Rows before this are forgotten already.
    pub forgotten: u32,
}

/// A row version that ended and took a key, or its whole row, with it: once nobody sees it, index
/// entries go, long before its chunk does. A key that is inserted and deleted all the time stays
/// fast to find.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outdated {
    pub location: Location,
    pub end: Version,
}

impl Table {
    /// Writer: forgets what nobody sees at `oldest` and later, drops dead chunks, and moves the
    /// last rows out of those that are mostly so, as versions of `version`. Takes the rows that it
    /// looked at from `budget`.
    pub(super) fn reclaim(&self, oldest: Version, version: Version, budget: &mut usize) {
        let mut writer = self.writer.lock();
        if writer.outdated.is_empty() && writer.candidates.is_empty() {
            return;
        }
        let chunks = self.chunks.load_full();
        self.forget_outdated(&mut writer, &chunks, oldest, budget);
        self.drop_chunks(&mut writer, &chunks, oldest, version, budget);
        if let Some(pruned) = self.rows.load().pruned(writer.row_to_come()) {
            self.rows.store(Arc::new(pruned));
        }
    }

    fn forget_outdated(
        &self,
        writer: &mut TableWriter,
        chunks: &ChunkList,
        oldest: Version,
        budget: &mut usize,
    ) {
        while let Some(outdated) = writer.outdated.front().copied()
            && outdated.end <= oldest
            && *budget > 0
        {
            writer.outdated.pop_front();
            *budget -= 1;
            let chunk = chunks.get(outdated.location.chunk);
            let chunk = chunk.expect("chunks go after the rows that ended in them are forgotten");
            self.forget(chunks, chunk, outdated.location, oldest);
        }
    }

    fn drop_chunks(
        &self,
        writer: &mut TableWriter,
        chunks: &ChunkList,
        oldest: Version,
        version: Version,
        budget: &mut usize,
    ) {
        let mut dropped = Vec::new();
        // What ended later, or did not fit the budget, is not forgotten yet.
        let not_forgotten = writer.outdated.front().map_or(Version::INFINITY, |first| first.end);
        for _ in 0..writer.candidates.len().min(LOOKED_AT) {
            let Some(mut candidate) = writer.candidates.pop_front() else { break };
            let chunk = chunks.get(candidate.chunk).expect("a candidate is stored");
            let is_truncated = chunk.lives.end_all.load(Ordering::Relaxed) != u64::MAX;
            if !chunk.is_dead(oldest) {
                if !is_truncated {
                    self.move_rows(writer, chunk, version, budget);
                }
            } else if not_forgotten.0 > chunk.lives.max_end.load(Ordering::Relaxed) {
                if is_truncated {
                    self.forget_rows(chunks, chunk, &mut candidate, oldest, budget);
                } else {
                    candidate.forgotten = chunk.rows() as u32;
                }
            }
            match candidate.forgotten as usize == chunk.rows() {
                true => dropped.push(chunk.id),
                false => writer.candidates.push_back(candidate),
            }
        }
        if !dropped.is_empty() {
            let kept = self.chunks.load().without(|chunk| dropped.contains(&chunk.id));
            self.chunks.store(Arc::new(kept));
        }
    }

    /// Forgets the rows of a truncated chunk: they did not end one by one.
    fn forget_rows(
        &self,
        chunks: &ChunkList,
        chunk: &Chunk,
        candidate: &mut Candidate,
        oldest: Version,
        budget: &mut usize,
    ) {
        while (candidate.forgotten as usize) < chunk.rows() && *budget > 0 {
            let here = Location { chunk: chunk.id, offset: candidate.forgotten };
            candidate.forgotten += 1;
            *budget -= 1;
            self.forget(chunks, chunk, here, oldest);
        }
    }

    /// Removes what refers to a dead version: index entries that no visible version of the row
    /// needs, and the row itself if this was its last version.
    fn forget(&self, chunks: &ChunkList, chunk: &Chunk, here: Location, oldest: Version) {
        let (rows, indexes) = (self.rows.load(), self.indexes.load());
        let id = chunk.row_id(here.offset);
        let newest = rows.get(id);
        if newest == here {
            rows.set(id, Location::NONE);
        }
        for index in indexes.iter().filter(|index| newest == here || index.must_compare()) {
            let key = index.encoding.row_key(|column| chunk.cell(column, here.offset));
            let kept = newest != here && has_key_since(chunks, index, newest, key.bytes(), oldest);
            if !kept {
                index.remove(&key, id.0);
            }
        }
    }

    /// Moves rows that are not ended out of a mostly dead chunk.
    fn move_rows(
        &self,
        writer: &mut TableWriter,
        chunk: &Arc<Chunk>,
        version: Version,
        budget: &mut usize,
    ) {
        if chunk.lives.ended.load(Ordering::Relaxed) as usize == chunk.rows() {
            return;
        }
        let schema = self.schema.load();
        let alive = |offset: &u32| chunk.lives.end(*offset as usize) == u64::MAX;
        for offset in (0..chunk.rows() as u32).filter(alive) {
            if *budget == 0 {
                return;
            }
            *budget -= 1;
            self.move_row(writer, MovedRow { schema: &schema, chunk, offset }, version);
        }
    }

    fn move_row(&self, writer: &mut TableWriter, row: MovedRow<'_>, version: Version) {
        let here = Location { chunk: row.chunk.id, offset: row.offset };
        writer.end(row.chunk, here, version);
        writer.append(self, &row, version, pack(here) | MOVED, |_, there| {
            self.set_newest(row.id(0), there);
        });
    }
}

/// One row of a mostly dead chunk.
struct MovedRow<'a> {
    schema: &'a TableSchema,
    chunk: &'a Chunk,
    offset: u32,
}

impl<'a> RowSource<'a> for MovedRow<'a> {
    fn count(&self) -> usize {
        1
    }

    fn value(&self, _row: usize, column: usize) -> ValueRef<'a> {
        match self.schema.columns[column].dropped {
            true => ValueRef::Null,
            false => self.chunk.cell(ColumnId(column as u32), self.offset),
        }
    }

    fn id(&self, _row: usize) -> RowId {
        self.chunk.row_id(self.offset)
    }
}

/// Whether a version of a row that `oldest` or a later snapshot can see has this key.
fn has_key_since(
    chunks: &ChunkList,
    index: &Index,
    newest: Location,
    key: &[u8],
    oldest: Version,
) -> bool {
    let mut at = newest;
    while let Some(chunk) = chunks.get(at.chunk) {
        if index.encoding.row_key(|column| chunk.cell(column, at.offset)).bytes() == key {
            return true;
        }
        if chunk.lives.begin(at.offset as usize) <= oldest.0 {
            return false;
        }
        at = chunk.lives.previous(at.offset as usize).0;
    }
    false
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::twin::{index_schema, table_schema};
    use super::super::{Store, TableView};
    use super::*;
    use crate::types::{DataType, IndexId, IndexKind, Value};

    fn account(id: i32, balance: i64) -> Vec<Value> {
        vec![Value::Integer(id), Value::BigInt(balance), Value::Text(format!("{balance}").into())]
    }

    fn accounts(rows: i32) -> (Arc<Store>, Arc<Table>) {
        let store = Store::new(2);
        let types = [DataType::Integer, DataType::BigInt, DataType::Text];
        let indexes = vec![
            index_schema(0, &[0], IndexKind::Ordered, true),
            index_schema(1, &[1], IndexKind::Ordered, false),
            index_schema(2, &[2], IndexKind::Hash, false),
        ];
        let table = store.create_table(table_schema(&types, indexes));
        let rows: Vec<_> = (0..rows).map(|id| account(id, 0)).collect();
        table.insert_rows(&rows, Version(1));
        store.publish(Version(1));
        (store, table)
    }

    fn versions(view: &TableView) -> usize {
        view.chunks().iter().map(|(_, chunk)| chunk.rows()).sum()
    }

    fn entries(table: &Table, index: u32) -> usize {
        table.index(IndexId(index)).expect("an index of the table").weigh().0
    }

    fn found(table: &Arc<Table>, version: Version, balance: i64) -> usize {
        let (view, mut out) = (table.view(version), Vec::new());
        let index = table.index(IndexId(1)).expect("an index of the table");
        view.probe(&index, &[ValueRef::BigInt(balance)], &mut out);
        out.len()
    }

    #[test]
    fn a_million_updates_of_one_row_stay_bounded() {
        let (store, table) = accounts(1);
        let mut version = Version(1);
        let mut most = (0, 0);
        for update in 1..=1_000_000i64 {
            if update % 50 == 1 {
                version = version.next();
            }
            table.update(RowId(0), &account(0, update), version);
            if update % 50 == 0 {
                store.publish(version);
                store.reclaim(version.next(), 200);
                let view = table.view(version);
                most = (most.0.max(versions(&view)), most.1.max(view.chunks().len()));
            }
        }
        assert!(most.0 <= 1_024 && most.1 <= 4, "{most:?}");
        let memory = table.memory();
        assert!(memory < 1 << 22, "{memory}");
        assert!(entries(&table, 1) <= 1_024 && entries(&table, 2) <= 1_024);
        assert_eq!(entries(&table, 0), 1);
        assert_eq!(found(&table, version, 1_000_000), 1);
        assert_eq!(found(&table, version, 999_999), 0);
    }

    #[test]
    fn a_pinned_snapshot_keeps_what_it_sees_and_no_more() {
        let (store, table) = accounts(1_000);
        let old = store.snapshot();
        for round in 2..200u64 {
            for id in 0..50 {
                table.update(RowId(id), &account(id as i32, round as i64), Version(round));
            }
            store.publish(Version(round));
            store.reclaim(Version(round + 1), 10_000);
        }
        assert_eq!(found(&table, old.version(), 0), 1_000);
        assert_eq!(found(&table, Version(199), 199), 50);
        drop(old);
        store.reclaim(Version(200), usize::MAX);
        store.publish(Version(200));
        store.reclaim(Version(201), usize::MAX);
        let view = table.view(Version(200));
        assert!(versions(&view) < 3_000, "{}", versions(&view));
        assert_eq!(found(&table, Version(200), 199), 50);
        assert_eq!(found(&table, Version(200), 0), 950);
    }

    #[test]
    fn a_queue_leaves_nothing_behind() {
        let (store, table) = accounts(0);
        let mut version = Version(1);
        let mut most = 0;
        for first in (0..200_000).step_by(500) {
            version = version.next();
            let rows: Vec<_> = (first..first + 500).map(|id| account(id, i64::from(id))).collect();
            let id = table.insert_rows(&rows, version);
            (0..500).for_each(|row| table.delete(RowId(id.0 + row), version.next()));
            version = version.next();
            store.publish(version);
            store.reclaim(version.next(), 2_000);
            most = most.max(table.memory());
        }
        assert!(most < 3 << 20, "{most}");
        assert!(entries(&table, 0) <= 2_000, "{}", entries(&table, 0));
        assert_eq!(table.statistics().rows, 0);
    }

    #[test]
    fn a_key_that_comes_and_goes_stays_fast_to_find() {
        let (store, table) = accounts(8_000);
        let mut id = RowId(4_000);
        for version in 2..5_000 {
            table.delete(id, Version(version));
            id = table.insert(&account(4_000, version as i64), Version(version));
            store.publish(Version(version));
            store.reclaim(Version(version + 1), 100);
            assert!((0..3).all(|index| entries(&table, index) <= 8_001));
        }
        assert_eq!(found(&table, Version(4_999), 4_999), 1);
        assert!(table.newest(RowId(4_000)).is_none());
        // An index that comes now has no entries for what is gone.
        let index = index_schema(9, &[0, 1], IndexKind::Ordered, true);
        table.create_index(index).expect("all keys differ");
        assert_eq!(entries(&table, 9), 8_000);
    }

    #[test]
    fn moved_rows_are_no_conflict_for_older_snapshots() {
        let (store, table) = accounts(256);
        let snapshot = store.snapshot();
        (0..250).for_each(|id| table.delete(RowId(id), Version(2)));
        table.insert(&account(1_000, 1), Version(2));
        store.publish(Version(2));
        store.reclaim(Version(3), 1_000);
        store.publish(Version(3));
        let (location, since, until) = table.newest(RowId(255)).expect("a live row");
        assert_eq!((since, until), (Version(1), Version::INFINITY));
        assert_eq!(table.view(Version(3)).resolve(RowId(255)), Some(location));
        assert_ne!(table.view(snapshot.version()).resolve(RowId(255)), Some(location));
        drop(snapshot);
        store.reclaim(Version(4), 1_000);
        let (_, since, _) = table.newest(RowId(255)).expect("a live row");
        assert_eq!(since, Version(3));
        assert_eq!(table.newest(RowId(0)), None);
        assert_eq!(found(&table, Version(3), 0), 6);
    }
}
