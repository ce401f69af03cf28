//! Running a prepared statement: the rules that hold for all of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use engine::types::{DataType, Error, Result, SqlState, TableId, Value};

use super::block::{Block, Transaction};
use super::limited::limited;
use super::prepared::{Plan, Prepared};
use super::{ColumnDescription, ImplicitTransaction, OpenedBy, Outcome, Session, Statement, now};
use crate::alone::Found;
use crate::notification::Departure;
use crate::statement::locked_subqueries::Earlier;
use crate::text::{polled_in_zone, rounded_numeric};

/// Whether a statement may have failed only because definitions have changed since it was planned.
fn is_of_old_plan(fault: &Error) -> bool {
    matches!(fault.state, SqlState::UndefinedTable | SqlState::OutdatedPlan)
}

/// The engine went away under a waiting statement.
pub(super) fn shut_down() -> Error {
    Error::new(SqlState::AdminShutdown, "terminating connection due to administrator command")
}

/// The block has failed.
pub(super) fn aborted() -> Error {
    let message = "current transaction is aborted, commands ignored until end of transaction block";
    Error::new(SqlState::FailedTransaction, message)
}

impl Session {
    /// Runs a statement: 25P02 in a failed block unless it ends the block; 0A000 "cached plan must
    /// not change result type" when DDL changed the columns since `prepare`.
    pub async fn execute(
        &mut self,
        statement: &Arc<Statement>,
        parameters: Vec<Value>,
        implicit: ImplicitTransaction,
    ) -> Result<Outcome> {
        self.begin_usage();
        let (stay, promised) = match self.let_in(statement) {
            Ok(let_in) => let_in,
            Err(refusal) => {
                self.block.fail();
                return Err(refusal);
            }
        };
        self.begin_promised(promised);
        self.has_defined = false;
        self.pinned = None;
        let zone = self.settings.zone().clone();
        let outcome = match self.limits.deadline() {
            None if zone.is_utc() => self.run(statement, parameters, implicit).await,
            Some(deadline) if zone.is_utc() => {
                self.run_limited(statement, parameters, implicit, deadline).await
            }
            // What is rare lies elsewhere than in the future that every statement has moved about.
            None => {
                let run = Box::pin(self.run(statement, parameters, implicit));
                polled_in_zone(zone, run).await
            }
            Some(deadline) => {
                let run = self.run_limited(statement, parameters, implicit, deadline);
                polled_in_zone(zone, Box::pin(run)).await
            }
        };
        drop(stay);
        let mut outcome = outcome.map_err(|fault| self.limits.told(fault));
        if let Ok(Outcome::Rows(rows)) = &mut outcome {
            rows.zone = self.settings.zone().clone();
        }
        self.is_computed(outcome.as_ref().err());
        if let Err(fault) = &outcome {
            self.audit(&statement.text, fault);
            self.block.fail();
        }
        outcome.map_err(|fault| crate::template::place(fault, &statement.text))
    }

    async fn run_limited(
        &mut self,
        statement: &Arc<Statement>,
        parameters: Vec<Value>,
        implicit: ImplicitTransaction,
        deadline: Instant,
    ) -> Result<Outcome> {
        let cancelled = self.limits.cancelled.clone();
        let mut run = std::pin::pin!(self.run(statement, parameters, implicit));
        tokio::select! {
            biased;
            outcome = &mut run => outcome,
            () = tokio::time::sleep_until(deadline.into()) => {
                cancelled.store(true, Ordering::Relaxed);
                run.await
            }
        }
    }

