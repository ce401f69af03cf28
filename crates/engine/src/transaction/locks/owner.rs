//! Who has locks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::modes::Mode;
use super::notes::Notes;
use super::{Acquired, LockKey, Locks, TableMode, Waiting};
use crate::types::{Result, TableId};

/// A place among an owner's locks, to go back to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockMark {
    pub(super) taken: usize,
    pub(super) notes: usize,
}

/// An owner, and for whom it has its locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Who {
    pub(super) owner: u64,
    /// Owners of one session do not stand in each other's way, and wait for each other's locks as one.
    pub(super) group: u64,
}

/// Somebody who has locks, or waits for one. Dropped, it has none.
#[derive(Debug)]
pub(crate) struct Owner {
    locks: Arc<Locks>,
    who: Who,
    /// Whether the table of locks may know of it.
    has_entered: AtomicBool,
    /// What its statements use of tables.
    notes: OnceLock<Arc<Notes>>,
}

impl Owner {
    pub(super) fn new(locks: Arc<Locks>, who: Who) -> Owner {
        Owner { locks, who, has_entered: AtomicBool::new(false), notes: OnceLock::new() }
    }

    /// It is about to be entered in the table of locks.
    pub(crate) fn enter(&self) -> Who {
        self.has_entered.store(true, Ordering::Relaxed);
        self.who
    }

    pub(crate) fn number(&self) -> u64 {
        self.who.owner
    }

    pub(crate) fn group(&self) -> u64 {
        self.who.group
    }

    /// The present place.
    pub(crate) fn mark(&self) -> LockMark {
        let is_known = self.has_entered.load(Ordering::Relaxed);
        let taken = if is_known { self.locks.state.lock().taken(self.who.owner) } else { 0 };
        LockMark { taken, notes: self.notes.get().map_or(0, |notes| notes.len()) }
    }

    /// Ends what it has got since.
    pub(crate) fn release_to(&self, mark: LockMark) {
        if let Some(notes) = self.notes.get() {
            notes.release_to(&self.locks, mark.notes);
        }
        if self.has_entered.load(Ordering::Relaxed) {
            self.locks.release(self.who.owner, mark.taken);
        }
    }

    /// Waits for a lock; see [`Locks::enqueue`].
    pub(crate) fn wait(&self, key: LockKey, mode: impl Into<Mode>, only_look: bool) -> Waiting {
        let waiting = Waiting::new(self.locks.clone(), self.enter());
        self.locks.enqueue(self.who, key, mode.into(), only_look, waiting.callback());
        waiting
    }

    /// What its statements use of tables, where somebody else who excludes statements from tables finds it.
    fn notes(&self) -> &Arc<Notes> {
        self.notes.get_or_init(|| {
            let notes = Arc::new(Notes::new(self.who));
            self.locks.registry.add(self.who.owner, notes.clone());
            notes
        })
    }

    /// Whether one of its statements has used a table so much already.
    pub(crate) fn uses(&self, table: TableId, mode: TableMode) -> bool {
        self.notes.get().is_some_and(|notes| notes.cover(table, mode))
    }

    /// A statement uses a table, in a mode that statements do not exclude each other by. It is only noted, as long as nobody
    /// excludes statements from tables.
    pub(crate) fn use_table(&self, table: TableId, mode: TableMode) -> Result<Acquired> {
        match self.notes().add(&self.locks, table, mode) {
            true => Ok(Acquired::Fresh),
            false => self.locks.acquire(self, &LockKey::Table(table), mode),
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(notes) = self.notes.get() {
            notes.end(&self.locks);
            self.locks.registry.remove(self.who.owner);
        }
        if self.has_entered.load(Ordering::Relaxed) {
            self.locks.forget(self.who.owner);
        }
    }
}
