//! An answer of the global plan that is awaited: a cancel ends the wait at once, whatever its batch still does for others.
//!
//! In comes where the answer will come and the session's cancel flag; out goes the answer, or 57014. Whoever stops waiting
//! (cancelled, or dropped with its connection) says so in the activation's own flag, which stays set when the session's is
//! cleared for its next statement: the batch does nothing more for it. Called by [`super::read`].

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use engine::heartbeat::Answer;
use engine::types::{Error, Result, SqlState};
use tokio::sync::oneshot;

use super::execute::shut_down;

/// The answer to one activation.
pub(super) struct Awaited {
    receive: oneshot::Receiver<Result<Answer>>,
    /// Set by the client's cancel or time-out.
    cancelled: Arc<AtomicBool>,
    /// The activation's flag.
    has_left: Arc<AtomicBool>,
    is_answered: bool,
}

impl Awaited {
    /// What comes through `receive`, for a session with the flag `cancelled`.
    pub fn new(
        receive: oneshot::Receiver<Result<Answer>>,
        cancelled: Arc<AtomicBool>,
        has_left: Arc<AtomicBool>,
    ) -> Awaited {
        Awaited { receive, cancelled, has_left, is_answered: false }
    }
}

impl Future for Awaited {
    type Output = Result<Answer>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Answer>> {
        if let Poll::Ready(answer) = Pin::new(&mut self.receive).poll(context) {
            self.is_answered = true;
            return Poll::Ready(answer.unwrap_or_else(|_| Err(shut_down())));
        }
        match self.cancelled.load(Ordering::Relaxed) {
            true => Poll::Ready(Err(cancelled())),
            // Whoever sets the flag wakes the session's task.
            false => Poll::Pending,
        }
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        if !self.is_answered {
            self.has_left.store(true, Ordering::Relaxed);
        }
    }
}

fn cancelled() -> Error {
    Error::new(SqlState::QueryCanceled, "canceling statement due to user request")
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    struct Waiting {
        send: oneshot::Sender<Result<Answer>>,
        cancelled: Arc<AtomicBool>,
        has_left: Arc<AtomicBool>,
        awaited: Awaited,
    }

    fn waiting() -> Waiting {
        let (send, receive) = oneshot::channel();
        let (cancelled, has_left) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let awaited = Awaited::new(receive, cancelled.clone(), has_left.clone());
        Waiting { send, cancelled, has_left, awaited }
    }

    fn poll(awaited: &mut Awaited) -> Poll<Result<Answer>> {
        Pin::new(awaited).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_cancel_does_not_wait_for_the_batch() {
        let Waiting { send, cancelled, has_left, mut awaited } = waiting();
        assert!(poll(&mut awaited).is_pending());
        cancelled.store(true, Ordering::Relaxed);
        let Poll::Ready(Err(error)) = poll(&mut awaited) else { panic!("still waits") };
        assert_eq!(error.state, SqlState::QueryCanceled);
        drop(awaited);
        assert!(has_left.load(Ordering::Relaxed), "the batch is told");
        assert!(
            send.send(Ok(Answer::new(Vec::new().into(), Vec::new()))).is_err(),
            "nobody takes the answer"
        );
    }

    #[test]
    fn who_vanishes_leaves_and_who_is_answered_does_not() {
        let Waiting { has_left, awaited, .. } = waiting();
        drop(awaited);
        assert!(has_left.load(Ordering::Relaxed));

        let Waiting { send, has_left, mut awaited, .. } = waiting();
        assert!(send.send(Ok(Answer::new(Vec::new().into(), Vec::new()))).is_ok());
        assert!(matches!(poll(&mut awaited), Poll::Ready(Ok(_))));
        drop(awaited);
        assert!(!has_left.load(Ordering::Relaxed));
    }

    #[test]
    fn an_engine_that_goes_away_is_57p01() {
        let Waiting { send, mut awaited, .. } = waiting();
        drop(send);
        let Poll::Ready(Err(error)) = poll(&mut awaited) else { panic!("still waits") };
        assert_eq!(error.state, SqlState::AdminShutdown);
    }
}
