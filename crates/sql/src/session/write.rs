//! INSERT, UPDATE and DELETE: inside the write heartbeat, or into the transaction's write set.

use std::collections::HashSet;
use std::sync::Arc;

use engine::heartbeat::{Answer, AnswerPart, BulkLoad, LoadPlan, WriteOutcome, WriteReceiver};
use engine::plan::{InsertPlan, InsertSource, WriteAction, WritePlan};
use engine::storage::{Snapshot, Store};
use engine::transaction::{Isolation, Overlay as OwnRow, WriteSet};
use engine::types::limit;
use engine::types::{
    DataType, Result, RowBlock, RowId, Scalar, SessionId, SqlState, TableId, Value, ValueRef,
    Version,
};

use super::read::single_value;
use super::submitted::submitted;
use super::verified_writes::{DrawnWrite, Sight};
use super::{ColumnDescription, Outcome, Rows, Session};
use crate::alone::{Overlay, Reading, apart, long};
use crate::statement::complex::ComplexWrite;
use crate::statement::insert::{ColumnSource, InsertQuery};
use crate::statement::write::Write;
use crate::statement::{assignment, row_check};

/// Rows of which values are made before it is asked whether the statement goes on.
const ROWS_BETWEEN_CHECKS: usize = 256;

/// Rows that take well below a millisecond.
const SHORT: usize = 1_000;

/// How often an autocommit statement is evaluated again after a conflict.
const RETRY_LIMIT: usize = 20;

type Columns<'a> = Option<&'a Arc<[ColumnDescription]>>;

impl Session {
    /// Runs a write from its plan.
    pub(super) async fn run_write(
        &mut self,
        write: &Write,
        mut values: Vec<Value>,
        columns: Columns<'_>,
    ) -> Result<Outcome> {
        self.refuse_read_only(write.tag)?;
        let drawn = match &write.plan.action {
            // What its rows are made of is no search.
            WriteAction::Insert(_) => {
                self.skip_verification("no search");
                None
            }
            _ => self.draw_write(write, &values).await,
        };
        for subquery in &write.subqueries {
            let known = values[..subquery.parameters.len().min(values.len())].to_vec();
            let answer = self.read_all(subquery, known).await?;
            values.push(single_value(&answer)?);
        }
        let written = self.write_seeing(&write.plan, write.table, values, drawn.as_ref()).await;
        if drawn.is_some() && written.is_err() {
            self.database.verification.skip("error");
        }
        let (outcome, sight) = written?;
        if let Some(drawn) = drawn {
            self.verify_write(drawn, sight, &outcome).await?;
        }
        Ok(finish(outcome, write.tag, columns))
    }

    /// Runs a plan: by itself, or as part of the transaction.
    pub(crate) async fn write(
        &mut self,
        plan: &Arc<WritePlan>,
        table: TableId,
        values: Vec<Value>,
    ) -> Result<WriteOutcome> {
        self.write_seeing(plan, table, values, None).await.map(|(outcome, _)| outcome)
    }

    /// The same, and what it looked through.
    async fn write_seeing(
        &mut self,
        plan: &Arc<WritePlan>,
        table: TableId,
        values: Vec<Value>,
        drawn: Option<&DrawnWrite>,
    ) -> Result<(WriteOutcome, Sight)> {
        if !self.in_block() || self.writes_at_once(table) {
            if plan.is_large_insert() {
                let outcome = self.insert_in_bulk(plan.clone(), values).await?;
                return Ok((outcome, Sight::Turn));
            }
            let (engine, session) = (&self.database.engine, self.id());
            let write = |receiver| engine.write(plan.clone(), values.into(), session, receiver);
            let outcome = submitted(&self.limits, write).await?;
            return Ok((outcome, Sight::Turn));
        }
        let touches = self.block.open().is_some_and(|t| t.set.touches(table));
        let touched: &[TableId] = if touches { &[table] } else { &[] };
        let snapshot = self.statement_snapshot(touched).await;
        let engine = self.database.engine.clone();
        let Some(transaction) = self.block.open() else { unreachable!("checked before") };
        let isolation = transaction.isolation;
        let overlay = drawn.map(|drawn| Arc::new(Overlay::new(&transaction.set, drawn.tables())));
        let outcome = if engine.is_short(plan) {
            let set = &mut transaction.set;
            engine.write_in_transaction(plan, &values, &snapshot, isolation, set)?
        } else {
            let (plan, snapshot) = (plan.clone(), snapshot.clone());
            let write = move |set: &mut WriteSet| {
                engine.write_in_transaction(&plan, &values, &snapshot, isolation, set)
            };
            self.change_set(write).await??
        };
        Ok((outcome, Sight::Block(snapshot, overlay)))
    }

