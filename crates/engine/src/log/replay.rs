//! Applying what the log says to storage.

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::fault::corrupted;
use super::reader::Record;
use super::{Decoder, Entries, Operation};
use crate::env::in_parallel;
use crate::storage::{CHUNK_ROWS, Store, Table};
use crate::types::{
    ChunkId, ColumnId, Definition, Error, Result, RowBlock, RowId, SqlState, TableId, Value,
    Version,
};

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
        Definition::ReplaceTable { table, by } => {
            store.replace_table(*table, &store.unattached_table(by.clone()), version);
        }
        Definition::AlterSequence(schema) => {
            if let Some(sequence) = store.sequence(schema.id) {
                sequence.alter(schema.clone());
            }
        }
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
                apply_definition(self.store, self.entries, &definition, version)?;
                if let Definition::CreateTable(schema)
                | Definition::ReplaceTable { by: schema, .. } = &definition
                {
                    self.store.table(schema.id).expect("created just before").defer_indexes();
                }
                Ok(())
            }
            Operation::Reserve { sequence, last, called } => match self.store.sequence(sequence) {
                Some(sequence) => sequence.set(last, called),
                None => Ok(()),
            },
            Operation::Insert { table, .. }
            | Operation::InsertBlock { table, .. }
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
    let mut rest = changes;
    while let Some(first) = rest.first() {
        let inserts = rest.iter().map_while(RowChange::new_row).take(CHUNK_ROWS);
        let (ids, rows): (Vec<RowId>, Vec<&[Value]>) = inserts.unzip();
        match ids.is_empty() {
            true => replay_change(&table, first)?,
            // Nobody remembers an older version: the rows may as well have come together.
            false => drop(restore(&table, &ids, &block_of(&table, &rows)?, first.version)?),
        }
        rest = &rest[ids.len().max(1)..];
    }
    Ok(())
}

impl RowChange {
    fn new_row(&self) -> Option<(RowId, &[Value])> {
        match &self.operation {
            Operation::Insert { id, row, .. } => Some((*id, row)),
            _ => None,
        }
    }
}

fn block_of(table: &Table, rows: &[&[Value]]) -> Result<RowBlock> {
    let schema = table.schema();
    let fits = |row: &&[Value]| row.len() == schema.columns.len();
    match rows.iter().all(fits) {
        true => Ok(RowBlock::from_rows(&schema, rows)),
        false => Err(inconsistent(schema.id, "a row has other columns")),
    }
}

/// Stores rows with given ids; the chunk that many become.
pub(super) fn restore(
    table: &Table,
    ids: &[RowId],
    block: &RowBlock,
    version: Version,
) -> Result<Option<ChunkId>> {
    let schema = table.schema();
    if !block.is_of(&schema) {
        return Err(inconsistent(schema.id, "rows have other columns"));
    }
    Ok(table.restore(ids, block, version))
}

fn replay_change(table: &Arc<Table>, change: &RowChange) -> Result<()> {
    match &change.operation {
        Operation::InsertBlock { first, block, .. } => {
            let ids: Vec<RowId> = (first.0..first.0 + block.rows() as u64).map(RowId).collect();
            restore(table, &ids, block, change.version).map(drop)
        }
        Operation::Update { id, columns, .. } => {
            let row = patched(table, *id, columns)?;
            table.update(*id, &row, change.version);
            Ok(())
        }
        Operation::Delete { id, .. } => {
            newest_row(table, *id)?;
            table.delete(*id, change.version);
            Ok(())
        }
        Operation::Insert { .. } | Operation::Define(_) | Operation::Reserve { .. } => {
            unreachable!("sorted out before")
        }
    }
}

fn patched(table: &Table, id: RowId, columns: &[(ColumnId, Value)]) -> Result<Vec<Value>> {
    let mut row = newest_row(table, id)?;
    for (column, value) in columns {
        let cell = row
            .get_mut(column.index())
            .ok_or_else(|| inconsistent(table.schema().id, "there is no such column"))?;
        *cell = value.clone();
    }
    Ok(row)
}

fn newest_row(table: &Table, id: RowId) -> Result<Vec<Value>> {
    let row = table.newest_row(id);
    row.ok_or_else(|| inconsistent(table.schema().id, "there is no such row"))
}

fn inconsistent(table: TableId, what: &str) -> Error {
    let message = format!("the log does not fit the data: {what} in table {table}");
    Error::new(SqlState::DataCorrupted, message)
}
