//! The engine's door.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::read::{Ahead, Figures, HeldBack, LoneRun, PathCosts, Reads};
use super::write::{Tuning, WriteHeartbeat};
use super::{
    Answer, BlockStatement, BulkLoad, DefinitionChanges, Exclusion, Ledger, LoadPlan, Promises,
    Receiver, RowLock, Seen, Step, Template,
};
use crate::env::Environment;
use crate::operators::Packing;
use crate::plan::{Explanation, TemplatePlan, WritePlan};
use crate::storage::{Snapshot, Store};
use crate::transaction::{Definition, Isolation, LockMode, Waiting, WriteSet};
use crate::types::{
    DataType, Error, LaneId, Result, RowBlock, RowId, SequenceId, SessionId, SqlState, TableId,
    TemplateId, Value, Version,
};

/// How the engine is set up.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Worker threads for heavy lanes; each is pinned to a core and owns a segment of every table.
    pub workers: usize,
    /// Where the log and the checkpoints lie; `None` keeps nothing.
    pub data: Option<std::path::PathBuf>,
    /// Shared or query at a time, for activations that do not ask for something else.
    pub sharing: Sharing,
    /// Whether star queries are aggregated in packs whose tables fit a core's cache.
    pub packing: Packing,
    /// Star queries that arrive while a pass over their fact table runs join it, instead of waiting for the next one.
    pub boarding: bool,
    /// Activations that may wait in one lane; one more is refused with 53000.
    pub queue_limit: usize,
    /// Bytes that the intermediate results of one batch may take; beyond it queries fail with 53200.
    pub memory_limit: usize,
}

/// Whether an activation shares operators with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// A cost decision per operator and batch, and which of those that wait run together.
    Automatic,
    /// With all that wait and share as well.
    Always,
    /// It runs alone, through the same operators (`--no-sharing`).
    Never,
}

/// Everything below the SQL.
#[derive(Debug)]
pub struct Engine {
    writes: WriteHeartbeat,
    reads: Arc<Reads>,
    ledger: Ledger,
    promises: Promises,
}

/// One request.
pub struct Activation {
    /// What to run.
    pub template: Arc<Template>,
    /// One value per parameter of the template, of its type or NULL.
    pub parameters: Arc<[Value]>,
    /// What to read; `None`: the newest published version when the heartbeat starts.
    pub snapshot: Option<Snapshot>,
    /// Whether it shares; usually what [`Engine::sharing`] says.
    pub sharing: Sharing,
    /// When its answer was promised to be there; where it can be kept, others that have more time come after it.
    pub deadline: Option<Instant>,
    /// Set when whoever submitted it waits no longer (cancelled, timed out, gone), and never cleared: the activation leaves
    /// its batch.
    pub cancelled: Arc<AtomicBool>,
    /// Where the figures of its heartbeat go, before the answer (EXPLAIN ANALYZE); usually nowhere.
    pub figures: Option<Arc<OnceLock<Figures>>>,
    /// Where the answer goes.
    pub receiver: Box<dyn Receiver>,
}

/// What a write did.
#[derive(Debug)]
pub struct WriteOutcome {
    /// The version that made it visible.
    pub version: Version,
    /// Rows inserted, updated or deleted.
    pub rows: u64,
    /// RETURNING's rows.
    pub returning: Option<Answer>,
    /// What it took of sequences.
    pub drawn: Drawn,
    /// Nothing was changed before it in its turn: what it looked through was the version before its own.
    pub is_first: bool,
}

/// The last value that a write took of each sequence, those that it took from last at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawn(Vec<(SequenceId, i64)>);

impl Drawn {
    /// A value more.
    pub fn note(&mut self, sequence: SequenceId, value: i64) {
        self.0.retain(|(known, _)| *known != sequence);
        self.0.push((sequence, value));
    }

    /// Each sequence with its value.
    pub fn iter(&self) -> impl Iterator<Item = (SequenceId, i64)> + '_ {
        self.0.iter().copied()
    }
}

