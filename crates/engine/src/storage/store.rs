//! All tables and sequences, the published version and who pins which snapshot.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::snapshot::SnapshotRegistry;
use super::{Sequence, Snapshot, Table};
use crate::types::{SequenceId, SequenceSchema, TableId, TableSchema, Version};

/// Everything that is stored.
#[derive(Debug)]
pub struct Store {
    segments: usize,
    snapshots: Arc<SnapshotRegistry>,
    tables: ArcSwap<BTreeMap<TableId, Arc<Table>>>,
    sequences: ArcSwap<BTreeMap<SequenceId, Arc<Sequence>>>,
}

impl Store {
    /// An empty store whose tables have `segments` segments (one per worker core).
    pub fn new(segments: usize) -> Arc<Store> {
        assert!(segments > 0, "a store has at least one segment");
        Arc::new(Store {
            segments,
            snapshots: Arc::new(SnapshotRegistry::new()),
            tables: ArcSwap::default(),
            sequences: ArcSwap::default(),
        })
    }

    /// Segments per table.
    pub fn segments(&self) -> usize {
        self.segments
    }

    /// Adds an empty table. The id must be new.
    pub fn create_table(&self, schema: TableSchema) -> Arc<Table> {
        let id = schema.id;
        let table = Arc::new(Table::new(schema, self.snapshots.clone()));
        self.tables.rcu(|tables| {
            let mut tables = BTreeMap::clone(tables);
            assert!(tables.insert(id, table.clone()).is_none(), "table id {id} is new");
            tables
        });
        table
    }

    /// Forgets a table; readers that hold it keep it alive.
    pub fn drop_table(&self, table: TableId) {
        self.tables.rcu(|tables| {
            let mut tables = BTreeMap::clone(tables);
            tables.remove(&table);
            tables
        });
    }

    /// A table. Lock-free.
    pub fn table(&self, table: TableId) -> Option<Arc<Table>> {
        self.tables.load().get(&table).cloned()
    }

    /// All tables, by id.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        self.tables.load().values().cloned().collect()
    }

    /// Adds a sequence.
    pub fn create_sequence(&self, schema: SequenceSchema) -> Arc<Sequence> {
        let id = schema.id;
        let sequence = Arc::new(Sequence::new(schema));
        self.sequences.rcu(|sequences| {
            let mut sequences = BTreeMap::clone(sequences);
            assert!(sequences.insert(id, sequence.clone()).is_none(), "sequence id {id} is new");
            sequences
        });
        sequence
    }

    /// Forgets a sequence.
    pub fn drop_sequence(&self, sequence: SequenceId) {
        self.sequences.rcu(|sequences| {
            let mut sequences = BTreeMap::clone(sequences);
            sequences.remove(&sequence);
            sequences
        });
    }

    /// A sequence.
    pub fn sequence(&self, sequence: SequenceId) -> Option<Arc<Sequence>> {
        self.sequences.load().get(&sequence).cloned()
    }

    /// All sequences, by id.
    pub fn sequences(&self) -> Vec<Arc<Sequence>> {
        self.sequences.load().values().cloned().collect()
    }

    /// The newest published version.
    pub fn published(&self) -> Version {
        self.snapshots.published()
    }

    /// Makes all versions up to `version` visible to new snapshots. Only the write heartbeat calls this, and
    /// only when `version` is durable.
    pub fn publish(&self, version: Version) {
        self.tables.load().values().for_each(|table| table.publish_indexes());
        self.snapshots.publish(version);
    }

    /// Pins the newest published version.
    pub fn snapshot(self: &Arc<Self>) -> Snapshot {
        self.snapshots.pin()
    }

    /// No snapshot older than this is pinned or ever will be.
    pub fn oldest_snapshot(&self) -> Version {
        self.snapshots.oldest()
    }

    /// Reclaims what no snapshot sees: prunes index entries, moves live rows out of mostly dead chunks (as
    /// versions of `version`), drops dead chunks. Does at most about `budget_rows` rows of work. Called by the
    /// writer between heartbeats.
    pub fn reclaim(&self, version: Version, budget_rows: usize) {
        assert!(version > self.published(), "rows are moved as versions that nobody sees yet");
        let oldest = self.oldest_snapshot();
        let mut budget = budget_rows;
        for table in self.tables.load().values() {
            table.reclaim(oldest, version, &mut budget);
            if budget == 0 {
                return;
            }
        }
    }

    /// Bytes held by tables, dictionaries and indexes.
    pub fn memory(&self) -> usize {
        self.tables.load().values().map(|table| table.memory()).sum()
    }
}
