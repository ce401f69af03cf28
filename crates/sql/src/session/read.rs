//! Queries: through the shared engine, or alone on the same snapshot.

use std::sync::Arc;

use engine::heartbeat::{Activation, Answer, LoneRun, Sharing, Template};
use engine::storage::Snapshot;
use engine::transaction::Isolation;
use engine::types::{DataType, Error, Result, SqlState, TableId, Value};
use tokio::sync::oneshot;

use super::awaited::Awaited;
use super::functions::{Functions, give_parameters};
use super::limited::{limited, limited_answers};
use super::own_reads;
use super::prepared::Query;
use super::settings::PathSetting;
use super::table_locks::of_query;
use super::verified::Drawn;
use super::{Outcome, Rows, Session, lone};
use crate::alone::{self, Overlay, Pipelining, Reading};
use crate::template::{Path, QueryTemplate};
use crate::text::session_zone;
use crate::verification::{Question, Taken};

impl Session {
    /// Runs a query.
    pub(super) async fn run_query(&mut self, query: &Query, values: Vec<Value>) -> Result<Outcome> {
        let template = &query.template;
        if let Some(locking) = &query.locking {
            self.refuse_read_only(&locking.command())?;
            return Box::pin(self.run_locking(template, locking, values)).await;
        }
        let pieces = self.read(template, values).await?;
        let columns = template.columns.clone();
        Ok(Outcome::Rows(Rows {
            columns,
            pieces,
            tag: "SELECT",
            counted: true,
            zone: self.settings.zone().clone(),
        }))
    }

    /// A query over the session: its functions become their values, then it is planned for this
    /// once.
    pub(super) async fn run_session_query(
        &mut self,
        query: &datafusion::sql::sqlparser::ast::Query,
        types: &[DataType],
        values: &[Value],
    ) -> Result<Outcome> {
        let mut query = query.clone();
        give_parameters(&mut query, types, values)?;
        let mut functions = Functions::collect(
            &query,
            self.settings.changed(),
            self.acting_role(),
            self.channels(),
        );
        let called = functions.evaluate(self).await;
        // What a statement by itself has taken until the end of its transaction.
        let _own = self.end_statement_locks();
        called?;
        functions.replace(&mut query)?;
        let query = self.locking_query(&query).await?;
        if self.minds_tables() {
            self.use_tables(&of_query(&query)).await?;
        }
        self.run_query(&query, Vec::new()).await
    }

    /// The answer of a query, as the transaction sees it.
    pub(crate) async fn read(
        &mut self,
        template: &Arc<QueryTemplate>,
        values: Vec<Value>,
    ) -> Result<alone::Answers> {
        let values: Arc<[Value]> = values.into();
        if let Some(own) = self.own_before() {
            return Box::pin(self.read_before(template, &values, own)).await;
        }
        let touched = self.touched(&template.tables);
        let drawn = self.draw_unless_found();
        if !touched.is_empty() {
            return Box::pin(self.read_own(template, values, &touched, drawn)).await;
        }
        let snapshot = self.transaction_snapshot();
        if let Path::Shared(shared) = &template.path
            && self.settings.path() != PathSetting::Alone
        {
            if let Some(run) = self.lone_run(shared) {
                let read = self.read_lone(template, shared, run, values, snapshot, drawn);
                return Box::pin(read).await;
            }
            let answer = self.submit(shared, &values, snapshot.clone(), drawn.as_ref()).await;
            // What is too large to be kept whole may go out piece by piece.
            let is_too_large = is_out_of_memory(&answer) && self.is_automatic();
            if !is_outdated(&answer) && !is_too_large {
                if drawn.is_none() {
                    return answer.map(whole);
                }
                let verified = self.verify_shared(drawn, template, &values, snapshot, answer);
                return Box::pin(verified).await.map(whole);
            }
        }
        Box::pin(self.read_alone(template, values, snapshot, drawn)).await
    }

    /// Query at a time.
    async fn read_alone(
        &self,
        template: &Arc<QueryTemplate>,
        values: Arc<[Value]>,
        snapshot: Option<Snapshot>,
        drawn: Option<Drawn>,
    ) -> Result<alone::Answers> {
        let snapshot = snapshot.unwrap_or_else(|| self.database.engine.store().snapshot());
        let reading = self.reading(snapshot, None);
        let answers = self.run_alone(template, &values, &reading).await;
        self.verify_alone(drawn, template, &values, &reading.snapshot, answers).await
    }

    /// What was found under locks is not there for another path.
    fn draw_unless_found(&self) -> Option<Drawn> {
        if self.found.is_empty() {
            return self.draw();
        }
        self.skip_verification("locks below the top");
        None
    }