/// Where a write's outcome goes: called once, after the write is durable and visible; must not block.
pub type WriteReceiver = Box<dyn FnOnce(Result<WriteOutcome>) + Send>;

impl Engine {
    /// Opens the data directory (recovering what is there) and starts workers and the write heartbeat.
    pub fn open(options: EngineOptions) -> Result<Arc<Engine>> {
        Engine::open_in(Environment::system(), Tuning::default(), options)
    }

    /// The same in another world: tests let it crash.
    pub fn open_in(
        environment: Environment,
        tuning: Tuning,
        options: EngineOptions,
    ) -> Result<Arc<Engine>> {
        let EngineOptions { workers, data, queue_limit, .. } = &options;
        let data = data.as_deref();
        let writes =
            WriteHeartbeat::open(environment.clone(), data, *workers, *queue_limit, tuning)?;
        let store = writes.store().clone();
        let promises = Promises::new(environment.clock.clone());
        let reads = Reads::start(store, &environment, &options, writes.heavy_work().clone())?;
        Ok(Arc::new(Engine { writes, reads, ledger: Ledger::default(), promises }))
    }

    /// What is stored.
    pub fn store(&self) -> &Arc<Store> {
        self.writes.store()
    }

    /// Bytes that the intermediate results of one batch may take.
    pub fn memory_limit(&self) -> usize {
        self.reads.memory_limit()
    }

    /// Whether activations share that have no reason to do otherwise.
    pub fn sharing(&self) -> Sharing {
        self.reads.sharing()
    }

    /// What verification of answers has found.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// How long answers take, what runs or waits, and what became of promised response times.
    pub fn promises(&self) -> &Promises {
        &self.promises
    }

    /// The outside world, for what runs beside the engine.
    pub fn environment(&self) -> &Environment {
        self.reads.environment()
    }

    /// What runs templates, for the tables about the engine.
    pub(crate) fn reads(&self) -> &Arc<Reads> {
        &self.reads
    }

    /// Merges a template into the global plan. `Err` with 0A000 where the global plan cannot run it: the message
    /// is the reason that EXPLAIN gives, and the caller runs the statement alone.
    pub fn register(&self, plan: TemplatePlan) -> Result<Arc<Template>> {
        self.reads.register(plan)
    }

    /// The template's path through the global plan, for EXPLAIN, with the rows to be expected for an activation with these
    /// parameters (the first ones; others are taken for unknown); with the figures of the heartbeat that ran an activation
    /// of it, for EXPLAIN ANALYZE.
    pub fn explain(
        &self,
        template: &Template,
        parameters: &[Value],
        figures: Option<&Figures>,
    ) -> Explanation {
        self.reads.explain(template, parameters, figures)
    }

    /// Permission to run an activation query at a time, where its lane is idle and that is predicted to be clearly
    /// cheaper than the global plan. `None`: submit it.
    pub fn lone_run(&self, template: &Arc<Template>) -> Option<LoneRun> {
        self.reads.lone_run(template)
    }

    /// What an activation that comes into a lane now has before it; `None` where no batch of it was measured.
    pub fn ahead(&self, lane: LaneId) -> Option<Ahead> {
        self.reads.ahead(lane)
    }

    /// One that was let into a lane with little to spare was answered or dropped, late or not: who comes has more or less.
    pub fn note_answer(&self, lane: LaneId, is_late: bool) {
        self.reads.note_answer(lane, is_late);
    }

    /// What an activation by itself takes on both paths; `None` where the path is not chosen by that.
    pub fn path_costs(&self, template: &Template) -> Option<PathCosts> {
        self.reads.chooses_path(template).then(|| template.path_costs())
    }

    /// Takes a template out of the global plan (after DDL, or evicted from the cache).
    pub fn unregister(&self, template: TemplateId) {
        self.reads.unregister(template);
    }

