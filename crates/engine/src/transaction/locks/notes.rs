//! What statements of blocks use of tables, until somebody asks.
//!
//! Statements that read or change rows do not exclude each other from tables, so what they take of them need not be entered
//! anywhere that others look. A block notes it for itself ([`Notes`]). Who wants to exclude statements from a table first says so
//! ([`Locks::tell_notes`] counts it), then walks through all notes and enters what they say of the table; statements that come
//! after look at that count under the lock of their own notes, and queue like anybody else. So neither misses the other, and as
//! long as nobody excludes statements a statement of a block pays for a lock that nobody else takes.

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use parking_lot::Mutex;

use super::owner::Who;
use super::{LockKey, Locks, TableMode};
use crate::types::TableId;

/// One use of one table.
#[derive(Clone, Copy, Debug)]
struct Note {
    table: TableId,
    mode: TableMode,
    /// It is entered in the table of locks.
    is_told: bool,
}

/// What the statements of one block use.
#[derive(Debug)]
pub(super) struct Notes {
    who: Who,
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    uses: Vec<Note>,
    /// The block has ended: nothing may be entered for it any more.
    is_over: bool,
}

impl Notes {
    pub fn new(who: Who) -> Notes {
        Notes { who, noted: Mutex::default() }
    }

    pub fn len(&self) -> usize {
        self.noted.lock().uses.len()
    }

    pub fn cover(&self, table: TableId, mode: TableMode) -> bool {
        self.noted.lock().cover(table, mode)
    }

    /// Notes a use; `false` where somebody excludes statements from tables.
    pub fn add(&self, locks: &Locks, table: TableId, mode: TableMode) -> bool {
        let mut noted = self.noted.lock();
        if noted.cover(table, mode) {
            return true;
        }
        let is_free = !locks.exclude_statements();
        if is_free {
            noted.uses.push(Note { table, mode, is_told: false });
        }
        is_free
    }

    /// Enters what there is of a table in the table of locks.
    fn tell(&self, locks: &Locks, table: TableId) {
        let mut noted = self.noted.lock();
        if noted.is_over {
            return;
        }
        for note in noted.uses.iter_mut().filter(|note| note.table == table && !note.is_told) {
            note.is_told = true;
            locks.enter_note(self.who, table, note.mode);
        }
    }

    /// Forgets what came after the first so many.
    pub fn release_to(&self, locks: &Locks, first: usize) {
        let mut noted = self.noted.lock();
        let first = first.min(noted.uses.len());
        let since = noted.uses.split_off(first);
        // Who is let go on by this may look at notes.
        drop(noted);
        let told = since.into_iter().filter(|note| note.is_told);
        told.for_each(|note| locks.release_note(self.who, note.table, note.mode));
    }

    /// Forgets all, for good.
    pub fn end(&self, locks: &Locks) {
        self.noted.lock().is_over = true;
        self.release_to(locks, 0);
    }

    /// Shows what is not entered.
    pub fn show(&self, mut show: impl FnMut(Who, TableId, TableMode)) {
        let noted = self.noted.lock();
        let own = noted.uses.iter().filter(|note| !note.is_told);
        own.for_each(|note| show(self.who, note.table, note.mode));
    }
}

impl Noted {
    /// Modes of statements exclude more the later they stand.
    fn cover(&self, table: TableId, mode: TableMode) -> bool {
        self.uses.iter().any(|note| note.table == table && note.mode >= mode)
    }
}

const SHARDS: usize = 16;

/// The notes of all blocks, by owner. In shards: each block comes by when it begins to use tables, and when it ends.
#[derive(Debug, Default)]
pub(super) struct Registry([Mutex<HashMap<u64, Arc<Notes>, RandomState>>; SHARDS]);

impl Registry {
    fn shard(&self, owner: u64) -> &Mutex<HashMap<u64, Arc<Notes>, RandomState>> {
        &self.0[owner as usize % SHARDS]
    }

    pub fn add(&self, owner: u64, notes: Arc<Notes>) {
        self.shard(owner).lock().insert(owner, notes);
    }

    pub fn remove(&self, owner: u64) {
        self.shard(owner).lock().remove(&owner);
    }

    /// All notes, as they are now.
    pub fn all(&self) -> impl Iterator<Item = Arc<Notes>> {
        self.0.iter().flat_map(|shard| shard.lock().values().cloned().collect::<Vec<_>>())
    }
}

impl Locks {
    /// Enters what blocks' statements use of a table. Who calls it has said before that it wants to exclude statements.
    pub(super) fn tell_notes(&self, key: &LockKey) {
        if let LockKey::Table(table) = key {
            self.registry.all().for_each(|notes| notes.tell(self, *table));
        }
    }
}
