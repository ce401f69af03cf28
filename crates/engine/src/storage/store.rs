//! All tables and sequences, the published version and who pins which snapshot.

use std::sync::Arc;

use super::{Sequence, Snapshot, Table};
use crate::types::{SequenceId, SequenceSchema, TableId, TableSchema, Version};

/// Everything that is stored.
#[derive(Debug)]
pub struct Store {}

impl Store {
    /// An empty store whose tables have `segments` segments (one per worker core).
    pub fn new(segments: usize) -> Arc<Store> {
        let _ = segments;
        todo!()
    }

    /// Segments per table.
    pub fn segments(&self) -> usize {
        todo!()
    }

    /// Adds an empty table. The id must be new.
    pub fn create_table(&self, schema: TableSchema) -> Arc<Table> {
        let _ = schema;
        todo!()
    }

    /// Forgets a table; readers that hold it keep it alive.
    pub fn drop_table(&self, table: TableId) {
        let _ = table;
        todo!()
    }

    /// A table. Lock-free.
    pub fn table(&self, table: TableId) -> Option<Arc<Table>> {
        let _ = table;
        todo!()
    }

    /// All tables, by id.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        todo!()
    }

    /// Adds a sequence.
    pub fn create_sequence(&self, schema: SequenceSchema) -> Arc<Sequence> {
        let _ = schema;
        todo!()
    }

    /// Forgets a sequence.
    pub fn drop_sequence(&self, sequence: SequenceId) {
        let _ = sequence;
        todo!()
    }

    /// A sequence.
    pub fn sequence(&self, sequence: SequenceId) -> Option<Arc<Sequence>> {
        let _ = sequence;
        todo!()
    }

    /// All sequences, by id.
    pub fn sequences(&self) -> Vec<Arc<Sequence>> {
        todo!()
    }

    /// The newest published version.
    pub fn published(&self) -> Version {
        todo!()
    }

    /// Makes all versions up to `version` visible to new snapshots. Only the write heartbeat calls this, and
    /// only when `version` is durable.
    pub fn publish(&self, version: Version) {
        let _ = version;
        todo!()
    }

    /// Pins the newest published version.
    pub fn snapshot(self: &Arc<Self>) -> Snapshot {
        todo!()
    }

    /// No snapshot older than this is pinned or ever will be.
    pub fn oldest_snapshot(&self) -> Version {
        todo!()
    }

    /// Reclaims what no snapshot sees: prunes index entries, moves live rows out of mostly dead chunks (as
    /// versions of `version`), drops dead chunks. Does at most about `budget_rows` rows of work. Called by the
    /// writer between heartbeats.
    pub fn reclaim(&self, version: Version, budget_rows: usize) {
        let _ = (version, budget_rows);
        todo!()
    }

    /// Bytes held by tables, dictionaries and indexes.
    pub fn memory(&self) -> usize {
        todo!()
    }
}