    /// Puts an activation into its lane; 53000 through the receiver when the lane is full. Whoever submits also
    /// calls [`Self::lead`]: nothing runs before somebody does.
    pub fn submit(&self, activation: Activation) {
        self.reads.submit(activation);
    }

    /// If nobody leads the lane, sees to it that what waits is run: batches of a light lane on this thread until
    /// nothing waits, heavy ones by a worker, unless handing over would take longer than running.
    pub fn lead(&self, lane: LaneId) {
        self.reads.lead(lane);
    }

    /// Holds all lanes back: what is submitted until the result is dropped waits, then runs as one heartbeat per lane. For
    /// tests that run a batch exactly as it was; templates that are registered meanwhile may get lanes that are not held.
    pub fn hold_back(&self) -> HeldBack {
        self.reads.hold_back()
    }

    /// How many transactions stand in line for a lock that somebody else has. Asked by tests.
    pub fn waiting_for_locks(&self) -> usize {
        self.writes.waiting_for_locks()
    }

    /// Runs an autocommit write in arrival order inside the next write heartbeat. Never fails for a conflict. The
    /// session may be waited for when it has been answered.
    pub fn write(
        &self,
        plan: Arc<WritePlan>,
        parameters: Box<[Value]>,
        session: SessionId,
        receiver: WriteReceiver,
    ) {
        self.writes.write(plan, parameters, session, receiver);
    }

    /// Evaluates a write of a block on its snapshot plus the transaction's own changes, and adds what it does to the set. Call it
    /// until it is done; what it changes is locked then, until the set is committed or dropped.
    pub fn advance(
        &self,
        statement: &mut BlockStatement,
        set: &mut WriteSet,
    ) -> Result<Step<WriteOutcome>> {
        self.writes.advance(statement, set)
    }

    /// Lets a block change stored rows that it has found and locked itself ([`Self::lock_row`]), and checks keys and foreign keys.
    /// Call it until it is done: `change` is called each time, on the set as it was before.
    pub fn change_in_transaction(
        &self,
        seen: &mut Seen,
        set: &mut WriteSet,
        change: &mut dyn FnMut(&mut WriteSet) -> Result<()>,
    ) -> Result<Step<()>> {
        self.writes.change_in_transaction(seen, set, change)
    }

    /// Locks a stored row for a block, and says whether it is still as the snapshot has it; 40001 where it is not and the block
    /// is REPEATABLE READ.
    pub fn lock_row(
        &self,
        set: &mut WriteSet,
        row: (TableId, RowId),
        mode: LockMode,
        isolation: Isolation,
        snapshot: &Snapshot,
    ) -> Result<RowLock> {
        self.writes.lock_row(set, row, mode, isolation, snapshot)
    }

    /// Waits until a block has a row's lock that somebody else has.
    pub fn wait_for_row(
        &self,
        set: &mut WriteSet,
        row: (TableId, RowId),
        mode: LockMode,
    ) -> Waiting {
        self.writes.wait_for_row(set, row, mode)
    }

    /// Lets a block be the only one that changes definitions, until its set is committed or dropped; else what it waits for. That
    /// others wait for rows that it has locked, and it for them, is found out like among rows.
    pub fn lock_definitions(&self, set: &mut WriteSet) -> Result<Option<Waiting>> {
        self.writes.lock_definitions(set)
    }

