//! Locks: who of the blocks may change which rows and keys, who may use which tables, and who waits for whom.
//!
//! In come requests of blocks' statements (and of writes by themselves that have met a lock), out go locks, in the order of the
//! requests. A lock is a [`LockMode`] or a [`TableMode`] on a [`LockKey`]; it belongs to an [`Owner`] and ends with it, which lives
//! in the block's [`WriteSet`](super::WriteSet): at the visible end of COMMIT, at ROLLBACK, or when the client goes. Nobody's
//! thread waits: whoever gets a lock is called back ([`Waiting`] makes a future of that). Who waits for long asks whether it stands
//! in a cycle ([`Waiting::gives_way`]). What is counted is the memory of the account of write sets.
//!
//! The write heartbeat takes no locks, it looks at them: one load where there are none. What statements use of tables is only noted
//! (`notes`) as long as nobody excludes statements from tables. Called by `heartbeat::write`.
//! Absent here: what a statement must lock (`heartbeat::write::block`), time-outs (`sql`).

mod deadlock;
mod entry;
mod key;
mod mode;
mod modes;
mod notes;
mod owner;
mod queue;
mod shown;
mod table_mode;
mod waiting;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::types::{Error, Result, SessionId, TableId};
use entry::Waiter;
pub use key::AdvisoryKey;
pub(crate) use key::LockKey;
pub use mode::LockMode;
pub(crate) use modes::Mode;
use notes::Registry;
pub(crate) use owner::{LockMark, Owner, Who};
pub(crate) use queue::Callback;
use queue::State;
pub use shown::{LockShown, LockedThing};
pub use table_mode::TableMode;
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
    /// Tables that somebody excludes statements from, or is about to.
    strong: AtomicUsize,
    next_owner: AtomicU64,
    /// What blocks' statements use of tables.
    registry: Registry,
}

/// Groups of sessions have this bit, those of owners without a session have not.
const OF_SESSION: u64 = 1 << 63;

/// The owners of a session.
pub(crate) fn group_of(session: SessionId) -> u64 {
    OF_SESSION | u64::from(session.0)
}

impl Locks {
    /// Whether anything is locked. Whoever takes a lock and then looks what is being written, and whoever says that it writes and
    /// then looks here, do not miss each other.
    pub fn any(&self) -> bool {
        self.count.load(Ordering::SeqCst) != 0
    }

    /// Whether somebody excludes statements from a table, or is about to.
    pub fn exclude_statements(&self) -> bool {
        self.strong.load(Ordering::SeqCst) != 0
    }

    /// Somebody who has no locks yet.
    pub fn owner(self: &Arc<Self>, session: Option<SessionId>) -> Owner {
        let owner = self.next_owner.fetch_add(1, Ordering::Relaxed);
        Owner::new(self.clone(), Who { owner, group: session.map_or(owner, group_of) })
    }

    /// Takes a lock, if nobody is in the way. 53200 where there is no memory for it.
    pub fn acquire(&self, owner: &Owner, key: &LockKey, mode: impl Into<Mode>) -> Result<Acquired> {
        let (who, mode) = (owner.enter(), mode.into());
        self.excluding(key, mode, || {
            let mut state = self.state.lock();
            let acquired = state.acquire(who, key, mode);
            self.note(&state);
            acquired
        })
    }

    /// Asks for a lock; if it excludes statements from a table, what they have noted is entered before.
    fn excluding<T>(&self, key: &LockKey, mode: Mode, ask: impl FnOnce() -> T) -> T {
        let is_strong = matches!((key, mode), (LockKey::Table(_), Mode::Table(m)) if m.is_strong());
        if !is_strong {
            return ask();
        }
        let intend = |is_about_to| {
            let mut state = self.state.lock();
            state.intend(is_about_to);
            self.note(&state);
        };
        intend(true);
        self.tell_notes(key);
        let asked = ask();
        intend(false);
        asked
    }

