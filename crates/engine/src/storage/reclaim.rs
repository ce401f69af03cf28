//! Chunks whose row versions nobody sees any more.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::chunk::{MOVED, pack};
use super::chunk_list::ChunkList;
use super::chunk_writer::RowSource;
use super::table_writer::TableWriter;
use super::{Chunk, Index, Table};
use crate::types::{ColumnId, Location, RowId, TableSchema, ValueRef, Version};

impl Table {
    /// Writer: drops chunks that are dead to `oldest` and later, and moves the last rows out of those that are
    /// mostly so, as versions of `version`. Takes the rows that it looked at from `budget`.
    pub(super) fn reclaim(&self, oldest: Version, version: Version, budget: &mut usize) {
        let mut writer = self.writer.lock();
        let chunks = self.chunks.load_full();
        let mut dropped = Vec::new();
        for id in writer.candidates.clone() {
            if *budget == 0 {
                break;
            }
            let chunk = chunks.get(id).expect("a candidate is stored");
            if chunk.is_dead(oldest) {
                self.forget_rows(&chunks, chunk, oldest);
                dropped.push(id);
                *budget = budget.saturating_sub(chunk.rows());
            } else if chunk.lives.end_all.load(Ordering::Relaxed) == u64::MAX {
                self.move_rows(&mut writer, chunk, version, budget);
            }
        }
        if dropped.is_empty() {
            return;
        }
        writer.candidates.retain(|id| !dropped.contains(id));
        let kept = self.chunks.load().without(|chunk| dropped.contains(&chunk.id));
        self.chunks.store(Arc::new(kept));
        if let Some(pruned) = self.rows.load().pruned(writer.row_to_come()) {
            self.rows.store(Arc::new(pruned));
        }
    }

    /// Removes what refers to the versions of a dead chunk: index entries, and rows that ended here.
    fn forget_rows(&self, chunks: &ChunkList, chunk: &Chunk, oldest: Version) {
        let (rows, indexes) = (self.rows.load(), self.indexes.load());
        for offset in 0..chunk.rows() as u32 {
            let id = chunk.row_id(offset);
            let here = Location { chunk: chunk.id, offset };
            let newest = rows.get(id);
            if newest == here {
                rows.set(id, Location::NONE);
            }
            for index in indexes.iter() {
                if newest != here && !index.must_compare() {
                    continue;
                }
                let key = index.encoding.row_key(|column| chunk.cell(column, offset));
                let kept =
                    newest != here && has_key_since(chunks, index, newest, key.bytes(), oldest);
                if !kept {
                    index.remove(&key, id.0);
                }
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
