//! INSERT, UPDATE and DELETE: inside the write heartbeat, or into the transaction's write set.

use std::collections::HashSet;
use std::sync::Arc;

use engine::heartbeat::{
    Answer, AnswerPart, BlockStatement, BulkLoad, Drawn, LoadPlan, Seen, WriteOutcome,
    WriteReceiver,
};
use engine::plan::{InsertPlan, InsertSource, WriteAction, WritePlan};
use engine::storage::{Snapshot, Store};
use engine::transaction::{Isolation, LockMode, Overlay as OwnRow, TableMode, WriteSet};
use engine::types::limit::{self, Limit};
use engine::types::{
    DataType, Result, RowBlock, RowId, Scalar, SessionId, TableId, Value, ValueRef, Version,
};

use super::locking::{LockRows, Newest};
use super::submitted::submitted;
use super::verified_writes::{DrawnWrite, Sight};
use super::{ColumnDescription, Outcome, Rows, Session};
use crate::alone::{Overlay, Reading, apart, long};
use crate::notification::Departure;
use crate::statement::complex::ComplexWrite;
use crate::statement::insert::{ColumnSource, InsertQuery};
use crate::statement::write::Write;
use crate::statement::{assignment, row_check};

/// Rows of which values are made before it is asked whether the statement goes on.
const ROWS_BETWEEN_CHECKS: usize = 256;

