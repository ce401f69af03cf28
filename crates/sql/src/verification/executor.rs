//! The door to whatever runs a statement by itself: [`Executor`]. Behind it stand the query-at-a-time path and the global
//! plan, each for what the other one has answered; they share no operator.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::heartbeat::{Activation, Answer, Engine, Sharing};
use engine::storage::{Snapshot, Store};
use engine::types::{Error, Result, SqlState, Value};
use futures::TryStreamExt;

use super::rows::cells;
use super::shape::without_cut;
use crate::alone::{self, Found, Limits, Overlay, Reading};
use crate::template::{Path, QueryTemplate, fault};
use crate::text::SessionZone;

/// Cells of the largest answer that is compared.
pub const LARGEST: usize = 4 << 20;

/// A statement with its parameters, and what it reads.
#[derive(Clone, Debug)]
pub struct Question {
    /// The statement.
    pub template: Arc<QueryTemplate>,
    /// One value per parameter.
    pub values: Arc<[Value]>,
    /// What it reads, pinned.
    pub snapshot: Snapshot,
    /// Under the transaction's own changes.
    pub overlay: Option<Arc<Overlay>>,
    /// Without the statement's own LIMIT and OFFSET.
    pub is_uncut: bool,
    /// Whether its session is in UTC.
    pub zone: SessionZone,
}

/// Runs a statement with these parameters by itself on this snapshot, all of it: nothing of it is shared with anybody.
#[async_trait::async_trait]
pub trait Executor: std::fmt::Debug + Send + Sync {
    /// The answer; 54000 where it is too large to be compared, 57014 once `cancelled` is set.
    async fn run(&self, question: &Question, cancelled: &Arc<AtomicBool>) -> Result<Answer>;
}

/// The error of an answer that is too large to be compared.
pub fn too_large() -> Error {
    Error::new(SqlState::ProgramLimit, "the answer is too large to be compared")
}

/// Query at a time.
#[derive(Debug)]
pub struct QueryAtATime {
    /// The tables.
    pub store: Arc<Store>,
}

#[async_trait::async_trait]
impl Executor for QueryAtATime {
    async fn run(&self, question: &Question, cancelled: &Arc<AtomicBool>) -> Result<Answer> {
        let Question { template, values, snapshot, overlay, is_uncut, .. } = question;
        let uncut = is_uncut.then(|| uncut(template)).transpose()?;
        let template = uncut.as_ref().unwrap_or(template);
        let reading = Reading {
            store: self.store.clone(),
            snapshot: snapshot.clone(),
            overlay: overlay.clone(),
            found: Found::default(),
            limits: Limits::of(cancelled.clone()),
            pipelining: None,
        };
        let mut answers = alone::run(template, values, &reading).await?;
        let mut all = Answer::new(template.output.clone(), Vec::new());
        let mut size = 0;
        while let Some(answer) = answers.try_next().await? {
            size += cells(&answer);
            if size > LARGEST {
                return Err(too_large());
            }
            all.parts.extend(answer.parts);
        }
        Ok(all)
    }
}

/// The statement without its own LIMIT and OFFSET.
fn uncut(template: &QueryTemplate) -> Result<Arc<QueryTemplate>> {
    let plan = without_cut(template.plan.clone()).map_err(|error| fault(&error))?;
    Ok(Arc::new(QueryTemplate {
        text: template.text.clone(),
        parameters: template.parameters.clone(),
        columns: template.columns.clone(),
        output: template.output.clone(),
        path: Path::Alone("it verifies another one".to_owned()),
        tables: template.tables.clone(),
        version: template.version,
        plan,
        planning: template.planning.clone(),
        engine: template.engine.clone(),
    }))
}

/// The global plan, in a batch of one.
#[derive(Debug)]
pub struct GlobalPlan {
    /// Where the statement is registered.
    pub engine: Arc<Engine>,
}

#[async_trait::async_trait]
impl Executor for GlobalPlan {
    async fn run(&self, question: &Question, cancelled: &Arc<AtomicBool>) -> Result<Answer> {
        let Question { template, values, snapshot, is_uncut, .. } = question;
        if *is_uncut {
            // The registered template has its LIMIT.
            let store = self.engine.store().clone();
            return QueryAtATime { store }.run(question, cancelled).await;
        }
        let Some(template) = template.shared() else {
            let message = "the global plan does not have the statement";
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        };
        let (send, receive) = tokio::sync::oneshot::channel();
        let wanted = template.plan.parameters.len().min(values.len());
        self.engine.submit(Activation {
            template: template.clone(),
            parameters: values[..wanted].into(),
            snapshot: Some(snapshot.clone()),
            sharing: Sharing::Never,
            deadline: None,
            cancelled: cancelled.clone(),
            figures: None,
            receiver: Box::new(move |answer| {
                // Nobody waits any more once the time is up.
                let _ = send.send(answer);
            }),
        });
        self.engine.lead(template.lane());
        let gone = |_| Err(Error::new(SqlState::AdminShutdown, "the engine has gone"));
        let answer = receive.await.unwrap_or_else(gone)?;
        match cells(&answer) <= LARGEST {
            true => Ok(answer),
            false => Err(too_large()),
        }
    }
}
