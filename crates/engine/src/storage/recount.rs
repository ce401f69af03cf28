//! Counting anew what rows hold that are still there.
//!
//! Counters only grow: values that no row has any more stay in them. Once many rows have ended, or somebody asks for
//! it (ANALYZE), the rows that live are counted anew, chunk by chunk, on any thread but the writer's.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::statistics::{ColumnCounter, counters_of, is_news, merge_counters};
use super::{Chunk, Table};
use crate::types::ChunkId;

/// Rows that may end before a table is counted anew, whatever its size; and as many as this part of its rows more.
const ENDED_AT_LEAST: u64 = 50;
const ENDED_PART: u64 = 5;

/// A count under way.
#[derive(Debug)]
pub struct Recount {
    table: Arc<Table>,
    counters: Vec<ColumnCounter>,
    /// Chunks that were sealed when it began and are not counted yet.
    left: Vec<ChunkId>,
    counted: HashSet<ChunkId>,
    /// Rows that had ended before.
    ended: u64,
}

impl Table {
    /// Whether so many rows have ended that it must be counted anew; says so once until that is done.
    pub fn wants_recount(&self) -> bool {
        let most = ENDED_AT_LEAST + self.live_rows() / ENDED_PART;
        self.ended_since_count.load(Ordering::Relaxed) > most
            && !self.is_recounted.swap(true, Ordering::Relaxed)
    }

    /// How often a recount has found something else than what was known: plans from before are stale.
    pub fn surprises(&self) -> u64 {
        self.surprises.load(Ordering::Relaxed)
    }

    /// Recounts that are done.
    pub(super) fn counts(&self) -> u64 {
        self.counts.load(Ordering::Relaxed)
    }

    /// So many rows are counted wrongly.
    pub(super) fn note_miscounted(&self, rows: usize) {
        self.ended_since_count.fetch_add(rows as u64, Ordering::Relaxed);
    }
}

impl Recount {
    /// Nothing counted yet.
    pub fn new(table: Arc<Table>) -> Recount {
        let ended = table.ended_since_count.load(Ordering::Relaxed);
        let (counters, counted) = (Vec::new(), HashSet::new());
        let mut recount = Recount { table, counters, left: Vec::new(), counted, ended };
        recount.left = recount.uncounted().iter().map(|chunk| chunk.id).collect();
        recount
    }

    /// Counts one more chunk; `false` where none is left.
    pub fn step(&mut self) -> bool {
        let Some(id) = self.left.pop() else { return false };
        // One that is gone meanwhile had no rows that live.
        if let Some(chunk) = self.table.chunks.load().get(id) {
            self.count(chunk);
        }
        true
    }

    /// Puts the new counters in the place of the old ones.
    pub fn finish(mut self) {
        let table = self.table.clone();
        let mut counters = table.counters.lock();
        // Sealed meanwhile: few, since nobody seals while this is locked.
        self.uncounted().iter().for_each(|chunk| self.count(chunk));
        if is_news(&counters, &self.counters) {
            table.surprises.fetch_add(1, Ordering::Relaxed);
        }
        *counters = self.counters;
        table.counts.fetch_add(1, Ordering::Relaxed);
        // Two counts at a time may have begun at the same number.
        let left = |ended: u64| Some(ended.saturating_sub(self.ended));
        let _ = table.ended_since_count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
        table.is_recounted.store(false, Ordering::Relaxed);
    }

    /// Sealed chunks that are not counted yet.
    fn uncounted(&self) -> Vec<Arc<Chunk>> {
        let chunks = self.table.chunks.load();
        let is_new = |(id, chunk): &&(ChunkId, Arc<Chunk>)| {
            chunk.zones.get().is_some() && !self.counted.contains(id)
        };
        chunks.chunks().iter().filter(is_new).map(|(_, chunk)| chunk.clone()).collect()
    }

    fn count(&mut self, chunk: &Chunk) {
        self.counted.insert(chunk.id);
        merge_counters(&mut self.counters, counters_of(chunk));
    }
}

#[cfg(test)]
mod tests {
    use super::super::twin::stored_table;
    use super::*;
    use crate::types::{DataType, RowId, Value, Version};

    const ROWS: u64 = 50_000;

    fn recount(table: &Arc<Table>) {
        let mut recount = Recount::new(table.clone());
        while recount.step() {}
        recount.finish();
    }

    /// Rows (i, i, text of i), in chunks of different sizes.
    fn stored() -> (Arc<super::super::Store>, Arc<Table>) {
        let (store, table) = stored_table(&[DataType::Integer, DataType::Integer, DataType::Text]);
        let row = |i: u64| {
            vec![
                Value::Integer(i as i32),
                Value::Integer(i as i32),
                Value::Text(i.to_string().into()),
            ]
        };
        let rows: Vec<_> = (0..ROWS).map(row).collect();
        for rows in rows.chunks(700) {
            table.insert_rows(rows, Version(1));
        }
        (store, table)
    }

    #[test]
    fn values_that_no_row_has_any_more_are_forgotten() {
        let (_store, table) = stored();
        assert!(!table.wants_recount());
        let same = |i: u64| [Value::Integer(i as i32), Value::Integer(1), Value::Null];
        (0..ROWS).for_each(|i| table.update(RowId(i), &same(i), Version(2)));
        assert!(table.statistics().columns[1].distinct > 10_000.0);
        assert!(table.wants_recount() && !table.wants_recount());
        recount(&table);
        assert_eq!(table.surprises(), 1);
        assert!(!table.wants_recount());
        let statistics = table.statistics();
        let [key, value, text] = &statistics.columns[..] else { panic!("three columns") };
        assert!((key.distinct - ROWS as f64).abs() < 5_000.0, "{}", key.distinct);
        assert_eq!(value.distinct.round(), 1.0);
        assert_eq!((&value.min, &value.max), (&Some(Value::Integer(1)), &Some(Value::Integer(1))));
        assert_eq!((text.distinct, text.null_share), (0.0, 1.0));
    }

    #[test]
    fn what_a_recount_finds_again_makes_no_plan_stale() {
        let (_store, table) = stored();
        (0..1_000).for_each(|id| table.delete(RowId(id), Version(2)));
        recount(&table);
        assert_eq!(table.surprises(), 0);
        assert_eq!(table.statistics().columns[0].min, Some(Value::Integer(1_000)));
        // All but 100.
        (1_000..ROWS - 100).for_each(|id| table.delete(RowId(id), Version(3)));
        recount(&table);
        assert_eq!((table.surprises(), table.statistics().rows), (1, 100));
        let distinct = table.statistics().columns[2].distinct;
        assert!((distinct - 100.0).abs() < 5.0, "{distinct}");
    }

    #[test]
    fn rows_that_come_meanwhile_are_counted() {
        let (_store, table) = stored();
        let mut recount = Recount::new(table.clone());
        recount.step();
        let row = |i: i32| vec![Value::Integer(i), Value::Integer(0), Value::Null];
        let rows: Vec<_> = (0..200_000).map(|i| row(1_000_000 + i)).collect();
        table.insert_rows(&rows, Version(2));
        while recount.step() {}
        recount.finish();
        let distinct = table.statistics().columns[0].distinct;
        assert!((distinct - 250_000.0).abs() < 25_000.0, "{distinct}");
    }
}