/// Rows that take well below a millisecond.
const SHORT: usize = 1_000;

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
        self.add_subqueries(&write.subqueries, &mut values).await?;
        let written = self.write_seeing(&write.plan, write.table, values, drawn.as_ref()).await;
        if drawn.is_some() && written.is_err() {
            self.database.verification.skip("error");
        }
        let (outcome, sight) = written?;
        if let Some(drawn) = drawn {
            Box::pin(self.verify_write(drawn, sight, &outcome)).await?;
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
                let outcome = Box::pin(self.insert_in_bulk(plan.clone(), values)).await?;
                self.note_drawn(&outcome.drawn);
                return Ok((outcome, Sight::Turn));
            }
            let (engine, session) = (&self.database.engine, self.id());
            let write = |receiver| engine.write(plan.clone(), values.into(), session, receiver);
            let outcome = submitted(&self.limits, self.settings.lock_timeout(), write).await?;
            self.note_drawn(&outcome.drawn);
            return Ok((outcome, Sight::Turn));
        }
        let snapshot = self.statement_snapshot();
        let engine = self.database.engine.clone();
        let Some(transaction) = self.block.open() else { unreachable!("checked before") };
        let isolation = transaction.isolation;
        let overlay = drawn.map(|drawn| Arc::new(Overlay::new(&transaction.set, drawn.tables())));
        let (own, values) = (snapshot.clone(), values.into());
        let mut statement = BlockStatement::new(plan.clone(), values, own, isolation);
        let is_short = engine.is_short(plan);
        let outcome = loop {
            let step = match self.block.open() {
                Some(transaction) if is_short => {
                    engine.advance(&mut statement, &mut transaction.set)?
                }
                _ => {
                    let engine = engine.clone();
                    let advance = move |set: &mut WriteSet| {
                        engine.advance(&mut statement, set).map(|step| (step, statement))
                    };
                    let (step, advanced) = Box::pin(self.change_set(advance)).await??;
                    statement = advanced;
                    step
                }
            };
            if let Some(outcome) = self.settled(step).await? {
                break outcome;
            }
        };
        self.note_drawn(&outcome.drawn);
        match statement.is_newer() {
            true => Ok((outcome, Sight::Newer)),
            false => Ok((outcome, Sight::Block(snapshot, overlay))),
        }
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
    pub(crate) fn id(&self) -> SessionId {
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
        submitted(&self.limits, self.settings.lock_timeout(), |receiver| {
            apart(move || work(receiver))
        })
        .await
    }

    /// Adds a block of new rows to the transaction; `before` says how many rows the statement has
    /// added already.
    pub(crate) async fn load_into_block(
        &mut self,
        plan: &LoadPlan,
        block: &mut RowBlock,
        before: u64,
    ) -> Result<()> {
        let snapshot = self.statement_snapshot();
        let engine = self.database.engine.clone();
        let isolation = self.block.open().map_or(Isolation::ReadCommitted, |t| t.isolation);
        let mut seen = Seen::new(snapshot, isolation);
        loop {
            let Some(transaction) = self.block.open() else {
                unreachable!("COPY began in a block")
            };
            let set = &mut transaction.set;
            let step = engine.load_in_transaction(plan, block, before, &mut seen, set)?;
            if self.settled(step).await?.is_some() {
                return Ok(());
            }
        }
    }

    /// Commits a load: sorted, validated, logged, visible.
    pub(crate) async fn commit_load(&mut self, load: BulkLoad) -> Result<()> {
        let engine = self.database.engine.clone();
        // Sorting takes longer than others on this thread should wait.
        let commit = |receiver| apart(move || engine.load(load, receiver));
        submitted(&self.limits, self.settings.lock_timeout(), commit).await.map(drop)
    }

    /// Validates, logs and publishes a write set.
    pub(crate) async fn commit_set(
        &mut self,
        set: WriteSet,
        said: Option<Departure>,
    ) -> Result<()> {
        let (engine, session, telling) = (&self.database.engine, self.id(), self.telling(said));
        let commit = |receiver| engine.commit(set, session, telling(receiver));
        submitted(&self.limits, self.settings.lock_timeout(), commit).await.map(drop)
    }

    /// The rows of an INSERT's query; what its scalar subqueries give is added to its parameters.
    async fn insert_source(
        &mut self,
        insert: &InsertQuery,
        values: &mut Vec<Value>,
    ) -> Result<Answer> {
        let known = values[..insert.source.parameters.len().min(values.len())].to_vec();
        let answer = self.read_all(&insert.source, known).await?;
        self.read_subqueries(&insert.subqueries, values).await.map(|()| answer)
    }

    /// INSERT ... SELECT: the query's rows become the rows of an INSERT.
    pub(super) async fn run_insert_query(
        &mut self,
        insert: &Arc<InsertQuery>,
        mut values: Vec<Value>,
    ) -> Result<Outcome> {
        self.refuse_read_only("INSERT")?;
        let before = self.pinned.clone();
        if !insert.subqueries.is_empty() {
            self.pin();
        }
        let answer = self.insert_source(insert, &mut values).await;
        self.pinned = before;
        let answer = answer?;
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
                rules: insert.rules.clone(),
            }),
            returning: insert.returning.scalars.clone(),
            output: insert.returning.output.clone(),
            parameters: insert.parameters.clone(),
            text: insert.text.clone(),
        });
        let outcome = self.write(&plan, insert.table.id, values).await?;
        Ok(finish(outcome, "INSERT 0", insert.returning.columns.as_ref()))
    }

    /// A change whose rows a query finds. Outside a block it has a write set, and locks, of its own.
    pub(super) async fn run_complex(
        &mut self,
        write: &Arc<ComplexWrite>,
        values: Vec<Value>,
        columns: Columns<'_>,
    ) -> Result<Outcome> {
        let tag = if write.assigned.is_some() { "UPDATE" } else { "DELETE" };
        self.refuse_read_only(tag)?;
        let is_alone = !self.in_block() || self.writes_at_once(write.table.id);
        let mut own = self.new_set();
        if !self.in_block() {
            let mut uses = vec![(write.table.id, TableMode::RowExclusive)];
            uses.extend(write.query.tables.iter().map(|table| (*table, TableMode::AccessShare)));
            self.use_tables_for(&mut own, &uses).await?;
        }
        let snapshot = match is_alone {
            true => self.database.engine.store().snapshot(),
            false => self.statement_snapshot(),
        };
        let (mut set, isolation) = match self.block.open() {
            Some(transaction) if !is_alone => {
                (std::mem::take(&mut transaction.set), transaction.isolation)
            }
            _ => (own, Isolation::ReadCommitted),
        };
        let changed = self.change_found(write, &values, (&snapshot, isolation), &mut set).await;
        if is_alone {
            let outcome = changed?;
            if !set.is_empty() {
                self.commit_set(set, None).await?;
            }
            return Ok(finish(outcome, tag, columns));
        }
        if let Some(transaction) = self.block.open() {
            transaction.set = set;
        }
        Ok(finish(changed?, tag, columns))
    }

    /// Finds the rows, locks them, finds those again that have changed meanwhile, and changes them.
    async fn change_found(
        &self,
        write: &Arc<ComplexWrite>,
        values: &[Value],
        (snapshot, isolation): (&Snapshot, Isolation),
        set: &mut WriteSet,
    ) -> Result<WriteOutcome> {
        let overlay = match self.own_before() {
            Some(own) => Overlay::clone(&own),
            None => Overlay::new(set, &write.query.tables),
        };
        let mut found = self.find(write, values, snapshot.clone(), overlay.clone()).await?;
        let (ids, kept) = self.ids(found).await?;
        found = kept;
        let mut newest = Newest::new();
        let mut rows = LockRows { session: self, isolation, snapshot, set, newest: &mut newest };
        for (number, id) in ids.iter().enumerate() {
            self.look_around_at(number).await?;
            rows.take((write.table.id, *id), mode(write), None).await?;
        }
        let is_newer = !newest.is_empty();
        let mut seen = snapshot.clone();
        if is_newer {
            let overlay = overlay.clone().with(&newest);
            found = self.find(write, values, snapshot.clone(), overlay).await?;
            seen = self.database.engine.store().snapshot();
        }
        let versions = (snapshot.version(), seen.version());
        let found =
            Found { write: write.clone(), found, ids: ids.into_iter().collect(), newest, versions };
        let outcome = self.change_rows(found, Seen::new(seen, isolation), set).await?;
        match is_newer {
            true => self.skip_verification("newer rows"),
            false => {
                let overlay = Some(Arc::new(overlay));
                self.verify_complex(write, values, snapshot, overlay, &outcome).await?;
            }
        }
        Ok(outcome)
    }

    /// The stored rows that a change's query has found, each once; gives the answer back.
    async fn ids(&self, found: Answer) -> Result<(Vec<RowId>, Answer)> {
        match found.rows() {
            ..=SHORT => Ok((ids(&found)?, found)),
            _ => long(self.limits.clone(), move || ids(&found).map(|ids| (ids, found))).await?,
        }
    }

    /// Now and then, in a loop over rows on the session's task: ends where the statement is to, and lets its client be looked at.
    pub(super) async fn look_around_at(&self, row: usize) -> Result<()> {
        if !row.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            return Ok(());
        }
        tokio::task::yield_now().await;
        self.limits.fault().map_or(Ok(()), Err)
    }

    /// Puts changes of locked rows into a set, which may take long.
    async fn change_rows(
        &self,
        mut found: Found,
        mut seen: Seen,
        set: &mut WriteSet,
    ) -> Result<WriteOutcome> {
        loop {
            let (engine, mut own) = (self.database.engine.clone(), std::mem::take(set));
            let change = move || {
                let mut outcome = None;
                let step = engine.change_in_transaction(&mut seen, &mut own, &mut |set| {
                    outcome = Some(found.apply(engine.store(), set)?);
                    Ok(())
                });
                (step, outcome, (found, seen, own))
            };
            let (step, outcome, kept) = long(self.limits.clone(), change).await?;
            (found, seen, *set) = kept;
            let is_done = self.settled(step?).await?.is_some();
            if let Some(outcome) = outcome.filter(|_| is_done) {
                return Ok(outcome);
            }
        }
    }

    /// Runs the query for the rows and their new values.
    async fn find(
        &self,
        write: &ComplexWrite,
        values: &[Value],
        snapshot: Snapshot,
        overlay: Overlay,
    ) -> Result<Answer> {
        let reading = self.reading(snapshot, Some(Arc::new(overlay)));
        let reading = Reading { pipelining: None, ..reading };
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
    /// The rows that were found at first.
    ids: HashSet<RowId>,
    /// Those of them that are others than the snapshot's.
    newest: Newest,
    /// Of the snapshot, and of what is newer.
    versions: (Version, Version),
}

