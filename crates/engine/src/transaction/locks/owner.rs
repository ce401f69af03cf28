//! Who has locks.

use std::sync::Arc;

use super::{LockKey, LockMode, Locks, Waiting};

/// A place among an owner's locks, to go back to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockMark(pub(super) usize);

/// Somebody who has locks, or waits for one. Dropped, it has none.
#[derive(Debug)]
pub(crate) struct Owner {
    locks: Arc<Locks>,
    number: u64,
}

impl Owner {
    pub(super) fn new(locks: Arc<Locks>, number: u64) -> Owner {
        Owner { locks, number }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The present place.
    pub(crate) fn mark(&self) -> LockMark {
        self.locks.state.lock().mark(self.number)
    }

    /// Ends what it has got since.
    pub(crate) fn release_to(&self, mark: LockMark) {
        self.locks.release(self.number, mark);
    }

    /// Waits for a lock; see [`Locks::enqueue`].
    pub(crate) fn wait(&self, key: LockKey, mode: LockMode, only_look: bool) -> Waiting {
        let waiting = Waiting::new(self.locks.clone(), self.number);
        self.locks.enqueue(self.number, key, mode, only_look, waiting.callback());
        waiting
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.locks.forget(self.number);
    }
}