    /// Changes the transaction's set, which may take long; the session waits for it.
    async fn change_set<T: Send + 'static>(
        &mut self,
        change: impl FnOnce(&mut WriteSet) -> T + Send + 'static,
    ) -> Result<T> {
        let Some(transaction) = self.block.open() else { unreachable!("in a block") };
        let mut set = std::mem::take(&mut transaction.set);
        let changed = long(self.limits.clone(), move || (change(&mut set), set)).await?;
        if let Some(transaction) = self.block.open() {
            transaction.set = changed.1;
        }
        Ok(changed.0)
    }

    /// Who the engine may wait for.
    fn id(&self) -> SessionId {
        SessionId(self.process.cast_unsigned())
    }

    /// Runs a large INSERT by itself: its rows are made and sorted apart from the write heartbeat.
    async fn insert_in_bulk(
        &mut self,
        plan: Arc<WritePlan>,
        values: Vec<Value>,
    ) -> Result<WriteOutcome> {
        let engine = self.database.engine.clone();
        let work = move |receiver: WriteReceiver| match engine.insert_in_bulk(&plan, &values) {
            Ok(load) => engine.load(load, receiver),
            Err(error) => receiver(Err(error)),
        };
        submitted(&self.limits, |receiver| apart(move || work(receiver))).await
    }

    /// Adds a block of new rows to the transaction; `before` says how many rows the statement has
    /// added already.
    pub(crate) async fn load_into_block(
        &mut self,
        plan: &LoadPlan,
        block: &RowBlock,
        before: u64,
    ) -> Result<()> {
        let touches = self.block.open().is_some_and(|t| t.set.touches(plan.table));
        let touched: &[TableId] = if touches { &[plan.table] } else { &[] };
        let snapshot = self.statement_snapshot(touched).await;
        let engine = self.database.engine.clone();
        let Some(transaction) = self.block.open() else { unreachable!("COPY began in a block") };
        engine.load_in_transaction(plan, block, before, &snapshot, &mut transaction.set)
    }

    /// Commits a load: sorted, validated, logged, visible.
    pub(crate) async fn commit_load(&mut self, load: BulkLoad) -> Result<()> {
        let engine = self.database.engine.clone();
        // Sorting takes longer than others on this thread should wait.
        let commit = |receiver| apart(move || engine.load(load, receiver));
        submitted(&self.limits, commit).await.map(drop)
    }

    /// Validates, logs and publishes a write set.
    pub(crate) async fn commit_set(&mut self, set: WriteSet, isolation: Isolation) -> Result<()> {
        let (engine, session) = (&self.database.engine, self.id());
        let commit = |receiver| engine.commit(set, isolation, session, receiver);
        submitted(&self.limits, commit).await.map(drop)
    }

    /// INSERT ... SELECT: the query's rows become the rows of an INSERT.
    pub(super) async fn run_insert_query(
        &mut self,
        insert: &Arc<InsertQuery>,
        values: Vec<Value>,
    ) -> Result<Outcome> {
        self.refuse_read_only("INSERT")?;
        let known = values[..insert.source.parameters.len().min(values.len())].to_vec();
        let answer = self.read_all(&insert.source, known).await?;
        let rows = match answer.rows() {
            ..=SHORT => insert_rows(insert, &answer)?,
            _ => {
                let insert = insert.clone();
                long(self.limits.clone(), move || insert_rows(&insert, &answer)).await??
            }
        };
        if rows.is_empty() && insert.returning.columns.is_none() {
            return Ok(Outcome::Command("INSERT 0 0".to_owned()));
        }
        let plan = Arc::new(WritePlan {
            action: WriteAction::Insert(InsertPlan {
                table: insert.table.id,
                rows,
                on_conflict: insert.on_conflict.clone(),
                checks: insert.checks.clone(),
            }),
            returning: insert.returning.scalars.clone(),
            output: insert.returning.output.clone(),
            parameters: insert.parameters.clone(),
            text: insert.text.clone(),
        });
        let outcome = self.write(&plan, insert.table.id, values).await?;
        Ok(finish(outcome, "INSERT 0", insert.returning.columns.as_ref()))
    }

    /// A change whose rows a query finds. Outside a block it is evaluated again after a conflict.
    pub(super) async fn run_complex(
        &mut self,
        write: &Arc<ComplexWrite>,
        values: Vec<Value>,
        columns: Columns<'_>,
    ) -> Result<Outcome> {
        let tag = if write.assigned.is_some() { "UPDATE" } else { "DELETE" };
        self.refuse_read_only(tag)?;
        if !self.in_block() || self.writes_at_once(write.table.id) {
            return self.run_complex_alone(write, &values, columns, tag).await;
        }
        let touched: Vec<TableId> = match self.block.open() {
            Some(transaction) => {
                let touches = |table: &&TableId| transaction.set.touches(**table);
                write.query.tables.iter().filter(touches).copied().collect()
            }
            None => Vec::new(),
        };
        let snapshot = self.statement_snapshot(&touched).await;
        let Some(transaction) = self.block.open() else { unreachable!("in a block") };
        let overlay = Arc::new(Overlay::new(&transaction.set, &touched));
        let (mark, version) = (transaction.set.mark(), snapshot.version());
        let found = self.find(write, &values, snapshot.clone(), Some(overlay.clone())).await?;
        let found = Found { write: write.clone(), found, version };
        let store = self.database.engine.store().clone();
        let mut changed = self.change_set(move |set| found.apply(&store, set)).await?;
        if let Ok(outcome) = &changed {
            let overlay = Some(overlay);
            let verified = self.verify_complex(write, &values, &snapshot, overlay, outcome).await;
            changed = verified.and(changed);
        }
        if let (Err(_), Some(transaction)) = (&changed, self.block.open()) {
            transaction.set.rollback_to(mark);
        }
        Ok(finish(changed?, tag, columns))
    }

    async fn run_complex_alone(
        &mut self,
        write: &Arc<ComplexWrite>,
        values: &[Value],
        columns: Columns<'_>,
        tag: &'static str,
    ) -> Result<Outcome> {
        for attempt in 0.. {
            let store = self.database.engine.store().clone();
            let snapshot = store.snapshot();
            let version = snapshot.version();
            let found = self.find(write, values, snapshot.clone(), None).await?;
            let found = Found { write: write.clone(), found, version };
            let applied = long(self.limits.clone(), move || {
                let mut set = WriteSet::new();
                found.apply(&store, &mut set).map(|outcome| (outcome, set))
            });
            let (outcome, set) = applied.await??;
            self.verify_complex(write, values, &snapshot, None, &outcome).await?;
            if set.is_empty() {
                return Ok(finish(outcome, tag, columns));
            }
            match self.commit_set(set, Isolation::RepeatableRead).await {
                Ok(()) => return Ok(finish(outcome, tag, columns)),
                Err(error)
                    if error.state == SqlState::SerializationFailure && attempt < RETRY_LIMIT => {}
                Err(error) => return Err(error),
            }
        }
        unreachable!("the limit ends the loop")
    }

    /// Runs the query for the rows and their new values.
    async fn find(
        &self,
        write: &ComplexWrite,
        values: &[Value],
        snapshot: Snapshot,
        overlay: Option<Arc<Overlay>>,
    ) -> Result<Answer> {
        let store = self.database.engine.store().clone();
        let limits = self.limits.clone();
        let reading = Reading { store, snapshot, overlay, limits, pipelining: None };
        self.collect_alone(&write.query, values, &reading).await
    }

    /// Deletes all rows of a table as part of the transaction (TRUNCATE in a block).
    pub(crate) async fn delete_all(&mut self, table: TableId) -> Result<()> {
        let plan = Arc::new(WritePlan {
            action: WriteAction::Delete(engine::plan::DeletePlan { table, predicates: Vec::new() }),
            returning: Vec::new(),
            output: Arc::new([]),
            parameters: Vec::new(),
            text: "TRUNCATE".into(),
        });
        self.write(&plan, table, Vec::new()).await.map(|_| ())
    }
}

