//! A request that waits, as a future.

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use super::owner::Who;
use super::{Callback, Locks};
use crate::types::Result;

/// A request for a lock that waits. Dropped, it waits no longer; what it has got by then stays its owner's.
#[derive(Debug)]
pub struct Waiting {
    locks: Arc<Locks>,
    who: Who,
    answer: Arc<Mutex<Answer>>,
}

#[derive(Debug, Default)]
struct Answer {
    given: Option<Result<()>>,
    waker: Option<Waker>,
}

impl Waiting {
    pub(super) fn new(locks: Arc<Locks>, who: Who) -> Waiting {
        Waiting { locks, who, answer: Arc::default() }
    }

    pub(super) fn callback(&self) -> Callback {
        let answer = self.answer.clone();
        Box::new(move |given| {
            let mut answer = answer.lock();
            answer.given = Some(given);
            let waker = answer.waker.take();
            drop(answer);
            waker.into_iter().for_each(Waker::wake);
        })
    }

    /// Whether its owner waits, by way of others, for itself; then it waits no longer, and whoever waits with it goes on.
    pub fn gives_way(&self) -> bool {
        self.locks.gives_way(self.who)
    }

    /// The same, where nobody is to give way.
    #[cfg(test)]
    pub fn is_deadlocked(&self) -> bool {
        self.locks.is_deadlocked(self.who.group)
    }
}

impl Future for Waiting {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let mut answer = self.answer.lock();
        match answer.given.take() {
            Some(given) => Poll::Ready(given),
            None => {
                answer.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.locks.leave(self.who.owner);
    }
}
