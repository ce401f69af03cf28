//! A write heartbeat, a few tables and plans for them.

use std::sync::Arc;
use std::sync::mpsc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int32Array, cast::AsArray};

use crate::env::{Environment, SimulatedDirectory};
use crate::heartbeat::write::{
    BlockStatement, BulkLoad, DefinitionChanges, LoadPlan, RowLock, Seen, Step, TableRewrite,
    Tuning, WriteHeartbeat,
};
use crate::heartbeat::{WriteOutcome, WriteReceiver};
use crate::plan::{
    DeletePlan, InsertPlan, InsertSource, OnConflict, OutputColumn, UpdatePlan, WriteAction,
    WritePlan,
};
use crate::storage::{CHUNK_ROWS, Snapshot};
use crate::transaction::{Definition, Isolation, LockMode, Overlay, Waiting, WriteSet, every_row};
use crate::types::*;
use crate::waiting::HANG;

pub const T: TableId = TableId(1);
/// Who asks, where it does not matter.
pub const SESSION: SessionId = SessionId(1);

pub fn column(name: &str, data_type: DataType, not_null: bool) -> ColumnSchema {
    ColumnSchema {
        name: name.into(),
        data_type,
        not_null,
        default: ColumnDefault::None,
        dropped: false,
        missing: Value::Null,
    }
}

pub fn unique(id: u32, name: &str, columns: &[u32], primary: bool) -> IndexSchema {
    IndexSchema {
        id: IndexId(id),
        name: name.into(),
        columns: columns.iter().map(|c| ColumnId(*c)).collect(),
        kind: IndexKind::Ordered,
        unique: true,
        primary,
        constraint: true,
    }
}

/// `t (id integer primary key, v integer, name varchar(5))`
pub fn table(id: TableId, name: &str) -> TableSchema {
    TableSchema {
        id,
        schema: "public".into(),
        name: name.into(),
        columns: vec![
            column("id", DataType::Integer, true),
            column("v", DataType::Integer, false),
            column("name", DataType::Varchar(5), false),
        ],
        indexes: vec![unique(id.0 * 10, &format!("{name}_pkey"), &[0], true)],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    }
}

/// `column + parameter` over integers; panics where the sum is 666, fails where it is 667.
#[derive(Debug)]
pub struct Add(pub [usize; 1], pub [usize; 1]);

impl Expression for Add {
    fn columns(&self) -> &[usize] {
        &self.0
    }
    fn parameters(&self) -> &[usize] {
        &self.1
    }
    fn data_type(&self) -> DataType {
        DataType::Integer
    }
    fn evaluate(
        &self,
        columns: &[ArrayRef],
        parameters: &[ArrayRef],
        _: usize,
    ) -> Result<ArrayRef> {
        let (a, b) = (columns[0].as_primitive::<Int32Type>(), parameters[0].as_primitive());
        let b: &Int32Array = b;
        let sum = arrow_array::Int32Array::from_iter(
            a.iter().zip(b.iter()).map(|(a, b)| Some(a?.wrapping_add(b?))),
        );
        assert!(!sum.iter().flatten().any(|v| v == 666), "an evil number");
        if sum.iter().flatten().any(|v| v == 667) {
            return Err(Error::new(SqlState::DivisionByZero, "division by zero"));
        }
        Ok(Arc::new(sum))
    }
    fn text(&self) -> &str {
        "column + parameter"
    }
}

pub fn int(value: i32) -> Value {
    Value::Integer(value)
}

fn plan(action: WriteAction, parameters: usize, returning: Vec<Scalar>) -> Arc<WritePlan> {
    let column = |_: &Scalar| OutputColumn { name: "r".into(), data_type: DataType::Integer };
    let output = returning.iter().map(column).collect();
    let parameters = vec![DataType::Integer; parameters];
    Arc::new(WritePlan { action, returning, output, parameters, text: "test".into() })
}

fn id_is(parameter: usize) -> Vec<Predicate> {
    let (comparison, value) = (Comparison::Equal, Scalar::Parameter(parameter));
    vec![Predicate::Compare { column: 0, comparison, value }]
}

