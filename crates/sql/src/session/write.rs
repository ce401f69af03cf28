//! INSERT, UPDATE and DELETE: inside the write heartbeat, or into the transaction's write set.

use std::collections::HashSet;
use std::sync::Arc;

use engine::heartbeat::{Answer, AnswerPart, BulkLoad, LoadPlan, WriteOutcome, WriteReceiver};
use engine::plan::{InsertPlan, InsertSource, WriteAction, WritePlan};
use engine::storage::Snapshot;
use engine::transaction::{Isolation, Overlay as OwnRow, WriteSet};
use engine::types::{
    DataType, Result, RowBlock, RowId, Scalar, SessionId, SqlState, TableId, Value, ValueRef,
    Version,
};
use tokio::sync::oneshot;

use super::execute::shut_down;
use super::read::single_value;
use super::{ColumnDescription, Outcome, Rows, Session};
use crate::alone::{self, Overlay, Reading};
use crate::statement::complex::ComplexWrite;
use crate::statement::insert::{ColumnSource, InsertQuery};
use crate::statement::write::Write;
use crate::statement::{assignment, row_check};

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
        for subquery in &write.subqueries {
            let known = values[..subquery.parameters.len().min(values.len())].to_vec();
            let answer = self.read_all(subquery, known).await?;
            values.push(single_value(&answer)?);
        }
        let outcome = self.write(&write.plan, write.table, values).await?;
        Ok(finish(outcome, write.tag, columns))
    }

    /// Runs a plan: by itself, or as part of the transaction.
    pub(crate) async fn write(
        &mut self,
        plan: &Arc<WritePlan>,
        table: TableId,
        values: Vec<Value>,
    ) -> Result<WriteOutcome> {
        if !self.in_block() || self.writes_at_once(table) {
            if plan.is_large_insert() {
                return self.insert_in_bulk(plan.clone(), values).await;
            }
            let (send, receive) = oneshot::channel();
            let receiver = Box::new(move |outcome| {
                // The write has happened whether somebody waits or not.
                let _ = send.send(outcome);
            });
            let session = self.id();
            self.database.engine.write(plan.clone(), values.into(), session, receiver);
            return receive.await.unwrap_or_else(|_| Err(shut_down()));
        }
        let touches = self.block.open().is_some_and(|t| t.set.touches(table));
        let touched: &[TableId] = if touches { &[table] } else { &[] };
        let snapshot = self.statement_snapshot(touched).await;
        let engine = self.database.engine.clone();
        let Some(transaction) = self.block.open() else { unreachable!("checked before") };
        let isolation = transaction.isolation;
        engine.write_in_transaction(plan, &values, &snapshot, isolation, &mut transaction.set)
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
        let (send, receive) = oneshot::channel();
        let receiver: WriteReceiver = Box::new(move |outcome| {
            // The write has happened whether somebody waits or not.
            let _ = send.send(outcome);
        });
        let work = move || match engine.insert_in_bulk(&plan, &values) {
            Ok(load) => engine.load(load, receiver),
            Err(error) => receiver(Err(error)),
        };
        tokio::task::spawn_blocking(work);
        receive.await.unwrap_or_else(|_| Err(shut_down()))
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
        let (send, receive) = oneshot::channel();
        let receiver = Box::new(move |outcome: Result<WriteOutcome>| {
            // The commit has happened whether somebody waits or not.
            let _ = send.send(outcome.map(|_| ()));
        });
        // Sorting takes longer than others on this thread should wait.
        tokio::task::spawn_blocking(move || engine.load(load, receiver));
        receive.await.unwrap_or_else(|_| Err(shut_down()))
    }

    /// Validates, logs and publishes a write set.
    pub(crate) async fn commit_set(&mut self, set: WriteSet, isolation: Isolation) -> Result<()> {
        let (send, receive) = oneshot::channel();
        let receiver = Box::new(move |outcome: Result<WriteOutcome>| {
            // The commit has happened whether somebody waits or not.
            let _ = send.send(outcome.map(|_| ()));
        });
        self.database.engine.commit(set, isolation, self.id(), receiver);
        receive.await.unwrap_or_else(|_| Err(shut_down()))
    }

    /// INSERT ... SELECT: the query's rows become the rows of an INSERT.
    pub(super) async fn run_insert_query(
        &mut self,
        insert: &InsertQuery,
        values: Vec<Value>,
    ) -> Result<Outcome> {
        self.refuse_read_only("INSERT")?;
        let known = values[..insert.source.parameters.len().min(values.len())].to_vec();
        let answer = self.read_all(&insert.source, known).await?;
        let rows = insert_rows(insert, &answer)?;
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
        write: &ComplexWrite,
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
        let mut set = std::mem::take(&mut transaction.set);
        let mark = set.mark();
        let overlay = Arc::new(Overlay::new(&set, &touched));
        let changed = self.change(write, &values, snapshot, Some(overlay), &mut set).await;
        if changed.is_err() {
            set.rollback_to(mark);
        }
        if let Some(transaction) = self.block.open() {
            transaction.set = set;
        }
        Ok(finish(changed?, tag, columns))
    }

    async fn run_complex_alone(
        &mut self,
        write: &ComplexWrite,
        values: &[Value],
        columns: Columns<'_>,
        tag: &'static str,
    ) -> Result<Outcome> {
        for attempt in 0.. {
            let snapshot = self.database.engine.store().snapshot();
            let mut set = WriteSet::new();
            let outcome = self.change(write, values, snapshot, None, &mut set).await?;
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

    /// Runs the query and puts what it finds into the set.
    async fn change(
        &self,
        write: &ComplexWrite,
        values: &[Value],
        snapshot: Snapshot,
        overlay: Option<Arc<Overlay>>,
        set: &mut WriteSet,
    ) -> Result<WriteOutcome> {
        let store = self.database.engine.store().clone();
        let version = snapshot.version();
        let cancelled = self.cancelled.clone();
        let reading = Reading { store, snapshot, overlay, cancelled, pipelining: None };
        let found = alone::collect(&write.query, values, &reading).await?;
        let first = 1 + write.assigned.as_ref().map_or(0, Vec::len);
        let mut returning = Returned::new(write, first);
        let rows = self.apply(write, &found, version, set, &mut returning)?;
        Ok(WriteOutcome { version, rows, returning: returning.answer() })
    }

    fn apply(
        &self,
        write: &ComplexWrite,
        found: &Answer,
        version: Version,
        set: &mut WriteSet,
        returning: &mut Returned,
    ) -> Result<u64> {
        let table = &write.table;
        let stored = self
            .database
            .engine
            .store()
            .table(table.id)
            .ok_or_else(|| crate::statement::naming::undefined_table(&table.name))?;
        let view = stored.view(version);
        let mut seen: HashSet<RowId> = HashSet::new();
        let mut changes: Vec<(RowId, Box<[Value]>)> = Vec::new();
        for part in &found.parts {
            for row in 0..part.rows() {
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
        }
        Ok(rows)
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

/// The query's rows as an INSERT's, with defaults and assignment casts.
fn insert_rows(insert: &InsertQuery, answer: &Answer) -> Result<Vec<Vec<InsertSource>>> {
    let types: Vec<DataType> = insert.table.columns.iter().map(|c| c.data_type).collect();
    let mut rows = Vec::with_capacity(answer.rows());
    for part in &answer.parts {
        for row in 0..part.rows() {
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
