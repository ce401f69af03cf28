//! Row locks: who of the blocks may change which rows and keys, and who waits for whom.
//!
//! In come requests of blocks' statements (and of writes by themselves that have met a lock), out go locks, in the order of the
//! requests. A lock is a [`LockMode`] on a [`LockKey`]; it belongs to an [`Owner`] and ends with it, which lives in the block's
//! [`WriteSet`](super::WriteSet): at the visible end of COMMIT, at ROLLBACK, or when the client goes. Nobody's thread waits:
//! whoever gets a lock is called back ([`Waiting`] makes a future of that). Who waits for long asks whether it stands in a cycle
//! ([`Waiting::is_deadlocked`]). What is counted is the memory of the account of write sets.
//!
//! The write heartbeat takes no locks, it looks at them: one load where there are none. Called by `heartbeat::write`.
//! Absent here: what a statement must lock (`heartbeat::write::block`), time-outs (`sql`).

mod deadlock;
mod key;
mod mode;
mod owner;
mod queue;
mod waiting;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::types::{Error, Result};
pub(crate) use key::LockKey;
pub use mode::LockMode;
pub(crate) use owner::{LockMark, Owner};
pub(crate) use queue::Callback;
use queue::{State, Waiter};
pub use waiting::Waiting;

/// What came of a request that does not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acquired {
    /// The owner has it from now on.
    Fresh,
    /// The owner has had it before, in this mode or a stronger one.
    Before,
    /// Somebody else is in the way.
    Busy,
}

/// All locks of an engine.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    state: Mutex<State>,
    /// Things that are locked.
    count: AtomicUsize,
    next_owner: AtomicU64,
}

impl Locks {
    /// Whether anything is locked. Whoever takes a lock and then looks what is being written, and whoever says that it writes and
    /// then looks here, do not miss each other.
    pub fn any(&self) -> bool {
        self.count.load(Ordering::SeqCst) != 0
    }

    /// Somebody who has no locks yet.
    pub fn owner(self: &Arc<Self>) -> Owner {
        Owner::new(self.clone(), self.next_owner.fetch_add(1, Ordering::Relaxed))
    }

    /// Takes a lock, if nobody is in the way. 53200 where there is no memory for it.
    pub fn acquire(&self, owner: &Owner, key: &LockKey, mode: LockMode) -> Result<Acquired> {
        let mut state = self.state.lock();
        let acquired = state.acquire(owner.number(), key, mode);
        self.note(&state);
        acquired
    }

    /// Whether somebody else than `owner` is in the way of `mode`.
    pub fn is_busy(&self, owner: Option<&Owner>, key: &LockKey, mode: LockMode) -> bool {
        self.state.lock().is_held_against(owner.map(Owner::number), key, mode)
    }

    /// The first of these that somebody else than `owner` is in the way of.
    pub fn first_busy<'a>(
        &self,
        owner: Option<&Owner>,
        needs: impl IntoIterator<Item = (&'a LockKey, LockMode)>,
    ) -> Option<(LockKey, LockMode)> {
        let (state, owner) = (self.state.lock(), owner.map(Owner::number));
        let busy = |(key, mode): &(&LockKey, LockMode)| state.is_held_against(owner, key, *mode);
        needs.into_iter().find(busy).map(|(key, mode)| (key.clone(), mode))
    }

    /// What is locked of a table's unique keys by others than `owner`.
    pub fn keys_of(&self, owner: Option<&Owner>, table: crate::types::TableId) -> Vec<LockKey> {
        self.state.lock().keys_of(owner.map(Owner::number), table)
    }

    /// Lets the owner wait for a lock; `then` is called when it has it (or was told why not), perhaps at once. With
    /// `only_look` it does not get it, but is called when it could.
    pub fn enqueue(
        &self,
        owner: u64,
        key: LockKey,
        mode: LockMode,
        only_look: bool,
        then: Callback,
    ) {
        let mut state = self.state.lock();
        let waiter = Waiter { owner, mode, only_look, then };
        let granted = state.enqueue(key, waiter);
        self.finish(state, granted);
    }

    /// The owner waits no longer.
    pub fn leave(&self, owner: u64) {
        let mut state = self.state.lock();
        let (left, granted) = state.leave(owner);
        self.finish(state, granted);
        // What it carries may let others go.
        drop(left);
    }

    /// Whether the owner waits for itself. Waiters that stand in each other's way by their order alone change places.
    pub fn is_deadlocked(&self, owner: u64) -> bool {
        let mut state = self.state.lock();
        let (is_deadlocked, granted) = state.is_deadlocked(owner);
        self.finish(state, granted);
        is_deadlocked
    }

    /// Ends what the owner has got since `mark`.
    fn release(&self, owner: u64, mark: LockMark) {
        let mut state = self.state.lock();
        let granted = state.release(owner, mark);
        self.finish(state, granted);
    }

    fn forget(&self, owner: u64) {
        let mut state = self.state.lock();
        let (left, mut granted) = state.leave(owner);
        granted.append(&mut state.forget(owner));
        self.finish(state, granted);
        drop(left);
    }

    /// Nobody gets anything any more.
    pub fn refuse_all(&self, why: &Error) {
        let waiting = self.state.lock().take_waiters();
        waiting.into_iter().for_each(|then| then(Err(why.clone())));
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.state.lock().waiting()
    }

    fn note(&self, state: &State) {
        self.count.store(state.locked(), Ordering::SeqCst);
    }

    fn finish(&self, state: parking_lot::MutexGuard<'_, State>, granted: Vec<Callback>) {
        self.note(&state);
        drop(state);
        granted.into_iter().for_each(|then| then(Ok(())));
    }
}