    pub(super) async fn run(
        &mut self,
        statement: &Arc<Statement>,
        mut parameters: Vec<Value>,
        implicit: ImplicitTransaction,
    ) -> Result<Outcome> {
        let plan = &statement.prepared.plan;
        if self.block.is_failed() && !plan.ends_block() {
            return Err(aborted());
        }
        check_count(statement, &parameters)?;
        let renewed = self.renew(statement).await?;
        let statement = renewed.as_ref().unwrap_or(statement);
        self.join(&statement.prepared.plan, implicit);
        self.check_rights(&statement.prepared)?;
        self.refuse_replaced(&statement.prepared)?;
        round(&statement.prepared.rounded, &mut parameters)?;
        let is_alone = matches!(self.block, Block::Idle);
        if statement.prepared.earlier.is_empty() || !is_alone {
            return self.run_planned(statement, &parameters, implicit).await;
        }
        // What it locks stays locked until its changes are visible: it is a transaction of its own.
        self.block = Block::Open(self.new_transaction(OpenedBy::Pipeline));
        let outcome = self.run_planned(statement, &parameters, implicit).await;
        let ended = Box::pin(self.end_implicit_block(outcome.is_err())).await;
        outcome.and_then(|outcome| ended.map(|()| outcome))
    }

    async fn run_planned(
        &mut self,
        statement: &Arc<Statement>,
        parameters: &[Value],
        implicit: ImplicitTransaction,
    ) -> Result<Outcome> {
        if self.minds_tables() && self.use_tables(statement.prepared.uses()).await? {
            let statement = Box::pin(self.renew_after_wait(statement)).await?;
            return self.run_on_tables(&statement, parameters, implicit).await;
        }
        self.run_on_tables(statement, parameters, implicit).await
    }

    /// A statement that has waited for its tables, as it is planned now, and with what it uses now.
    async fn renew_after_wait(&mut self, statement: &Arc<Statement>) -> Result<Arc<Statement>> {
        let mut statement = statement.clone();
        loop {
            self.database.planner.refresh();
            if let Some(renewed) = self.renew(&statement).await? {
                self.check_rights(&renewed.prepared)?;
                statement = renewed;
            }
            self.refuse_replaced(&statement.prepared)?;
            if !self.use_tables(statement.prepared.uses()).await? {
                return Ok(statement);
            }
        }
    }

    /// Runs a statement that may use its tables.
    async fn run_on_tables(
        &mut self,
        statement: &Arc<Statement>,
        parameters: &[Value],
        implicit: ImplicitTransaction,
    ) -> Result<Outcome> {
        match self.dispatch(statement, parameters, implicit).await {
            Err(fault) if is_of_old_plan(&fault) => {
                Box::pin(self.run_again(statement, parameters, implicit, fault)).await
            }
            outcome => outcome,
        }
    }

    /// Opens the implicit transaction of several statements, which lasts until `end_implicit`.
    fn join(&mut self, plan: &Plan, implicit: ImplicitTransaction) {
        let opened_by = match plan.notifies() {
            // What it says is told when its rows have been computed.
            true => Some(implicit.opened_by().unwrap_or(OpenedBy::Pipeline)),
            false => implicit.opened_by(),
        };
        if let (Block::Idle, Some(opened_by)) = (&self.block, opened_by)
            && plan.joins(opened_by)
        {
            self.block = Block::Open(self.new_transaction(opened_by));
        }
    }

    /// A table that the statement was planned with is gone when it runs, or is no longer what it was: if it was stored anew
    /// or changed meanwhile, the statement is planned again, while nobody else changes definitions.
    async fn run_again(
        &mut self,
        statement: &Arc<Statement>,
        parameters: &[Value],
        implicit: ImplicitTransaction,
        fault: Error,
    ) -> Result<Outcome> {
        let store = self.database.engine.store().clone();
        let is_there = |table: &TableId| store.table(*table).is_some();
        let plan = &statement.prepared.plan;
        let is_gone = fault.state == SqlState::UndefinedTable;
        if is_gone && statement.prepared.tables().iter().all(is_there) && !plan.is_copy_to() {
            return Err(fault);
        }
        self.queue_for_definitions().await?;
        let _defining = self.define_alone().await?;
        if statement.prepared.holds(&self.catalog()) {
            self.database.planner.refresh();
        }
        match self.renew(statement).await? {
            Some(renewed) => {
                self.check_rights(&renewed.prepared)?;
                self.refuse_replaced(&renewed.prepared)?;
                self.dispatch(&renewed, parameters, implicit).await
            }
            // Its query is planned whenever it runs.
            None if statement.prepared.plan.is_copy_to() => {
                self.dispatch(statement, parameters, implicit).await
            }
            None => Err(fault),
        }
    }