fn ids(found: &Answer) -> Result<Vec<RowId>> {
    let (mut seen, mut ids) = (HashSet::new(), Vec::new());
    for part in &found.parts {
        for row in 0..part.rows() {
            check_at(row)?;
            if let ValueRef::BigInt(id @ 0..) = part.cell(row, 0)
                && seen.insert(id)
            {
                ids.push(RowId(id.cast_unsigned()));
            }
        }
    }
    Ok(ids)
}

/// How a change locks its rows.
fn mode(write: &ComplexWrite) -> LockMode {
    let unique = write.table.indexes.iter().filter(|index| index.unique);
    let mut of_keys = unique.flat_map(|index| &index.columns);
    match &write.assigned {
        Some(assigned) if !of_keys.any(|column| assigned.contains(column)) => LockMode::NoKeyUpdate,
        _ => LockMode::Update,
    }
}

impl Found {
    /// Puts the changes into the set.
    fn apply(&self, store: &Store, set: &mut WriteSet) -> Result<WriteOutcome> {
        let (write, version) = (&*self.write, self.versions.1);
        let first = 1 + write.assigned.as_ref().map_or(0, Vec::len);
        let mut returning = Returned::new(write, first);
        let rows = self.change(store, set, &mut returning)?;
        let returning = returning.answer();
        Ok(WriteOutcome { version, rows, returning, drawn: Drawn::default(), is_first: false })
    }