    /// Whether somebody else than a session is in the way of `mode`.
    pub fn is_busy(&self, group: Option<u64>, key: &LockKey, mode: impl Into<Mode>) -> bool {
        self.state.lock().is_held_against(group, key, mode.into())
    }

    /// Whether an owner would have to wait for it: for those who have it, or for those who wait already.
    pub fn must_wait(&self, owner: &Owner, key: &LockKey, mode: impl Into<Mode>) -> bool {
        self.state.lock().must_wait(owner.enter(), key, mode.into())
    }

    /// The first of these that somebody else than a session is in the way of.
    pub fn first_busy<'a>(
        &self,
        group: Option<u64>,
        needs: impl IntoIterator<Item = (&'a LockKey, Mode)>,
    ) -> Option<(LockKey, Mode)> {
        let state = self.state.lock();
        let busy = |(key, mode): &(&LockKey, Mode)| state.is_held_against(group, key, *mode);
        needs.into_iter().find(busy).map(|(key, mode)| (key.clone(), mode))
    }

    /// What is locked of a table's unique keys by others than a session.
    pub fn keys_of(&self, group: Option<u64>, table: TableId) -> Vec<LockKey> {
        self.state.lock().keys_of(group, table)
    }

    /// Lets the owner wait for a lock; `then` is called when it has it (or was told why not), perhaps at once. With
    /// `only_look` it does not get it, but is called when it could.
    pub fn enqueue(
        &self,
        who: Who,
        key: LockKey,
        mode: impl Into<Mode>,
        only_look: bool,
        then: Callback,
    ) {
        let mode = mode.into();
        let told = key.clone();
        self.excluding(&told, mode, || {
            let mut state = self.state.lock();
            let granted = state.enqueue(key, Waiter { who, mode, only_look, then });
            self.finish(state, granted);
        });
    }

    /// The owner waits no longer.
    pub fn leave(&self, owner: u64) {
        let mut state = self.state.lock();
        let (left, granted) = state.leave(owner);
        self.finish(state, granted);
        // What it carries may let others go.
        drop(left);
    }

    /// Whether a session waits for itself.
    #[cfg(test)]
    pub fn is_deadlocked(&self, group: u64) -> bool {
        let mut state = self.state.lock();
        let (is_deadlocked, granted) = state.is_deadlocked(group);
        self.finish(state, granted);
        is_deadlocked
    }

    /// Whether a session waits for itself; then its owner waits no longer, before anybody else in the cycle can ask: one goes, not all.
    /// Waiters that stand in each other's way by their order alone change places.
    pub fn gives_way(&self, who: Who) -> bool {
        let mut state = self.state.lock();
        let (is_deadlocked, mut granted) = state.is_deadlocked(who.group);
        let mut left = None;
        if is_deadlocked {
            let (waiter, mut more) = state.leave(who.owner);
            granted.append(&mut more);
            left = waiter;
        }
        self.finish(state, granted);
        // What it carries may let others go.
        drop(left);
        is_deadlocked
    }

    /// Ends what the owner has got but for the first so many.
    fn release(&self, owner: u64, first: usize) {
        let mut state = self.state.lock();
        let granted = state.release(owner, first);
        self.finish(state, granted);
    }

    fn enter_note(&self, who: Who, table: TableId, mode: TableMode) {
        let mut state = self.state.lock();
        state.enter_note(who, &LockKey::Table(table), mode.into());
        self.note(&state);
    }

    fn release_note(&self, who: Who, table: TableId, mode: TableMode) {
        let mut state = self.state.lock();
        let granted = state.release_note(who, &LockKey::Table(table), mode.into());
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
        self.strong.store(state.strong(), Ordering::SeqCst);
    }

    fn finish(&self, state: parking_lot::MutexGuard<'_, State>, granted: Vec<Callback>) {
        self.note(&state);
        drop(state);
        granted.into_iter().for_each(|then| then(Ok(())));
    }
}