    /// Runs a query over what there was before its statement, to its end: a fault takes the statement's changes back.
    async fn read_before(
        &mut self,
        template: &Arc<QueryTemplate>,
        values: &Arc<[Value]>,
        own: Arc<Overlay>,
    ) -> Result<alone::Answers> {
        use futures::TryStreamExt;
        let overlay = (!own.is_empty()).then_some(own);
        let snapshot = self.statement_snapshot();
        let reading = self.reading(snapshot, overlay);
        let answers = self.run_alone(template, values, &reading).await?;
        let answers: Vec<Answer> = answers.try_collect().await?;
        let parts = answers.into_iter().flat_map(|answer| answer.parts).collect();
        Ok(whole(Answer::new(template.output.clone(), parts)))
    }

    /// Permission to run a query of the global plan query at a time.
    fn lone_run(&self, shared: &Arc<Template>) -> Option<LoneRun> {
        self.is_automatic().then(|| self.database.engine.lone_run(shared)).flatten()
    }

    /// Whether nobody says which path a query is to take.
    fn is_automatic(&self) -> bool {
        self.settings.path() == PathSetting::Automatic && self.sharing() == Sharing::Automatic
    }

    /// Runs a query of the global plan query at a time, since it is by itself and that is cheaper. Where the memory of that
    /// path does not do, the global plan has to.
    async fn read_lone(
        &self,
        template: &Arc<QueryTemplate>,
        shared: &Arc<Template>,
        run: LoneRun,
        values: Arc<[Value]>,
        snapshot: Option<Snapshot>,
        drawn: Option<Drawn>,
    ) -> Result<alone::Answers> {
        let own = snapshot.clone();
        let own = own.unwrap_or_else(|| self.database.engine.store().snapshot());
        let reading = self.reading(own, None);
        let answers = self.run_alone(template, &values, &reading);
        match lone::begin(answers, run, self.report.clone()).await {
            Err(error) if error.state == SqlState::OutOfMemory => {
                let answer = self.submit(shared, &values, snapshot.clone(), drawn.as_ref()).await;
                let answer = self.verify_shared(drawn, template, &values, snapshot, answer).await;
                Ok(whole(answer?))
            }
            answers => {
                self.verify_alone(drawn, template, &values, &reading.snapshot, answers).await
            }
        }
    }

    /// The whole answer of a query.
    pub(crate) async fn read_all(
        &mut self,
        template: &Arc<QueryTemplate>,
        values: Vec<Value>,
    ) -> Result<Answer> {
        use futures::TryStreamExt;
        let answers: Vec<Answer> = self.read(template, values).await?.try_collect().await?;
        let parts = answers.into_iter().flat_map(|answer| answer.parts).collect();
        Ok(Answer::new(template.output.clone(), parts))
    }