/// `INSERT INTO table VALUES ($1, $2, $3)`
pub fn insert_into(table: TableId, on_conflict: Option<OnConflict>) -> Arc<WritePlan> {
    let row = (0..3).map(|i| InsertSource::Scalar(Scalar::Parameter(i))).collect();
    let action = InsertPlan { table, rows: vec![row], on_conflict, rules: RowRules::default() };
    let mut plan = (*plan(WriteAction::Insert(action), 2, Vec::new())).clone();
    plan.parameters.push(DataType::Varchar(5));
    Arc::new(plan)
}

/// `UPDATE table SET v = v + $2 WHERE id = $1`
pub fn add_to(table: TableId, returning: bool) -> Arc<WritePlan> {
    let sum = Scalar::Expression(Arc::new(Add([1], [1])));
    let assignments = vec![(ColumnId(1), sum)];
    let update =
        UpdatePlan { table, predicates: id_is(0), assignments, rules: RowRules::default() };
    let returning = if returning { vec![Scalar::Column(1)] } else { Vec::new() };
    plan(WriteAction::Update(update), 2, returning)
}

/// `UPDATE table SET column = $2 WHERE predicates`
pub fn set_where(table: TableId, column: u32, predicates: Vec<Predicate>) -> Arc<WritePlan> {
    let assignments = vec![(ColumnId(column), Scalar::Parameter(1))];
    let update = UpdatePlan { table, predicates, assignments, rules: RowRules::default() };
    plan(WriteAction::Update(update), 2, Vec::new())
}

/// `UPDATE table SET column = $2 WHERE id = $1`
pub fn set_by_id(table: TableId, column: u32) -> Arc<WritePlan> {
    set_where(table, column, id_is(0))
}

/// `column op literal`
pub fn compare(column: usize, comparison: Comparison, value: i32) -> Predicate {
    Predicate::Compare { column, comparison, value: Scalar::Literal(int(value)) }
}

/// `DELETE FROM table WHERE predicates`
pub fn delete_where(table: TableId, predicates: Vec<Predicate>) -> Arc<WritePlan> {
    plan(WriteAction::Delete(DeletePlan { table, predicates }), 0, Vec::new())
}

/// `DELETE FROM table WHERE id = $1`
pub fn delete_by_id(table: TableId) -> Arc<WritePlan> {
    plan(WriteAction::Delete(DeletePlan { table, predicates: id_is(0) }), 1, Vec::new())
}

pub struct Fixture {
    pub writes: WriteHeartbeat,
}

pub const TUNING: Tuning = Tuning { segment_size: 2048, checkpoint_bytes: 4096 };

impl Fixture {
    /// Without a data directory, with `t`.
    pub fn in_memory() -> Fixture {
        let writes = WriteHeartbeat::open(Environment::system(), None, 2, 1000, Tuning::default());
        let fixture = Fixture { writes: writes.unwrap() };
        fixture.define(Definition::CreateTable(table(T, "t"))).unwrap();
        fixture
    }

    /// What the simulated directory has.
    pub fn on(directory: &Arc<SimulatedDirectory>, tuning: Tuning) -> Result<Fixture> {
        let environment = Environment::simulated(directory.clone(), 7);
        let path = std::path::Path::new("data");
        WriteHeartbeat::open(environment, Some(path), 2, 1000, tuning)
            .map(|writes| Fixture { writes })
    }

    /// All writes that `submit` submits wait until it is done, and run as one turn.
    pub fn together(&self, submit: impl FnOnce(&WriteHeartbeat)) {
        let writer = self.writes.shared.writer.lock();
        submit(&self.writes);
        drop(writer);
        self.writes.shared.run_turns();
    }

    pub fn wait(&self, submit: impl FnOnce(WriteReceiver)) -> Result<WriteOutcome> {
        let (sender, receiver) = mpsc::channel();
        submit(Box::new(move |outcome| drop(sender.send(outcome))));
        receiver.recv_timeout(HANG).expect("every write is answered")
    }

    pub fn define(&self, definition: Definition) -> Result<WriteOutcome> {
        self.wait(|receiver| self.writes.define(definition, receiver))
    }

    pub fn write(&self, plan: &Arc<WritePlan>, parameters: &[Value]) -> Result<WriteOutcome> {
        self.wait(|receiver| self.writes.write(plan.clone(), parameters.into(), SESSION, receiver))
    }

