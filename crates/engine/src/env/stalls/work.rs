//! A thread's own part: it counts when it begins and ends work.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::watch::process;

/// Pieces of work that a thread has begun and ended: odd in the midst of one.
#[derive(Debug)]
pub(super) struct Counter {
    pub name: Arc<str>,
    /// The system's number of the thread.
    pub thread: u32,
    count: AtomicU64,
}

impl Counter {
    pub fn new(name: Arc<str>, thread: u32) -> Counter {
        Counter { name, thread, count: AtomicU64::new(0) }
    }

    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Only its thread does.
    pub fn step(&self) {
        self.count.store(self.count() + 1, Ordering::Relaxed);
    }
}

thread_local! {
    // The watcher asks which thread does not get on: that is no statement's and no caller's context.
    static OWN: Arc<Counter> = process().enter();
}

/// The calling thread is in the midst of a piece of work until the result is dropped. One piece at a time.
pub fn work() -> AtWork {
    OWN.with(|own| own.step());
    AtWork(std::marker::PhantomData)
}

/// A piece of work; ends on the thread that began it.
#[derive(Debug)]
pub struct AtWork(std::marker::PhantomData<*const ()>);

impl Drop for AtWork {
    fn drop(&mut self) {
        OWN.with(|own| own.step());
    }
}

/// Runs a future of which each poll is a piece of work.
pub async fn watched<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    poll_fn(|context| {
        let _at_work = work();
        future.as_mut().poll(context)
    })
    .await
}