/// The rows that a change's query has found, with their new values.
struct Found {
    write: Arc<ComplexWrite>,
    found: Answer,
    version: Version,
}

impl Found {
    /// Puts the changes into the set.
    fn apply(&self, store: &Store, set: &mut WriteSet) -> Result<WriteOutcome> {
        let (write, version) = (&*self.write, self.version);
        let first = 1 + write.assigned.as_ref().map_or(0, Vec::len);
        let mut returning = Returned::new(write, first);
        let rows = self.change(store, set, &mut returning)?;
        Ok(WriteOutcome { version, rows, returning: returning.answer(), is_first: false })
    }

    fn change(&self, store: &Store, set: &mut WriteSet, returning: &mut Returned) -> Result<u64> {
        let Found { write, found, version } = self;
        let (table, version) = (&write.table, *version);
        let stored = store
            .table(table.id)
            .ok_or_else(|| crate::statement::naming::undefined_table(&table.name))?;
        let view = stored.view(version);
        let mut seen: HashSet<RowId> = HashSet::new();
        let mut changes: Vec<(RowId, Box<[Value]>)> = Vec::new();
        for part in &found.parts {
            for row in 0..part.rows() {
                check_at(row)?;
                let ValueRef::BigInt(id) = part.cell(row, 0) else { continue };
                let id = RowId(id as u64);
                // A row that joins with several is changed once, as the first says.
                if !seen.insert(id) {
                    continue;
                }
                returning.push(part, row);
                let Some(assigned) = &write.assigned else {
                    changes.push((id, Box::default()));
                    continue;
                };
                let mut new = match set.lookup(table.id, id) {
                    OwnRow::Row(own) => own.to_vec(),
                    _ => view.resolve(id).map(|location| view.row(location)).unwrap_or_default(),
                };
                for (position, column) in assigned.iter().enumerate() {
                    let value = part.cell(row, position + 1).to_owned();
                    let data_type = table.columns[column.index()].data_type;
                    new[column.index()] = assignment::cast(value, data_type)?;
                }
                changes.push((id, new.into()));
            }
        }
        if write.assigned.is_some() {
            row_check::check(table, &write.checks, changes.iter().map(|(_, row)| &**row))?;
        }
        let rows = changes.len() as u64;
        for (id, row) in changes {
            match &write.assigned {
                Some(_) => set.update(table.id, id, version, row, None),
                None => set.delete(table.id, id, version, None),
            }
            set.make_room()?;
        }
        Ok(rows)
    }
}