    pub fn insert(&self, id: i32, v: i32) -> Result<WriteOutcome> {
        self.write(&insert_into(T, None), &[int(id), int(v), Value::Null])
    }

    /// Rows `(id, v)` in bulk; faults name the row.
    pub fn begin_load(
        &self,
        table: TableId,
        rows: impl IntoIterator<Item = (i32, i32)>,
    ) -> Result<BulkLoad> {
        let context: Option<Box<dyn Fn(u64) -> String + Send + Sync>> =
            Some(Box::new(|row| format!("row {row}")));
        let plan = LoadPlan { table, rules: RowRules::default(), context };
        let mut load = self.writes.begin_load(Arc::new(plan))?;
        let or_null = |value: i32| if value == i32::MIN { Value::Null } else { int(value) };
        let rows = rows.into_iter().map(|(id, v)| vec![or_null(id), or_null(v), Value::Null]);
        let rows: Vec<_> = rows.collect();
        for rows in rows.chunks(CHUNK_ROWS) {
            load.append(&mut RowBlock::from_rows(load.schema(), rows))?;
        }
        Ok(load)
    }

    pub fn finish_load(&self, load: BulkLoad) -> Result<WriteOutcome> {
        self.wait(|receiver| self.writes.load(load, receiver))
    }

    pub fn load(
        &self,
        table: TableId,
        rows: impl IntoIterator<Item = (i32, i32)>,
    ) -> Result<WriteOutcome> {
        self.finish_load(self.begin_load(table, rows)?)
    }

    pub fn rewrite(&self, rewrite: TableRewrite) -> Result<WriteOutcome> {
        let definitions = vec![rewrite.definition()];
        let changes = DefinitionChanges { definitions, rewrites: vec![rewrite] };
        self.wait(|receiver| {
            self.writes.commit_definitions(WriteSet::new(), changes, receiver);
        })
    }

    pub fn checkpoint(&self) -> Result<WriteOutcome> {
        self.wait(|receiver| self.writes.checkpoint(receiver))
    }

    pub fn commit(&self, set: WriteSet) -> Result<WriteOutcome> {
        self.wait(|receiver| self.writes.commit(set, SESSION, receiver))
    }

    pub fn snapshot(&self) -> Snapshot {
        self.writes.store().snapshot()
    }

    /// `(id, v)` of all rows that a snapshot sees, by id.
    pub fn rows_at(&self, table: TableId, snapshot: &Snapshot, set: &WriteSet) -> Vec<(i32, i32)> {
        let view = self.writes.store().table(table).unwrap().view(snapshot.version());
        let mut rows = Vec::new();
        let pair = |row: &[Value]| match (&row[0], &row[1]) {
            (Value::Integer(id), Value::Integer(v)) => (*id, *v),
            (Value::Integer(id), _) => (*id, i32::MIN),
            other => panic!("{other:?}"),
        };
        every_row(&view, |location| {
            if set.lookup(table, view.row_id(location)) == Overlay::Untouched {
                rows.push(pair(&view.row(location)));
            }
        });
        rows.extend(set.rows(table).map(|(_, row)| pair(row)));
        rows.sort_unstable();
        rows
    }

    pub fn rows(&self) -> Vec<(i32, i32)> {
        self.rows_at(T, &self.snapshot(), &WriteSet::new())
    }

    pub fn begin(&self, isolation: Isolation) -> Block<'_> {
        let (snapshot, set) = (self.snapshot(), WriteSet::new());
        Block { fixture: self, isolation, snapshot, set, waiting: None }
    }
}

/// A transaction block, as a session keeps it.
pub struct Block<'a> {
    fixture: &'a Fixture,
    isolation: Isolation,
    snapshot: Snapshot,
    pub set: WriteSet,
    /// Its place in a queue.
    waiting: Option<Waiting>,
}

