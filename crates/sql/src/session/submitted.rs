//! Writes on their way through the write heartbeat: withdrawn where their statement ends before they are begun.
//!
//! The heartbeat may be busy with somebody else's long write; whoever is cancelled, or has no time left, need not wait for
//! that. What has been begun asks for its limit by itself until it is applied, and is answered by the heartbeat: only that
//! knows whether it has happened. Called by `write` and `conversation`.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use engine::heartbeat::{WriteOutcome, WriteReceiver};
use engine::types::limit::{Limit, within};
use engine::types::{Error, Result};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::execute::shut_down;
use super::locks::lock_timeout;
use crate::alone::Limits;

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const WITHDRAWN: u8 = 2;

/// How a write leaves the queue for a lock.
type Leave = Box<dyn FnOnce() + Send>;

/// A write that waits, is begun, or withdrawn.
#[derive(Debug)]
struct Ticket {
    limits: Limits,
    state: AtomicU8,
    aside: Mutex<Aside>,
}

/// What becomes of a write that waits for somebody's lock.
#[derive(Default)]
struct Aside {
    leave: Option<Leave>,
    /// Since when it waits for locks.
    since: Option<Instant>,
    /// Who is to know that it does.
    waker: Option<Waker>,
}

impl std::fmt::Debug for Aside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Aside").field("since", &self.since).finish_non_exhaustive()
    }
}

impl Ticket {
    /// Whether it is so now.
    fn becomes(&self, state: u8) -> bool {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let before = self.state.compare_exchange(WAITING, state, success, failure);
        before.is_ok() || before == Err(state)
    }
}

impl Limit for Ticket {
    fn fault(&self) -> Option<Error> {
        self.limits.fault()
    }

    fn take(&self) -> bool {
        self.limits.waits_for_lock.store(false, Ordering::Relaxed);
        self.becomes(BEGUN)
    }

    fn put_aside(&self, leave: Leave) {
        let mut aside = self.aside.lock();
        aside.leave = Some(leave);
        aside.since.get_or_insert_with(Instant::now);
        self.state.store(WAITING, Ordering::Release);
        self.limits.waits_for_lock.store(true, Ordering::Relaxed);
        let waker = aside.waker.take();
        drop(aside);
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Ticket {
    /// Withdraws a write that is not begun.
    fn withdraw(&self) -> bool {
        let is_withdrawn = self.becomes(WITHDRAWN);
        if is_withdrawn {
            self.limits.waits_for_lock.store(false, Ordering::Relaxed);
            let leave = self.aside.lock().leave.take();
            leave.into_iter().for_each(|leave| leave());
        }
        is_withdrawn
    }

    /// Since when it waits for locks; who asks is woken when that begins.
    fn aside_since(&self, waker: &Waker) -> Option<Instant> {
        let mut aside = self.aside.lock();
        aside.waker = Some(waker.clone());
        aside.since
    }
}

/// What comes of a write that is submitted with this receiver.
pub(super) async fn submitted(
    limits: &Limits,
    patience: Option<Duration>,
    submit: impl FnOnce(WriteReceiver),
) -> Result<WriteOutcome> {
    let (state, aside) = (AtomicU8::new(WAITING), Mutex::default());
    let ticket = Arc::new(Ticket { limits: limits.clone(), state, aside });
    let (send, mut receive) = oneshot::channel();
    let receiver = Box::new(move |outcome| {
        // The write has happened whether somebody waits or not.
        let _ = send.send(outcome);
    });
    within(Some(ticket.clone()), || submit(receiver));
    let mut timer = None;
    poll_fn(|context| {
        if let Poll::Ready(outcome) = Pin::new(&mut receive).poll(context) {
            return Poll::Ready(outcome.unwrap_or_else(|_| Err(shut_down())));
        }
        // Whoever sets a limit wakes the session's task.
        match limits.fault() {
            Some(fault) if ticket.withdraw() => return Poll::Ready(Err(fault)),
            _ => {}
        }
        let Some(patience) = patience else { return Poll::Pending };
        let Some(since) = ticket.aside_since(context.waker()) else { return Poll::Pending };
        let timer = timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until((since + patience).into())));
        match timer.as_mut().poll(context) {
            Poll::Ready(()) if ticket.withdraw() => Poll::Ready(Err(lock_timeout())),
            _ => Poll::Pending,
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::task::Context;

    use engine::types::limit::current;

    use super::*;

    /// Whether a cancelled write is answered by itself.
    fn is_withdrawn(is_begun: bool) -> bool {
        let limits = Limits::default();
        let queue = Mutex::new(None);
        let put = |receiver| *queue.lock() = Some((receiver, current().expect("a ticket")));
        let mut waiting = std::pin::pin!(submitted(&limits, None, put));
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        let (_receiver, ticket): (WriteReceiver, _) = queue.lock().take().expect("it waits");
        assert!(!is_begun || ticket.take());
        limits.cancelled.store(true, Ordering::Relaxed);
        let is_answered = waiting.as_mut().poll(&mut context).is_ready();
        assert_eq!(ticket.take(), is_begun, "what was withdrawn is not begun");
        is_answered
    }

    #[test]
    fn a_write_is_withdrawn_before_it_is_begun_only() {
        assert!(is_withdrawn(false));
        assert!(!is_withdrawn(true));
    }
}