/// Asks now and then, in a loop over rows, whether the statement goes on.
fn check_at(row: usize) -> Result<()> {
    if row.is_multiple_of(ROWS_BETWEEN_CHECKS) { limit::check() } else { Ok(()) }
}

/// The query's rows as an INSERT's, with defaults and assignment casts.
fn insert_rows(insert: &InsertQuery, answer: &Answer) -> Result<Vec<Vec<InsertSource>>> {
    let types: Vec<DataType> = insert.table.columns.iter().map(|c| c.data_type).collect();
    let mut rows = Vec::with_capacity(answer.rows());
    for part in &answer.parts {
        for row in 0..part.rows() {
            check_at(row)?;
            let sources = insert.sources.iter().zip(&types);
            let sources = sources.map(|(source, data_type)| match source {
                ColumnSource::Default(source) => Ok(source.clone()),
                ColumnSource::Query(column) => {
                    let value = assignment::cast(part.cell(row, *column).to_owned(), *data_type)?;
                    Ok(InsertSource::Scalar(Scalar::Literal(value)))
                }
            });
            rows.push(sources.collect::<Result<Vec<_>>>()?);
        }
    }
    Ok(rows)
}

/// RETURNING's rows, picked from the query's.
struct Returned {
    columns: Vec<Vec<Value>>,
    output: Option<Arc<[engine::plan::OutputColumn]>>,
    first: usize,
}

impl Returned {
    fn new(write: &ComplexWrite, first: usize) -> Returned {
        let width = write.output.as_ref().map_or(0, |output| output.len());
        Returned { columns: vec![Vec::new(); width], output: write.output.clone(), first }
    }

    fn push(&mut self, part: &AnswerPart, row: usize) {
        for (position, column) in self.columns.iter_mut().enumerate() {
            column.push(part.cell(row, self.first + position).to_owned());
        }
    }

    fn answer(self) -> Option<Answer> {
        let output = self.output?;
        Some(answer_of(output, &self.columns))
    }
}

/// An answer of values, column by column.
pub(crate) fn answer_of(
    output: Arc<[engine::plan::OutputColumn]>,
    columns: &[Vec<Value>],
) -> Answer {
    let height = columns.first().map_or(0, Vec::len);
    let row = |i: usize| columns.iter().map(|column| column[i].clone()).collect();
    let rows = (0..height).map(row).collect();
    Answer::new(output, vec![AnswerPart::Own(rows)])
}

fn finish(outcome: WriteOutcome, tag: &'static str, columns: Columns<'_>) -> Outcome {
    match (outcome.returning, columns) {
        (Some(answer), Some(columns)) => {
            Outcome::Rows(Rows::complete(columns.clone(), answer, tag))
        }
        _ => Outcome::Command(format!("{tag} {}", outcome.rows)),
    }
}
