//! Tasks that wait for a list's next page, or for room in it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Wake, Waker};

use parking_lot::Mutex;

/// By consumer. Also what the producer wakes: any of them can go on with it.
#[derive(Debug, Default)]
pub struct Waiting {
    wakers: Mutex<BTreeMap<u64, Waker>>,
    calls: AtomicU64,
}

impl Waiting {
    /// A consumer wants to be woken, once.
    pub fn register(&self, consumer: u64, waker: &Waker) {
        let mut wakers = self.wakers.lock();
        match wakers.get_mut(&consumer) {
            Some(known) => known.clone_from(waker),
            None => drop(wakers.insert(consumer, waker.clone())),
        }
    }

    /// Wakes all.
    pub fn wake_all(&self) {
        self.calls.fetch_add(1, Ordering::AcqRel);
        let wakers = std::mem::take(&mut *self.wakers.lock());
        wakers.into_values().for_each(Waker::wake);
    }

    /// How often all were woken.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Acquire)
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_all();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_all();
    }
}