    /// 40001 where a transaction's snapshot is older than a table that took another one's place.
    fn refuse_replaced(&mut self, prepared: &Prepared) -> Result<()> {
        let store = self.database.engine.store();
        let Some(transaction) = self.block.open() else { return Ok(()) };
        let Some(snapshot) = &transaction.snapshot else { return Ok(()) };
        let is_newer = |table: &TableId| {
            store.table(*table).is_some_and(|table| table.oldest_version() > snapshot.version())
        };
        match prepared.tables().iter().any(is_newer) {
            true => {
                let message = "could not serialize access due to concurrent change of the table's \
                               definition";
                Err(Error::new(SqlState::SerializationFailure, message))
            }
            false => Ok(()),
        }
    }

    /// Runs a statement's plan, and before it what locks rows below its top or changes rows in WITH.
    async fn dispatch(
        &mut self,
        statement: &Arc<Statement>,
        parameters: &[Value],
        implicit: ImplicitTransaction,
    ) -> Result<Outcome> {
        if statement.prepared.earlier.is_empty() {
            return self.run_plan(statement, parameters, implicit).await;
        }
        let outcome = match Box::pin(self.run_earlier(statement, parameters)).await {
            Ok(()) => self.run_plan(statement, parameters, implicit).await,
            Err(fault) => Err(fault),
        };
        self.found = Found::default();
        if outcome.is_err() {
            self.forget_changes();
        }
        self.pinned = None;
        outcome
    }

    /// Runs what comes before a statement, and keeps what it gives.
    async fn run_earlier(
        &mut self,
        statement: &Arc<Statement>,
        parameters: &[Value],
    ) -> Result<()> {
        let values = self.values(parameters, &statement.literals, true);
        for earlier in &statement.prepared.earlier {
            match earlier {
                Earlier::Locking(query) => self.lock_subquery(query, &values).await?,
                Earlier::Modifying(query) => {
                    self.run_modifying(statement, query, parameters).await?;
                }
            }
        }
        Ok(())
    }

    async fn run_plan(
        &mut self,
        statement: &Arc<Statement>,
        parameters: &[Value],
        implicit: ImplicitTransaction,
    ) -> Result<Outcome> {
        if statement.prepared.plan.reads_nothing() {
            self.skip_verification("no query");
        }
        match &statement.prepared.plan {
            Plan::Empty => Ok(Outcome::Empty),
            Plan::Query(query) => {
                let values = self.values(parameters, &statement.literals, query.now);
                self.run_query(query, values).await
            }
            Plan::SessionQuery(query) => {
                let types = &statement.parameter_types;
                Box::pin(self.run_session_query(query, types, parameters)).await
            }
            plan @ (Plan::Write(_) | Plan::InsertQuery(_) | Plan::Complex(_)) => {
                self.run_change(plan, statement.columns.as_ref(), parameters, &statement.literals)
                    .await
            }
            Plan::Constant(_) => Box::pin(self.run_constant(statement, parameters)).await,
            Plan::Command(command) => Box::pin(self.run_command(command)).await,
            Plan::Declare(declare) => {
                Box::pin(self.declare_cursor(declare, parameters.to_vec())).await
            }
            Plan::Utility(utility) => {
                let utility = utility.clone();
                Box::pin(self.run_utility(&utility, &statement.text, implicit)).await
            }
        }
    }