    fn change(&self, store: &Store, set: &mut WriteSet, returning: &mut Returned) -> Result<u64> {
        let Found { write, found, ids, newest, versions } = self;
        let table = &write.table;
        let stored = store
            .table(table.id)
            .ok_or_else(|| crate::statement::naming::undefined_table(&table.name))?;
        let view = stored.view(versions.0);
        let mut seen: HashSet<RowId> = HashSet::new();
        let mut changes: Vec<(RowId, Box<[Value]>)> = Vec::new();
        for part in &found.parts {
            for row in 0..part.rows() {
                check_at(row)?;
                let ValueRef::BigInt(id) = part.cell(row, 0) else { continue };
                let id = RowId(id as u64);
                // A row that joins with several is changed once, as the first says; none comes by what others have changed.
                if !seen.insert(id) || !WriteSet::is_provisional(id) && !ids.contains(&id) {
                    continue;
                }
                returning.push(part, row);
                let Some(assigned) = &write.assigned else {
                    changes.push((id, Box::default()));
                    continue;
                };
                let mut new = match set.lookup(table.id, id) {
                    OwnRow::Row(own) => own.to_vec(),
                    _ => match newest.get(&(table.id, id)) {
                        Some(newest) => newest.clone().unwrap_or_default(),
                        None => view.resolve(id).map(|at| view.row(at)).unwrap_or_default(),
                    },
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
            let is_newer = newest.contains_key(&(table.id, id));
            let version = if is_newer { versions.1 } else { versions.0 };
            match &write.assigned {
                Some(_) => set.update(table.id, id, version, row),
                None => set.delete(table.id, id, version),
            }
            set.make_room()?;
        }
        Ok(rows)
    }
}

/// Asks now and then, in a loop over rows, whether the statement goes on.
pub(crate) fn check_at(row: usize) -> Result<()> {
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
