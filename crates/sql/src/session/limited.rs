//! Answers that end when the client cancels or the statement's time is up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::heartbeat::Answer;
use engine::types::{Error, Result, SqlState};
use futures::StreamExt;
use tokio::time::Instant;

use crate::alone::Answers;

/// How often a long computation looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(10);

/// What may end a statement early.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Set by the client's cancel.
    pub cancelled: Arc<AtomicBool>,
    /// `statement_timeout`.
    pub deadline: Option<Instant>,
}

impl Limits {
    fn fault(&self) -> Option<Error> {
        let message = if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            "canceling statement due to statement timeout"
        } else if self.cancelled.load(Ordering::Relaxed) {
            "canceling statement due to user request"
        } else {
            return None;
        };
        Some(Error::new(SqlState::QueryCanceled, message))
    }

    async fn reached(&self) -> Error {
        loop {
            tokio::time::sleep(LOOK).await;
            if let Some(fault) = self.fault() {
                return fault;
            }
        }
    }

    async fn next(&self, answers: &mut Answers) -> Option<Result<Answer>> {
        tokio::select! {
            biased;
            answer = answers.next() => answer,
            fault = self.reached() => Some(Err(fault)),
        }
    }

    /// The same answers, ended by a fault when a limit is reached.
    pub fn limit(self, answers: Answers) -> Answers {
        Box::pin(futures::stream::unfold(Some((self, answers)), |state| async move {
            let (limits, mut answers) = state?;
            let answer = limits.next(&mut answers).await?;
            let rest = answer.is_ok().then_some((limits, answers));
            Some((answer, rest))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_cancelled_answer_ends() {
        let cancelled = Arc::new(AtomicBool::new(false));
        let limits = Limits { cancelled: cancelled.clone(), deadline: None };
        let mut answers = limits.limit(Box::pin(futures::stream::pending()));
        cancelled.store(true, Ordering::Relaxed);
        let fault = answers.next().await.expect("a fault").expect_err("cancelled");
        assert_eq!(fault.state.code(), "57014");
        assert!(answers.next().await.is_none());
    }

    #[tokio::test]
    async fn time_runs_out() {
        let deadline = Some(Instant::now());
        let limits = Limits { cancelled: Arc::default(), deadline };
        let mut answers = limits.limit(Box::pin(futures::stream::pending()));
        let fault = answers.next().await.expect("a fault").expect_err("too late");
        assert_eq!(fault.message, "canceling statement due to statement timeout");
    }
}