    /// Runs INSERT, UPDATE or DELETE.
    pub(super) async fn run_change(
        &mut self,
        plan: &Plan,
        columns: Option<&Arc<[ColumnDescription]>>,
        parameters: &[Value],
        literals: &[Value],
    ) -> Result<Outcome> {
        self.refuse_changed(plan)?;
        match plan {
            Plan::Write(write) => {
                let values = self.values(parameters, literals, write.now);
                self.run_write(write, values, columns).await
            }
            Plan::InsertQuery(insert) => {
                let values = self.values(parameters, literals, insert.now);
                Box::pin(self.run_insert_query(insert, values)).await
            }
            Plan::Complex(write) => {
                let values = self.values(parameters, literals, write.now);
                Box::pin(self.run_complex(write, values, columns)).await
            }
            other => unreachable!("{other:?} changes no rows"),
        }
    }

    /// Has a table's values counted anew.
    pub(crate) async fn recount(&self, table: TableId) -> Result<()> {
        let (send, receive) = tokio::sync::oneshot::channel();
        let receiver = Box::new(move |outcome: Result<_>| drop(send.send(outcome.map(|_| ()))));
        self.database.engine.recount(table, receiver);
        limited(&self.limits, receive).await?.unwrap_or_else(|_| Err(shut_down()))
    }

    /// A statement's parameters: the client's, the lifted literals', the transaction's start.
    pub(super) fn values(
        &mut self,
        parameters: &[Value],
        literals: &[Value],
        with_now: bool,
    ) -> Vec<Value> {
        let mut values =
            Vec::with_capacity(parameters.len() + literals.len() + usize::from(with_now));
        values.extend_from_slice(parameters);
        values.extend_from_slice(literals);
        if with_now {
            values.push(Value::TimestampTz(self.started()));
        }
        values
    }

    /// The transaction's start, which `now()` gives; outside a block the statement's.
    pub(crate) fn started(&mut self) -> i64 {
        self.block.any().map_or_else(now, |transaction| transaction.started)
    }

