//! Answers that end when the client cancels or the statement's time is up.

use std::time::Duration;

use engine::types::limit::Limit;
use engine::types::{Error, Result};
use futures::StreamExt;

use crate::alone::{Answers, Limits};

/// How often a long computation looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(10);

/// Waits for what may take long; the limits' fault where it takes longer.
pub async fn limited<T>(limits: &Limits, future: impl Future<Output = T>) -> Result<T> {
    tokio::select! {
        biased;
        value = future => Ok(value),
        fault = reached(limits) => Err(fault),
    }
}

/// Ends when a limit is reached.
pub async fn reached(limits: &Limits) -> Error {
    loop {
        tokio::time::sleep(LOOK).await;
        if let Some(fault) = limits.fault() {
            return fault;
        }
    }
}

/// The same answers, ended by a fault when a limit is reached.
pub fn limited_answers(limits: Limits, answers: Answers) -> Answers {
    Box::pin(futures::stream::unfold(Some((limits, answers)), |state| async move {
        let (limits, mut answers) = state?;
        let answer =
            limited(&limits, answers.next()).await.unwrap_or_else(|fault| Some(Err(fault)))?;
        let rest = answer.is_ok().then_some((limits, answers));
        Some((answer, rest))
    }))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::time::Instant;

    use super::*;

    #[tokio::test]
    async fn a_cancelled_answer_ends() {
        let limits = Limits::default();
        let cancelled = limits.cancelled.clone();
        let mut answers = limited_answers(limits, Box::pin(futures::stream::pending()));
        cancelled.store(true, Ordering::Relaxed);
        let fault = answers.next().await.expect("a fault").expect_err("cancelled");
        assert_eq!(fault.state.code(), "57014");
        assert!(answers.next().await.is_none());
    }

    #[tokio::test]
    async fn time_runs_out() {
        let limits = Limits::default();
        limits.begin(Some(Instant::now()));
        let waits = limited(&limits, std::future::pending::<()>());
        let fault = waits.await.expect_err("too late");
        assert_eq!(fault.message, "canceling statement due to statement timeout");
    }
}