    /// Locks of tables, and of what clients name by number.
    pub fn exclusion(&self) -> Exclusion<'_> {
        self.writes.exclusion()
    }

    /// Whether [`Self::advance`] takes well below a millisecond, as far as one can tell before.
    pub fn is_short(&self, plan: &WritePlan) -> bool {
        self.writes.is_short(plan)
    }

    /// Begins to take rows in bulk for one table. Nobody sees them before [`Self::load`] has them.
    pub fn begin_load(&self, plan: Arc<LoadPlan>) -> Result<BulkLoad> {
        self.writes.begin_load(plan)
    }

    /// Commits all rows of a load inside the next write heartbeat: in one record, visible at once. Sorts its keys
    /// on this thread first.
    pub fn load(&self, load: BulkLoad, receiver: WriteReceiver) {
        self.writes.load(load, receiver);
    }

    /// Adds a block of new rows to a transaction's set; `before` says how many rows the same statement has added
    /// already. Call it until it is done.
    pub fn load_in_transaction(
        &self,
        plan: &LoadPlan,
        block: &mut RowBlock,
        before: u64,
        seen: &mut Seen,
        set: &mut WriteSet,
    ) -> Result<Step<()>> {
        self.writes.load_in_transaction(plan, block, before, seen, set)
    }

    /// The rows of a large INSERT (see [`WritePlan::is_large_insert`]) as a load.
    pub fn insert_in_bulk(&self, plan: &WritePlan, parameters: &[Value]) -> Result<BulkLoad> {
        self.writes.insert_in_bulk(plan, parameters)
    }

    /// The next value of a sequence as a column of this type has it. It is durable with the next write.
    pub fn next_value(&self, sequence: SequenceId, data_type: DataType) -> Result<Value> {
        self.writes.next_value(sequence, data_type)
    }

    /// Changes a definition inside the next write heartbeat, in arrival order with all other writes: logged,
    /// synced, then answered.
    pub fn define(&self, definition: Definition, receiver: WriteReceiver) {
        self.writes.define(definition, receiver);
    }

    /// Commits a block that has changed definitions too: in one record, visible at once, or not at all. The
    /// definitions take effect in order, after the block's changes of rows; both concern different tables.
    pub fn commit_definitions(
        &self,
        set: WriteSet,
        changes: DefinitionChanges,
        receiver: WriteReceiver,
    ) {
        self.writes.commit_definitions(set, changes, receiver);
    }

    /// An entry of the catalog's key-value part (see [`Definition::PutEntry`]), also after recovery.
    pub fn entry(&self, key: &str) -> Option<Arc<[u8]>> {
        self.writes.entry(key)
    }

    /// All entries whose key begins with `prefix`, by key.
    pub fn entries(&self, prefix: &str) -> Vec<(String, Arc<[u8]>)> {
        self.writes.entries(prefix)
    }

    /// Sets a sequence (`setval`, ALTER SEQUENCE RESTART): logged, synced, then answered.
    pub fn set_sequence(
        &self,
        sequence: SequenceId,
        last: i64,
        called: bool,
        receiver: WriteReceiver,
    ) {
        self.writes.set_sequence(sequence, last, called, receiver);
    }

    /// Makes durable that the values which sequences have handed out so far are used. Commits do this by themselves;
    /// a client that is told a value outside any write (`SELECT nextval(...)`) is told after this.
    pub fn reserve_sequences(&self, receiver: WriteReceiver) {
        self.writes.reserve_sequences(receiver);
    }

    /// Has the values of a table's rows counted anew, beside all else; answered when it is done. Tables whose rows have
    /// changed much are counted anew without being asked.
    pub fn recount(&self, table: TableId, receiver: WriteReceiver) {
        match self.store().table(table) {
            Some(table) => self.writes.recount(table, receiver),
            None => {
                let message = format!("table with id {table} does not exist");
                receiver(Err(Error::new(SqlState::UndefinedTable, message)));
            }
        }
    }

    /// Plans templates anew whose tables are no longer what they were planned for.
    pub fn replan_stale(&self) {
        self.reads.replan_stale();
    }

    /// Writes a checkpoint; answered when it is durable. One is also written after every so many bytes of log.
    pub fn checkpoint(&self, receiver: WriteReceiver) {
        self.writes.checkpoint(receiver);
    }

    /// Commits a write set inside the next write heartbeat: validated, logged, synced, visible, then answered. The
    /// session may be waited for when it has been answered.
    pub fn commit(&self, set: WriteSet, session: SessionId, receiver: WriteReceiver) {
        self.writes.commit(set, session, receiver);
    }
}
