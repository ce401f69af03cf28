//! Rows in bulk as one write: COPY, INSERT of many rows.
//!
//! Whoever loads checks the rows, fills chunks, sorts keys and encodes the log's part on a thread of its own, block
//! by block. What is left for the write heartbeat is what only it can do: keys against stored rows, the place in
//! the log, attaching. All rows come in one record and become visible together.

use std::sync::Arc;

use super::block::TurnLocks;
use super::insert::{narrow, new_row, next_value};
use super::room::ENTRY_BYTES;
use super::statement::check_now_and_then;
use super::turn::{Fate, Window, Writer};
use super::{Seen, Shared, Step, WriteHeartbeat};
use crate::env::memory::{Reservation, Share};
use crate::heartbeat::{Drawn, WriteOutcome};
use crate::log::Encoder;
use crate::plan::{InsertPlan, InsertSource, WriteAction, WritePlan};
use crate::storage::{CHUNK_ROWS, Load};
use crate::transaction::{
    LockKey, LockMode, Mode, Owner, Parameters, Relation, Relations, RowLocks, Workspace, WriteSet,
    check_block, check_loaded_parents, check_row, definition_changed, duplicate_key,
};
use crate::types::{
    DataType, Error, Result, RowBlock, RowRules, SequenceId, TableId, TableSchema, Value, ValueRef,
};

/// What a load goes into, and how its faults are told.
pub struct LoadPlan {
    /// The table.
    pub table: TableId,
    /// Its CHECK constraints.
    pub rules: RowRules,
    /// Where a row came from, by its number (from 0): the CONTEXT line of a fault in it.
    pub context: Option<Box<dyn Fn(u64) -> String + Send + Sync>>,
}

impl std::fmt::Debug for LoadPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadPlan").field("table", &self.table).finish_non_exhaustive()
    }
}

impl LoadPlan {
    /// A fault of a row, with where it came from.
    fn told(&self, error: Error, row: u64) -> Error {
        match &self.context {
            Some(context) => error.context(context(row)),
            None => error,
        }
    }
}

/// New rows of one table on their way in. Dropped, it leaves nothing.
#[derive(Debug)]
pub struct BulkLoad {
    plan: Arc<LoadPlan>,
    relation: Arc<Relation>,
    rows: Load,
    /// The log's part; `None` where nothing is kept.
    record: Option<Encoder>,
    /// Threads that may sort keys.
    workers: usize,
    held: Reservation,
    drawn: Drawn,
}

impl BulkLoad {
    /// The table's definition, of which the rows are.
    pub fn schema(&self) -> &Arc<TableSchema> {
        self.rows.schema()
    }

    /// Fills in what is generated, checks and takes rows, at most [`CHUNK_ROWS`].
    pub fn append(&mut self, block: &mut RowBlock) -> Result<()> {
        if !block.is_of(self.rows.schema()) {
            return Err(definition_changed());
        }
        let before = self.rows.rows() as u64;
        check_block(&self.relation, block, &self.plan.rules)
            .map_err(|(row, error)| self.plan.told(error, before + row as u64))?;
        let first = self.rows.append(block);
        if let Some(record) = &mut self.record {
            record.insert_block(self.plan.table, first, block);
        }
        let record = self.record.as_ref().map_or(0, |record| record.bytes.capacity());
        self.held.grow_to(self.bytes() + record)
    }

    /// About what the rows will take in their table.
    fn bytes(&self) -> usize {
        self.rows.memory() + self.rows.rows() * ENTRY_BYTES * self.relation.indexes.len()
    }

    /// No row follows: sorts the keys. 23505 where two of the rows have the same.
    fn finish(&mut self) -> Result<()> {
        match self.rows.sort(self.workers) {
            Some((index, row)) => Err(self.duplicate(&index, row)),
            None => Ok(()),
        }
    }

    fn duplicate(&self, index: &crate::storage::Index, row: usize) -> Error {
        let (columns, values) = (index.schema().columns.iter(), self.rows.row(row));
        let key: Vec<ValueRef<'_>> = columns.map(|column| values.cell(*column)).collect();
        self.plan.told(duplicate_key(&self.relation, index, &key), row as u64)
    }

    /// Writer: whether the rows may come as the store is now.
    fn check(&self, workspace: &mut Workspace<'_>) -> Result<()> {
        let relation = workspace.relation(self.plan.table)?;
        let (before, now) = (self.rows.schema(), &relation.schema);
        if before.columns != now.columns || before.checks != now.checks {
            return Err(definition_changed());
        }
        if let Some((index, row)) = self.rows.first_stored() {
            return Err(self.duplicate(&index, row));
        }
        check_loaded_parents(workspace, &relation, &self.rows)
            .map_err(|(row, error)| self.plan.told(error, row as u64))
    }

    /// A key of its rows that a block has made or taken away.
    fn busy_key(&self, shared: &Shared, owner: Option<&Owner>) -> Option<(LockKey, Mode)> {
        if !shared.locks.any() {
            return None;
        }
        let locked = shared.locks.keys_of(owner.map(Owner::group), self.plan.table).into_iter();
        let mut of_rows = locked.filter(|lock| match lock {
            LockKey::Key(_, index, key) => self.rows.has_kept_key(*index, key),
            _ => false,
        });
        of_rows.next().map(|lock| (lock, LockMode::Update.into()))
    }

    pub(super) fn rows(&self) -> usize {
        self.rows.rows()
    }
}

