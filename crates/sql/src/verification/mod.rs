//! Answers run again by a path that shares no operator with the first, and compared: an oracle that runs with the server.
//!
//! In comes an activation that was drawn (`Verification::is_drawn`) with what its client got or is about to get
//! (`Given`); out goes a `Verdict`, into the engine's ledger (`shareddb.verification`), and a difference into the log and
//! `shareddb.differences` too. What the global plan answered runs query at a time, what ran alone in the global plan in a
//! batch of its own (`executor`, a door behind which anything may stand that can run a statement by itself); `shape` says
//! what a statement fixes of its answer, `compare` compares. One thread does this, one answer at a time (`queue`).
//! Called by `session::verified`. Absent here: what is drawn costs nothing but a look at a number where nobody asks for it.

mod allowance;
mod compare;
mod executor;
mod judge;
mod queue;
mod rows;
mod searches;
mod shape;
mod share;
mod show;

use std::sync::Arc;

use engine::env::{Randomness, SeededRandomness};
use engine::heartbeat::{Answer, Difference, Engine, Witness};
use engine::types::{DataType, Error, Result, SqlState};

use crate::catalog::Catalog;
use crate::session::Database;
use crate::statement::search::Search;
use allowance::Allowance;
pub use executor::{Executor, GlobalPlan, QueryAtATime, Question};
use judge::Judge;
pub use judge::Verdict;
use queue::{Job, Queue};
use rows::cells;
use searches::Searches;
pub use share::Share;

/// What is verified, and how.
#[derive(Clone, Debug, Default)]
pub struct VerificationOptions {
    /// Which share of all activations, where a session does not say otherwise.
    pub share: Share,
    /// Whether a client whose answer differs is told XX001 in place of it.
    pub is_strict: bool,
    /// What is drawn is the same with the same seed; `None` for another seed each time.
    pub seed: Option<u64>,
    /// What runs statements again; `None` for the path that they have not taken.
    pub executor: Option<Arc<dyn Executor>>,
}

/// Where an answer was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// In a batch of the global plan.
    Global,
    /// Query at a time.
    Alone,
    /// Row by row, under the transaction's own changes.
    RowByRow,
}

/// An answer and what it answers.
#[derive(Clone, Debug)]
pub struct Given {
    /// The statement, its parameters and its snapshot.
    pub question: Question,
    /// What its client gets.
    pub answer: Result<Answer>,
    /// Where it was computed.
    pub taken: Taken,
    /// What it was computed beside.
    pub witness: Option<Witness>,
}

/// Verifies answers; one per database.
#[derive(Debug)]
pub struct Verification {
    share: Share,
    is_strict: bool,
    executor: Option<Arc<dyn Executor>>,
    randomness: Arc<dyn Randomness>,
    engine: Arc<Engine>,
    allowance: Arc<Allowance>,
    queue: Queue,
    searches: Searches,
}

impl Verification {
    /// With nothing under way yet; the thread starts with the first answer.
    pub fn new(options: VerificationOptions, engine: &Arc<Engine>) -> Verification {
        let VerificationOptions { share, is_strict, seed, executor } = options;
        let environment = engine.environment();
        let randomness: Arc<dyn Randomness> = match seed {
            Some(seed) => Arc::new(SeededRandomness::new(seed)),
            None => environment.randomness.clone(),
        };
        let allowance = Arc::new(Allowance::new(environment.clock.clone()));
        let queue = Queue::new(Judge::new(engine.clone(), allowance.clone()));
        Verification {
            share,
            is_strict,
            executor,
            randomness,
            engine: engine.clone(),
            allowance,
            queue,
            searches: Searches::default(),
        }
    }

    /// What finds the rows of a write again; `None` where it looks for none.
    pub fn search(
        &self,
        database: &Database,
        catalog: &Arc<Catalog>,
        text: &Arc<str>,
        types: &[DataType],
    ) -> Option<Search> {
        self.searches.find(database, catalog, text, types)
    }

    /// Which share of all activations, where a session does not say otherwise.
    pub fn share(&self) -> Share {
        self.share
    }

    /// Whether an answer is held back until it is verified.
    pub fn is_strict(&self) -> bool {
        self.is_strict
    }

    /// Whether this activation is one of the share.
    pub fn is_drawn(&self, share: Share) -> bool {
        share.draws(&*self.randomness)
    }

    /// Counts what was drawn and cannot be verified.
    pub fn skip(&self, reason: &'static str) {
        self.engine.ledger().skip(reason);
    }

    /// Has an answer verified. Where that is strict its verdict is waited for, else only a place in the queue, and that only
    /// where all activations are verified. `gives_up` ends the wait.
    pub async fn check(
        &self,
        given: Given,
        share: Share,
        gives_up: impl Future<Output = Error>,
    ) -> Result<()> {
        let executor = match self.executor_of(&given) {
            Ok(executor) => executor,
            Err(reason) => {
                self.skip(reason);
                return Ok(());
            }
        };
        if !self.allowance.admits(share) {
            self.skip("time");
            return Ok(());
        }
        let (reply, verdict) = tokio::sync::oneshot::channel();
        let size = given.answer.as_ref().map_or(0, cells);
        let job = Job { given, executor, reply: Some(reply).filter(|_| self.is_strict) };
        tokio::pin!(gives_up);
        if self.is_strict || share == Share::ALL {
            tokio::select! {
                biased;
                () = self.queue.push(job, size) => {}
                error = &mut gives_up => return self.given_up(error),
            }
        } else if !self.queue.try_push(job, size) {
            self.skip("queue");
        }
        if !self.is_strict {
            return Ok(());
        }
        tokio::select! {
            biased;
            verdict = verdict => match verdict {
                Ok(Verdict::Differed(difference)) => Err(refusal(&difference)),
                _ => Ok(()),
            },
            error = &mut gives_up => Err(error),
        }
    }

    fn given_up(&self, error: Error) -> Result<()> {
        self.skip("cancelled");
        if self.is_strict { Err(error) } else { Ok(()) }
    }

    /// What runs a statement again, or why nothing does.
    fn executor_of(&self, given: &Given) -> std::result::Result<Arc<dyn Executor>, &'static str> {
        let Given { question, answer, taken, .. } = given;
        let template = &question.template;
        if let Err(error) = answer
            && let Some(reason) = judge::excuse(error)
        {
            return Err(reason);
        }
        if answer.as_ref().is_ok_and(is_too_large) {
            return Err("size");
        }
        if shape::is_volatile(&template.plan) {
            return Err("volatile");
        }
        if let Some(executor) = &self.executor {
            return Ok(executor.clone());
        }
        match taken {
            Taken::Global | Taken::RowByRow => {
                Ok(Arc::new(QueryAtATime { store: self.engine.store().clone() }))
            }
            Taken::Alone if question.overlay.is_some() => Err("own changes"),
            Taken::Alone if template.shared().is_none() => Err("one path"),
            Taken::Alone => Ok(Arc::new(GlobalPlan { engine: self.engine.clone() })),
        }
    }
}

/// Whether an answer has more cells than are compared.
pub fn is_too_large(answer: &Answer) -> bool {
    cells(answer) > executor::LARGEST
}

/// What a client is told in place of an answer that differs.
fn refusal(difference: &Difference) -> Error {
    let message = "the answer differs from that of another path";
    Error::new(SqlState::DataCorrupted, message)
        .detail(difference.what.clone())
        .hint(format!("See difference {} in shareddb.differences.", difference.number))
}
