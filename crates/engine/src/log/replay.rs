//! Applying what the log says to storage.

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::fault::corrupted;
use super::reader::Record;
use super::{Decoder, Entries, Operation};
use crate::env::in_parallel;
use crate::storage::{Store, Table};
use crate::types::{ColumnId, Definition, Error, Result, RowId, SqlState, TableId, Value, Version};

/// Changes of rows are collected up to this many bytes of log before they are applied.
const COLLECTED: usize = 64 << 20;

/// Changes a definition in storage; checked before. Only building an index over present rows can fail.
pub(crate) fn apply_definition(
    store: &Store,
    entries: &Entries,
    definition: &Definition,
    version: Version,
) -> Result<()> {
    match definition {
        Definition::CreateTable(schema) => drop(store.create_table(schema.clone())),
        Definition::DropTable(table) => drop_table(store, *table),
        Definition::AlterTable(schema) => {
            if let Some(table) = store.table(schema.id) {
                table.alter(schema.clone());
            }
        }
        Definition::CreateIndex { table, index } => {
            if let Some(table) = store.table(*table) {
                table.create_index(index.clone())?;
            }
        }
        Definition::DropIndex { table, index } => {
            if let Some(table) = store.table(*table) {
                table.drop_index(*index);
            }
        }
        Definition::Truncate { tables, restart_identity } => {
            for table in tables {
                truncate(store, *table, *restart_identity, version);
            }
        }
        Definition::CreateSequence(schema) => drop(store.create_sequence(schema.clone())),
        Definition::DropSequence(sequence) => store.drop_sequence(*sequence),
        Definition::PutEntry { key, value } => entries.put(key, value.as_deref()),
    }
    Ok(())
}

fn drop_table(store: &Store, table: TableId) {
    store.drop_table(table);
    for sequence in store.sequences() {
        if sequence.schema().owner.is_some_and(|(owner, _)| owner == table) {
            store.drop_sequence(sequence.schema().id);
        }
    }
}

fn truncate(store: &Store, id: TableId, restart_identity: bool, version: Version) {
    let Some(table) = store.table(id) else { return };
    table.truncate(version);
    for sequence in store.sequences().iter().filter(|_| restart_identity) {
        if sequence.schema().owner.is_some_and(|(owner, _)| owner == id) {
            sequence.restart();
        }
    }
}

/// Collects changes of rows per table and applies tables in parallel; a change of a definition waits for all
/// changes before it.
pub(super) struct Replay<'a> {
    store: &'a Arc<Store>,
    entries: &'a Entries,
    workers: usize,
    waiting: HashMap<TableId, Vec<RowChange>, RandomState>,
    collected: usize,
}

struct RowChange {
    version: Version,
    operation: Operation,
}

impl<'a> Replay<'a> {
    pub fn new(store: &'a Arc<Store>, entries: &'a Entries, workers: usize) -> Replay<'a> {
        Replay { store, entries, workers, waiting: HashMap::default(), collected: 0 }
    }

    /// Takes the next record.
    pub fn record(&mut self, record: &Record) -> Result<()> {
        let damaged = || corrupted(&record.file, record.position, "malformed record");
        let mut from = Decoder::new(&record.payload);
        while !from.is_empty() {
            let operation = from.operation().map_err(|_| damaged())?;
            self.operation(operation, record.version)
                .map_err(|e| e.detail(format!("Replaying {}:{}.", record.file, record.position)))?;
        }
        self.collected += record.payload.len();
        if self.collected > COLLECTED { self.flush() } else { Ok(()) }
    }

    fn operation(&mut self, operation: Operation, version: Version) -> Result<()> {
        match operation {
            Operation::Define(definition) => {
                self.flush()?;
                apply_definition(self.store, self.entries, &definition, version)
            }
            Operation::Reserve { sequence, last, called } => match self.store.sequence(sequence) {
                Some(sequence) => sequence.set(last, called),
                None => Ok(()),
            },
            Operation::Insert { table, .. }
            | Operation::Update { table, .. }
            | Operation::Delete { table, .. } => {
                self.waiting.entry(table).or_default().push(RowChange { version, operation });
                Ok(())
            }
        }
    }

    /// Applies what was collected.
    pub fn flush(&mut self) -> Result<()> {
        self.collected = 0;
        let waiting: Vec<_> = self.waiting.drain().collect();
        let store = self.store;
        in_parallel(self.workers, &waiting, |(table, changes)| replay_table(store, *table, changes))
            .into_iter()
            .collect()
    }
}

fn replay_table(store: &Store, id: TableId, changes: &[RowChange]) -> Result<()> {
    let table = store.table(id).ok_or_else(|| inconsistent(id, "there is no such table"))?;
    changes.iter().try_for_each(|change| replay_change(&table, change))
}

fn replay_change(table: &Arc<Table>, change: &RowChange) -> Result<()> {
    match &change.operation {
        Operation::Insert { id, row, .. } => {
            table.insert_with_id(*id, row, change.version);
            Ok(())
        }
        Operation::Update { id, columns, .. } => {
            let row = patched(table, *id, columns, change.version)?;
            table.update(*id, &row, change.version);
            Ok(())
        }
        Operation::Delete { id, .. } => {
            newest_row(table, *id, change.version)?;
            table.delete(*id, change.version);
            Ok(())
        }
        Operation::Define(_) | Operation::Reserve { .. } => unreachable!("sorted out before"),
    }
}

fn patched(
    table: &Arc<Table>,
    id: RowId,
    columns: &[(ColumnId, Value)],
    version: Version,
) -> Result<Vec<Value>> {
    let mut row = newest_row(table, id, version)?;
    for (column, value) in columns {
        let cell = row
            .get_mut(column.index())
            .ok_or_else(|| inconsistent(table.schema().id, "there is no such column"))?;
        *cell = value.clone();
    }
    Ok(row)
}

fn newest_row(table: &Arc<Table>, id: RowId, version: Version) -> Result<Vec<Value>> {
    let view = table.view(version);
    match view.resolve(id) {
        Some(location) => Ok(view.row(location)),
        None => Err(inconsistent(table.schema().id, "there is no such row")),
    }
}

fn inconsistent(table: TableId, what: &str) -> Error {
    let message = format!("the log does not fit the data: {what} in table {table}");
    Error::new(SqlState::DataCorrupted, message)
}