impl WriteHeartbeat {
    /// See [`crate::heartbeat::Engine::begin_load`].
    pub fn begin_load(&self, plan: Arc<LoadPlan>) -> Result<BulkLoad> {
        let shared = &*self.shared;
        let relation = shared.relations.load().get(plan.table)?.clone();
        let rows = Load::new(&relation.table);
        let record = shared.data.is_some().then(Encoder::default);
        let (workers, held) = (shared.store.segments(), Reservation::new(Share::Loads));
        let drawn = Drawn::default();
        Ok(BulkLoad { plan, relation, rows, record, workers, held, drawn })
    }

    /// See [`crate::heartbeat::Engine::load_in_transaction`].
    pub fn load_in_transaction(
        &self,
        plan: &LoadPlan,
        block: &mut RowBlock,
        before: u64,
        seen: &mut Seen,
        set: &mut WriteSet,
    ) -> Result<Step<()>> {
        let relations = self.shared.relations.load();
        let relation = relations.get(plan.table)?;
        if !block.is_of(&relation.schema) {
            return Err(definition_changed());
        }
        check_block(relation, block, &plan.rules)
            .map_err(|(row, error)| plan.told(error, before + row as u64))?;
        self.change_in_transaction(seen, set, &mut |set| {
            (0..block.rows()).try_for_each(|row| {
                set.insert(plan.table, block.row(row).into());
                set.make_room()
            })
        })
    }

    /// See [`crate::heartbeat::Engine::insert_in_bulk`].
    pub fn insert_in_bulk(&self, plan: &WritePlan, parameters: &[Value]) -> Result<BulkLoad> {
        let WriteAction::Insert(insert) = &plan.action else {
            panic!("only an INSERT is large: {}", plan.text)
        };
        let (table, rules) = (insert.table, insert.rules.clone());
        let mut load = self.begin_load(Arc::new(LoadPlan { table, rules, context: None }))?;
        let parameters = Parameters { values: parameters, types: &plan.parameters };
        for rows in insert.rows.chunks(CHUNK_ROWS) {
            let relation = load.relation.clone();
            let mut block =
                self.block_of(&relation, insert, (rows, parameters), &mut load.drawn)?;
            load.append(&mut block)?;
        }
        Ok(load)
    }

    fn block_of(
        &self,
        relation: &Relation,
        insert: &InsertPlan,
        (rows, parameters): (&[Vec<InsertSource>], Parameters<'_>),
        drawn: &mut Drawn,
    ) -> Result<RowBlock> {
        let rows = rows.iter().enumerate().map(|(at, sources)| {
            check_now_and_then(at)?;
            let mut row = new_row(&self.shared.store, parameters, relation, sources, drawn)?;
            check_row(relation, &mut row, &insert.rules).map(|()| row)
        });
        let rows: Vec<Vec<Value>> = rows.collect::<Result<_>>()?;
        Ok(RowBlock::from_rows(&relation.schema, &rows))
    }

    /// See [`crate::heartbeat::Engine::next_value`].
    pub fn next_value(&self, sequence: SequenceId, data_type: DataType) -> Result<Value> {
        let mut value = Value::BigInt(next_value(&self.shared.store, sequence)?);
        narrow(&mut value, data_type).map(|()| value)
    }

    /// See [`crate::heartbeat::Engine::load`].
    pub fn load(&self, mut load: BulkLoad, receiver: crate::heartbeat::WriteReceiver) {
        match load.finish() {
            Ok(()) => self.shared.submit(super::Work::Load(Box::new(load)), None, receiver),
            Err(error) => receiver(Err(error)),
        }
    }
}

impl Writer {
    /// Gives a load its place in the log and attaches its rows.
    pub(super) fn load(
        &mut self,
        shared: &Shared,
        load: &mut BulkLoad,
        owner: Option<&Owner>,
        applying: &mut bool,
    ) -> Result<Fate> {
        let relations: arc_swap::Guard<Arc<Relations>> = shared.relations.load();
        let mut locks = TurnLocks::new(shared, owner);
        let looked = shared.locks.any();
        if looked
            && locks.table(&load.relation).is_err()
            && let Some(busy) = locks.busy.take()
        {
            return Ok(Fate::Held(busy));
        }
        let looks: Option<&mut dyn RowLocks> = looked.then_some(&mut locks as _);
        let checked = load.check(&mut self.newest(&relations).with_locks(looks));
        if let Some(busy) = locks.busy.take().or_else(|| load.busy_key(shared, owner)) {
            return Ok(Fate::Held(busy));
        }
        checked?;
        shared.make_room_for(load.bytes())?;
        let length = self.record.bytes.len();
        let _window = Window::begin(&shared.writing);
        if !looked && shared.locks.any() {
            return Ok(Fate::Full);
        }
        if let Some(busy) = locks.busy_now().or_else(|| load.busy_key(shared, owner)) {
            return Ok(Fate::Held(busy));
        }
        if let Some(record) = &load.record {
            self.record.bytes.extend_from_slice(&record.bytes);
        }
        if !self.has_place(shared, length)? {
            return Ok(Fate::Full);
        }
        let (version, rows) = (self.present(), load.rows() as u64);
        *applying = true;
        shared.note_applied(version);
        load.rows.attach(version);
        *applying = false;
        self.count_changes(load.rows());
        let drawn = std::mem::take(&mut load.drawn);
        Ok(Fate::Done(Ok(WriteOutcome { rows, drawn, ..super::turn::outcome(version) })))
    }
}