    /// Plans a statement again when the catalog has changed under it. Its answer must look the
    /// same.
    pub(super) async fn renew(
        &mut self,
        statement: &Arc<Statement>,
    ) -> Result<Option<Arc<Statement>>> {
        let plan = &statement.prepared.plan;
        if matches!(plan, Plan::Constant(_) | Plan::Command(_) | Plan::Declare(_) | Plan::Empty) {
            return Ok(None);
        }
        let stays = matches!(statement.prepared.plan, Plan::Utility(_));
        let holds = statement.prepared.holds(&self.catalog());
        let is_elsewhere = statement.zone != *self.settings.zone();
        if !is_elsewhere && (stays || holds) {
            return Ok(None);
        }
        let renewed = Box::pin(self.prepare_part(&statement.text, &statement.declared)).await?;
        let same_types = renewed.parameter_types == statement.parameter_types;
        if !same_types || !same_columns(statement, &renewed) {
            let message = "cached plan must not change result type";
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
        Ok(Some(renewed))
    }

    /// Sync, or the end of a simple Query: commits the implicit transaction, if any; after an error
    /// rolls it back.
    pub async fn end_implicit(&mut self, failed: bool) -> Result<()> {
        let ended = self.end_implicit_block(failed).await;
        // What it has allocated and others keep (rows of tables) must not be taken for its next statement's.
        self.begin_usage();
        ended
    }

    async fn end_implicit_block(&mut self, failed: bool) -> Result<()> {
        if self.block.is_explicit() {
            if failed {
                self.block.fail();
            }
            return Ok(());
        }
        match std::mem::take(&mut self.block) {
            Block::Idle => Ok(()),
            Block::Open(transaction) if !failed => self.commit_transaction(transaction).await,
            Block::Open(mut transaction) | Block::Failed(mut transaction) => {
                self.take_back_definitions(&mut transaction).await;
                self.abandon(transaction);
                Ok(())
            }
        }
    }

    /// Makes a transaction's changes durable and visible. The session is outside a block when this
    /// is called.
    pub(crate) async fn commit_transaction(
        &mut self,
        mut transaction: Box<Transaction>,
    ) -> Result<()> {
        if !self.cursors.is_empty()
            && let Err(error) = self.end_cursors().await
        {
            self.take_back_definitions(&mut transaction).await;
            self.abandon(transaction);
            return Err(error);
        }
        let local = transaction.settings_to_restore(true);
        let said = self.departure(&mut transaction);
        let outcome = self.commit_changes(&mut transaction, said).await;
        match outcome.is_ok() {
            true => local.into_iter().for_each(|before| self.settings.restore(before)),
            false => {
                local.into_iter().for_each(|before| self.settings.restore(before));
                self.abandon(transaction);
            }
        }
        outcome
    }

    async fn commit_changes(
        &mut self,
        transaction: &mut Transaction,
        said: Option<Departure>,
    ) -> Result<()> {
        let (definitions, speaks) = (transaction.definitions.take(), said.is_some());
        let set = std::mem::take(&mut transaction.set);
        let outcome = match (definitions, set.is_empty()) {
            (Some(definitions), _) => self.commit_definitions(definitions, set, said).await,
            (None, true) => {
                said.into_iter().for_each(|said| self.database.exchange.take_in(said));
                Ok(())
            }
            (None, false) => self.commit_set(set, said).await,
        };
        if speaks {
            self.database.exchange.hand_over();
        }
        outcome
    }

    /// Forgets a transaction's changes and puts its settings back.
    pub(crate) fn abandon(&mut self, mut transaction: Box<Transaction>) {
        self.abandon_cursors();
        for before in transaction.settings_to_restore(false) {
            self.settings.restore(before);
        }
    }

    /// Takes the transaction out of the session.
    pub(crate) fn take_block(&mut self) -> Block {
        std::mem::take(&mut self.block)
    }

    /// The block, to be changed by transaction control.
    pub(crate) fn block_mut(&mut self) -> &mut Block {
        &mut self.block
    }

    /// 25006 for a statement that writes in a read-only transaction.
    pub(crate) fn refuse_read_only(&mut self, tag: &str) -> Result<()> {
        let read_only = match self.block.any() {
            Some(transaction) => transaction.read_only,
            None => self.settings.is_on("default_transaction_read_only"),
        };
        if !read_only {
            return Ok(());
        }
        let tag = tag.trim_end_matches(" 0");
        let message = format!("cannot execute {tag} in a read-only transaction");
        Err(Error::new(SqlState::ReadOnlyTransaction, message))
    }
}

fn check_count(statement: &Statement, parameters: &[Value]) -> Result<()> {
    if parameters.len() == statement.parameters.len() {
        return Ok(());
    }
    let message = format!(
        "bind message supplies {} parameters, but prepared statement requires {}",
        parameters.len(),
        statement.parameters.len()
    );
    Err(Error::new(SqlState::ProtocolViolation, message))
}

/// Rounds what the statement only has as a numeric of some scale: 22003 where it has too many digits before the point.
fn round(rounded: &[(usize, DataType)], parameters: &mut [Value]) -> Result<()> {
    for (index, wanted) in rounded {
        if let Value::Numeric(unscaled, own) = parameters[*index] {
            parameters[*index] = rounded_numeric(unscaled, own, *wanted)?;
        }
    }
    Ok(())
}

fn same_columns(old: &Statement, new: &Statement) -> bool {
    match (&old.columns, &new.columns) {
        (Some(old), Some(new)) => {
            let pairs = old.iter().zip(new.iter());
            old.len() == new.len()
                && pairs.into_iter().all(|(a, b)| a.name == b.name && a.type_id == b.type_id)
        }
        (None, None) => true,
        _ => false,
    }
}
