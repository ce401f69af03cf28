//! All tables and sequences, the published version and who pins which snapshot.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;

use super::snapshot::SnapshotRegistry;
use super::{Sequence, Snapshot, Table};
use crate::types::{RowCompiler, SequenceId, SequenceSchema, TableId, TableSchema, Version};

/// Everything that is stored.
#[derive(Debug)]
pub struct Store {
    segments: usize,
    snapshots: Arc<SnapshotRegistry>,
    tables: ArcSwap<BTreeMap<TableId, Arc<Table>>>,
    sequences: ArcSwap<BTreeMap<SequenceId, Arc<Sequence>>>,
    /// Counts calls of [`Store::reclaim`].
    turn: AtomicUsize,
    row_compiler: Arc<OnceLock<Arc<dyn RowCompiler>>>,
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
            turn: AtomicUsize::new(0),
            row_compiler: Arc::default(),
        })
    }

    /// Who compiles what tables demand of their rows; the first who is named.
    pub fn compile_rows_by(&self, compiler: Arc<dyn RowCompiler>) {
        let _ = self.row_compiler.set(compiler);
    }

    /// Where it will be once it is named.
    pub fn row_compiler(&self) -> Arc<OnceLock<Arc<dyn RowCompiler>>> {
        self.row_compiler.clone()
    }

    /// Segments per table.
    pub fn segments(&self) -> usize {
        self.segments
    }

    /// Adds an empty table. The id must be new.
    pub fn create_table(&self, schema: TableSchema) -> Arc<Table> {
        let (id, table) = (schema.id, self.unattached_table(schema));
        self.tables.rcu(|tables| {
            let mut tables = BTreeMap::clone(tables);
            assert!(tables.insert(id, table.clone()).is_none(), "table id {id} is new");
            tables
        });
        table
    }

    /// An empty table that nobody finds; see [`Self::replace_table`].
    pub fn unattached_table(&self, schema: TableSchema) -> Arc<Table> {
        Arc::new(Table::new(schema, self.snapshots.clone()))
    }

    /// Puts a table in the place of another one: foreign keys on that one and sequences that it owns go to the new
    /// one. Readers that hold the old table keep it alive; what the new one holds begins at `version`.
    pub fn replace_table(&self, old: TableId, new: &Arc<Table>, version: Version) {
        let id = new.schema().id;
        new.oldest_version.store(version.0, Ordering::Relaxed);
        for table in self.tables() {
            let mut schema = TableSchema::clone(&table.schema());
            if schema.id != old && schema.repoint_keys(old, id) {
                table.alter(schema);
            }
        }
        for sequence in self.sequences() {
            let schema = sequence.schema();
            if let Some((_, column)) = schema.owner.filter(|(owner, _)| *owner == old) {
                let owner = Some((id, column));
                sequence.alter(SequenceSchema { owner, ..SequenceSchema::clone(&schema) });
            }
        }
        self.tables.rcu(|tables| {
            let mut tables = BTreeMap::clone(tables);
            tables.remove(&old);
            assert!(tables.insert(id, new.clone()).is_none(), "table id {id} is new");
            tables
        });
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

    /// Makes all versions up to `version` visible to new snapshots. Only the write heartbeat calls
    /// this, and only when `version` is durable.
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

    /// Reclaims what no snapshot sees: prunes index entries, moves live rows out of mostly dead
    /// chunks (as versions of `version`), drops dead chunks. Does at most about `budget_rows` rows
    /// of work. Called by the writer between heartbeats.
    pub fn reclaim(&self, version: Version, budget_rows: usize) {
        assert!(version > self.published(), "rows are moved as versions that nobody sees yet");
        let oldest = self.oldest_snapshot();
        let mut budget = budget_rows;
        // Another table is first each time, so that one busy table does not take every budget.
        let tables = self.tables.load();
        let first = self.turn.fetch_add(1, Ordering::Relaxed) % tables.len().max(1);
        for table in tables.values().cycle().skip(first).take(tables.len()) {
            table.reclaim(oldest, version, &mut budget);
        }
    }

    /// Tables that are to be counted anew, each once.
    pub fn miscounted(&self) -> Vec<Arc<Table>> {
        self.tables.load().values().filter(|table| table.wants_recount()).cloned().collect()
    }

    /// Bytes held by tables, dictionaries and indexes.
    pub fn memory(&self) -> usize {
        self.tables.load().values().map(|table| table.memory()).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::super::twin::{index_schema, table_schema};
    use super::*;
    use crate::types::{ColumnId, DataType, IndexId, IndexKind, RowId, Value, ValueRef};

    const ACCOUNTS: i64 = 600;
    const BALANCE: i64 = 1_000;

    fn account(id: i64, balance: i64) -> Vec<Value> {
        let name = format!("account number {id} with {balance}");
        vec![Value::Integer(id as i32), Value::BigInt(balance), Value::Text(name.into())]
    }

    /// Sum, count and spot checks by key of what a fresh snapshot sees.
    fn read(store: &Arc<Store>, table: &Arc<Table>, probe: i64) {
        let snapshot = store.snapshot();
        let view = table.view(snapshot.version());
        let (mut sum, mut count, mut offsets) = (0, 0, Vec::new());
        for (_, chunk) in view.chunks() {
            let rows = chunk.rows() as u32;
            offsets.clear();
            chunk.visible(view.version(), 0..rows, &mut offsets);
            for offset in &offsets {
                let ValueRef::BigInt(balance) = chunk.cell(ColumnId(1), *offset) else {
                    panic!("a balance is a bigint")
                };
                sum += balance;
                count += 1;
            }
        }
        assert_eq!((count, sum), (ACCOUNTS, ACCOUNTS * BALANCE), "at {}", view.version());
        let (index, mut out) = (table.index(IndexId(0)).expect("the key"), Vec::new());
        view.probe(&index, &[ValueRef::Integer(probe as i32)], &mut out);
        let [location] = out[..] else { panic!("{} accounts {probe}", out.len()) };
        let row = view.row(location);
        let Value::BigInt(balance) = row[1] else { panic!("a balance is a bigint") };
        assert_eq!(row, account(probe, balance));
        let (index, mut out) = (table.index(IndexId(1)).expect("by balance"), Vec::new());
        view.probe(&index, &[ValueRef::BigInt(balance)], &mut out);
        assert!(out.contains(&location));
    }

    #[test]
    fn readers_see_whole_transactions_while_a_writer_works() {
        let store = Store::new(2);
        let types = [DataType::Integer, DataType::BigInt, DataType::Text];
        let indexes = vec![
            index_schema(0, &[0], IndexKind::Ordered, true),
            index_schema(1, &[1], IndexKind::Ordered, false),
        ];
        let table = store.create_table(table_schema(&types, indexes));
        let rows: Vec<_> = (0..ACCOUNTS).map(|id| account(id, BALANCE)).collect();
        table.insert_rows(&rows, Version(1));
        store.publish(Version(1));
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for reader in 1..3 {
                let (store, table, done) = (&store, &table, &done);
                scope.spawn(move || {
                    let mut probe = 0;
                    while !done.load(Ordering::Relaxed) {
                        probe = (probe + 37 * reader) % ACCOUNTS;
                        read(store, table, probe);
                    }
                });
            }
            transfer(&store, &table);
            done.store(true, Ordering::Relaxed);
        });
        assert!(table.memory() < 1 << 22, "{}", table.memory());
    }

    /// Moves money between accounts, deletes and inserts some, reclaims.
    fn transfer(store: &Arc<Store>, table: &Arc<Table>) {
        let mut rows: Vec<(RowId, i64)> =
            (0..ACCOUNTS).map(|id| (RowId(id as u64), BALANCE)).collect();
        for version in 2..4_000u64 {
            let (from, to) =
                (version as usize * 7 % rows.len(), version as usize * 13 % rows.len());
            if from != to {
                rows[from].1 -= version as i64 % 10;
                rows[to].1 += version as i64 % 10;
                for at in [from, to] {
                    let (id, balance) = rows[at];
                    table.update(id, &account(at as i64, balance), Version(version));
                }
            }
            let again = version as usize * 17 % rows.len();
            table.delete(rows[again].0, Version(version));
            rows[again].0 = table.insert(&account(again as i64, rows[again].1), Version(version));
            store.publish(Version(version));
            store.reclaim(Version(version + 1), 50);
        }
    }

    #[test]
    fn tables_and_sequences_are_found_until_they_are_dropped() {
        let store = Store::new(2);
        let table = store.create_table(table_schema(&[DataType::Integer], Vec::new()));
        table.insert(&[Value::Integer(1)], Version(1));
        assert_eq!(store.tables().len(), 1);
        assert!(store.memory() > 0);
        store.drop_table(TableId(1));
        assert!(store.table(TableId(1)).is_none());
        assert_eq!(table.statistics().rows, 1);
    }
}