    /// The tables among these that the transaction has changed itself.
    fn touched(&mut self, tables: &[TableId]) -> Vec<TableId> {
        match self.block.open() {
            Some(transaction) if !transaction.set.is_empty() => {
                tables.iter().copied().filter(|table| transaction.set.touches(*table)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What the transaction's statements see: with REPEATABLE READ what the first one saw, else the
    /// newest, unless the statement's queries have to see the same.
    pub(super) fn transaction_snapshot(&mut self) -> Option<Snapshot> {
        let (store, pinned) = (self.database.engine.store(), self.pinned_snapshot());
        let Some(transaction) = self.block.open() else { return pinned };
        transaction.has_run = true;
        match transaction.isolation {
            Isolation::ReadCommitted => pinned,
            Isolation::RepeatableRead => {
                Some(transaction.snapshot.get_or_insert_with(|| store.snapshot()).clone())
            }
        }
    }

    /// The snapshot of a statement.
    pub(super) fn statement_snapshot(&mut self) -> Snapshot {
        let snapshot = self.transaction_snapshot();
        snapshot.unwrap_or_else(|| self.database.engine.store().snapshot())
    }

    /// With whom a query that runs alone shares; nobody after `SET shareddb.pipelining = off`.
    fn pipelining(&self) -> Option<Pipelining> {
        let is_on = !self.settings.is_changed_to("shareddb.pipelining", "off");
        is_on.then(|| Pipelining {
            lists: self.database.pipelines.clone(),
            report: self.report.clone(),
        })
    }

    fn sharing(&self) -> Sharing {
        self.settings.sharing().unwrap_or_else(|| self.database.engine.sharing())
    }

    pub(super) fn reading(&self, snapshot: Snapshot, overlay: Option<Arc<Overlay>>) -> Reading {
        let store = self.database.engine.store().clone();
        let (limits, found) = (self.limits.clone(), self.found.clone());
        // What only this statement has found is nobody else's.
        let pipelining = self.pipelining().filter(|_| found.is_empty());
        Reading { store, snapshot, overlay, found, limits, pipelining }
    }

    /// A query over tables that the transaction has changed: row by row where its plan is simple
    /// enough, since a block that reads what it just wrote must not pay for planning; else alone,
    /// under the changes.
    async fn read_own(
        &mut self,
        template: &Arc<QueryTemplate>,
        values: Arc<[Value]>,
        touched: &[TableId],
        drawn: Option<Drawn>,
    ) -> Result<alone::Answers> {
        let snapshot = self.statement_snapshot();
        let store = self.database.engine.store().clone();
        let Some(transaction) = self.block.open() else {
            unreachable!("only an open transaction has own changes");
        };
        if let Path::Shared(shared) = &template.path
            && let Some(answer) =
                own_reads::answer(&shared.plan, &values, &store, &snapshot, &transaction.set)?
        {
            if let Some(drawn) = drawn {
                let overlay = Some(Arc::new(Overlay::new(&transaction.set, touched)));
                let template = template.clone();
                let question = Question {
                    template,
                    values,
                    snapshot,
                    overlay,
                    is_uncut: false,
                    zone: session_zone(),
                };
                self.verify_found(drawn, question, Taken::RowByRow, answer.clone()).await?;
            }
            return Ok(whole(answer));
        }
        if drawn.is_some() {
            self.database.verification.skip("own changes");
        }
        let Some(transaction) = self.block.open() else { unreachable!("looked at above") };
        let overlay = Arc::new(Overlay::new(&transaction.set, touched));
        let reading = self.reading(snapshot, Some(overlay));
        self.run_alone(template, &values, &reading).await
    }

    async fn run_alone(
        &self,
        template: &Arc<QueryTemplate>,
        values: &[Value],
        reading: &Reading,
    ) -> Result<alone::Answers> {
        let answers = limited(&self.limits, alone::run(template, values, reading)).await??;
        Ok(limited_answers(self.limits.clone(), answers))
    }

    /// All rows of a query that runs alone.
    pub(super) async fn collect_alone(
        &self,
        template: &Arc<QueryTemplate>,
        values: &[Value],
        reading: &Reading,
    ) -> Result<Answer> {
        limited(&self.limits, alone::collect(template, values, reading)).await?
    }

    /// One activation of a template in the global plan.
    pub(super) async fn submit(
        &self,
        template: &Arc<Template>,
        values: &Arc<[Value]>,
        snapshot: Option<Snapshot>,
        drawn: Option<&Drawn>,
    ) -> Result<Answer> {
        let engine = &self.database.engine;
        let running = self.database.start();
        let (send, receive) = oneshot::channel();
        let has_left = Arc::default();
        let awaited = Awaited::new(receive, self.limits.cancelled.clone(), Arc::clone(&has_left));
        let wanted = template.plan.parameters.len();
        engine.submit(Activation {
            template: template.clone(),
            parameters: match values.get(..wanted) {
                Some(first) if wanted < values.len() => first.into(),
                _ => values.clone(),
            },
            snapshot,
            sharing: self.sharing(),
            deadline: self.limits.promised_by(),
            cancelled: has_left,
            figures: self.figures.clone(),
            receiver: match drawn {
                Some(drawn) => drawn.receiver(send),
                // Nobody waits any more where the client has gone.
                None => Box::new(move |answer| drop(send.send(answer))),
            },
        });
        if running.in_company() {
            // Others are about to submit: let them, so that one batch takes all.
            tokio::task::yield_now().await;
        }
        engine.lead(template.lane());
        awaited.await
    }
}

/// Whether a definition has changed since the statement was planned: query at a time it reads the tables as they are.
fn is_outdated(answer: &Result<Answer>) -> bool {
    answer.as_ref().is_err_and(|error| error.state == SqlState::OutdatedPlan)
}

fn is_out_of_memory(answer: &Result<Answer>) -> bool {
    answer.as_ref().is_err_and(|error| error.state == SqlState::OutOfMemory)
}

/// An answer that is there at once.
fn whole(answer: Answer) -> alone::Answers {
    Box::pin(futures::stream::once(std::future::ready(Ok(answer))))
}

/// The one value of a scalar subquery's answer: NULL for no row, 21000 for several.
pub(super) fn single_value(answer: &Answer) -> Result<Value> {
    if answer.rows() > 1 {
        let message = "more than one row returned by a subquery used as an expression";
        return Err(Error::new(SqlState::CardinalityViolation, message));
    }
    let part = answer.parts.iter().find(|part| part.rows() > 0);
    Ok(part.map_or(Value::Null, |part| part.cell(0, 0).to_owned()))
}