impl Block<'_> {
    fn statement(&mut self) {
        if self.isolation == Isolation::ReadCommitted {
            self.snapshot = self.fixture.snapshot();
        }
    }

    /// Runs a write, waiting for locks as long as it takes; 40P01 where it stands in a cycle.
    pub fn write(&mut self, plan: &Arc<WritePlan>, parameters: &[Value]) -> Result<WriteOutcome> {
        let mut statement = self.begin_write(plan, parameters);
        let writes = &self.fixture.writes;
        done(|| writes.advance(&mut statement, &mut self.set))
    }

    pub fn begin_write(&mut self, plan: &Arc<WritePlan>, parameters: &[Value]) -> BlockStatement {
        self.statement();
        let snapshot = self.snapshot.clone();
        BlockStatement::new(plan.clone(), parameters.into(), snapshot, self.isolation)
    }

    /// Whether a write has to wait; it does from now on.
    pub fn must_wait(&mut self, statement: &mut BlockStatement) -> bool {
        let step = self.fixture.writes.advance(statement, &mut self.set).unwrap();
        if let Step::Wait(waiting) = step {
            self.waiting = Some(waiting);
        }
        self.waiting.is_some()
    }

    /// SELECT FOR UPDATE of a row by id, and its value.
    pub fn lock(&mut self, id: i32, mode: LockMode) -> Result<Option<i32>> {
        loop {
            self.statement();
            let Some(row) = self.row_id(id) else { return Ok(None) };
            let (writes, snapshot) = (&self.fixture.writes, &self.snapshot);
            match writes.lock_row(&mut self.set, (T, row), mode, self.isolation, snapshot)? {
                RowLock::Same => return Ok(self.value(id)),
                RowLock::Changed => {}
                RowLock::Pause(pause) => std::thread::sleep(pause),
                RowLock::Busy => {
                    wait_for(writes.wait_for_row(&mut self.set, (T, row), mode))?;
                }
            }
        }
    }

    fn row_id(&self, id: i32) -> Option<RowId> {
        let view = self.fixture.writes.store().table(T).unwrap().view(self.snapshot.version());
        let mut found = None;
        every_row(&view, |location| {
            if view.row(location)[0] == int(id) {
                found = Some(view.row_id(location));
            }
        });
        found
    }

    pub fn load(&mut self, rows: impl IntoIterator<Item = (i32, i32)>) -> Result<()> {
        self.statement();
        let plan = LoadPlan { table: T, rules: RowRules::default(), context: None };
        let rows = rows.into_iter().map(|(id, v)| vec![int(id), int(v), Value::Null]);
        let mut block = RowBlock::from_rows(&table(T, "t"), &rows.collect::<Vec<_>>());
        let writes = &self.fixture.writes;
        let mut seen = Seen::new(self.snapshot.clone(), self.isolation);
        done(|| writes.load_in_transaction(&plan, &mut block, 0, &mut seen, &mut self.set))
    }

    pub fn rows(&mut self) -> Vec<(i32, i32)> {
        self.statement();
        self.fixture.rows_at(T, &self.snapshot, &self.set)
    }

    pub fn value(&mut self, id: i32) -> Option<i32> {
        self.rows().into_iter().find(|row| row.0 == id).map(|row| row.1)
    }

    pub fn commit(self) -> Result<WriteOutcome> {
        self.fixture.commit(self.set)
    }
}

pub fn state<T>(result: Result<T>) -> Result<T, SqlState> {
    result.map_err(|error| error.state)
}

/// What comes of something that may have to wait.
pub fn done<T>(mut advance: impl FnMut() -> Result<Step<T>>) -> Result<T> {
    loop {
        match advance()? {
            Step::Done(done) => return Ok(done),
            Step::Wait(waiting) => wait_for(waiting)?,
            Step::Pause(pause) => std::thread::sleep(pause),
        }
    }
}

struct Unpark(std::thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// How long somebody waits before asking whether that is in vain.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(20);

fn wait_for(mut waiting: Waiting) -> Result<()> {
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    loop {
        if let std::task::Poll::Ready(given) = std::pin::Pin::new(&mut waiting).poll(&mut context) {
            return given;
        }
        let began = std::time::Instant::now();
        std::thread::park_timeout(PATIENCE);
        if began.elapsed() >= PATIENCE && waiting.gives_way() {
            return Err(Error::new(SqlState::DeadlockDetected, "deadlock detected"));
        }
    }
}
