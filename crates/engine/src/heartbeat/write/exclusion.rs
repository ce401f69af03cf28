//! Locks of whole tables, and advisory ones.
//!
//! What a statement of a block uses of tables is noted in the block's set; what LOCK TABLE asks for is entered in the table of locks
//! and, if it excludes statements, has all notes entered first (`transaction::locks`). While somebody excludes statements, blocks'
//! statements queue ([`Exclusion::enter`]), queries by themselves wait until they could go on ([`Exclusion::look`]), and writes by
//! themselves are put aside when their turn comes (`TurnLocks::table`), as they are for rows.
//!
//! A write by itself may have looked before a table was locked: whoever has locked it waits until that is applied, and visible
//! ([`Exclusion::lock`]). Definitions exclude LOCK TABLE and each other, not statements, which run over the definitions that they
//! were planned for: they have a key of their own.

use std::sync::Arc;

use super::{LOOK, Shared, Step, WriteHeartbeat};
use crate::transaction::{
    Acquired, AdvisoryKey, LockKey, LockShown, Locks, Owner, TableMode, Waiting, WriteSet,
};
use crate::types::{Result, SessionId, TableId, Version};

/// What statements use of tables.
type Uses = [(TableId, TableMode)];

/// Locks of tables, and of what clients name by number.
#[derive(Clone, Copy, Debug)]
pub struct Exclusion<'e> {
    shared: &'e Arc<Shared>,
}

/// A table's lock on its way.
#[derive(Debug)]
pub struct TableLock {
    table: TableId,
    mode: TableMode,
    /// Told to wait where somebody is in the way.
    waits: bool,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Taking,
    /// A write by itself may be under way since the counter of writes had this value.
    Written(u64),
    /// What is applied must be seen.
    Seen(Version),
}

impl TableLock {
    /// A lock that is asked for; one that does not wait may be refused.
    pub fn new(table: TableId, mode: TableMode, waits: bool) -> TableLock {
        TableLock { table, mode, waits, stage: Stage::Taking }
    }
}

impl WriteHeartbeat {
    /// See [`crate::heartbeat::Engine::exclusion`].
    pub fn exclusion(&self) -> Exclusion<'_> {
        Exclusion { shared: &self.shared }
    }
}

impl Exclusion<'_> {
    /// Whether somebody excludes statements from tables: one load.
    pub fn is_in_use(&self) -> bool {
        self.shared.locks.exclude_statements()
    }

    /// A statement of a block uses tables until the block ends. Call it until nothing is to be waited for.
    pub fn enter(&self, set: &mut WriteSet, uses: &Uses) -> Result<Option<Waiting>> {
        let owner = set.owner(&self.shared.locks).clone();
        for (table, mode) in uses {
            if owner.uses(*table, *mode) {
                continue;
            }
            for (table, mode) in self.with_others(*table, *mode) {
                if owner.use_table(table, mode)? == Acquired::Busy {
                    return Ok(Some(owner.wait(LockKey::Table(table), mode, false)));
                }
            }
        }
        Ok(None)
    }

    /// A table with those that a change of its rows uses besides; the table last, so that whoever has noted it has noted all.
    fn with_others(&self, table: TableId, mode: TableMode) -> Vec<(TableId, TableMode)> {
        let relations = self.shared.relations.load();
        match relations.get(table) {
            Ok(relation) if mode == TableMode::RowExclusive => {
                let mut all: Vec<_> = relation.used_by_changes().collect();
                all.reverse();
                all
            }
            _ => vec![(table, mode)],
        }
    }

    /// What a statement by itself has to wait for before it uses tables; it has nothing of them afterwards. Call it until there
    /// is nothing; `set` is one for this alone.
    pub fn look(&self, set: &mut WriteSet, uses: &Uses) -> Option<Waiting> {
        let keys = uses.iter().map(|(table, mode)| (LockKey::Table(*table), *mode));
        self.look_at(set, keys)
    }

    /// The same for what changes tables' definitions.
    pub fn look_at_definitions(&self, set: &mut WriteSet, uses: &Uses) -> Option<Waiting> {
        let keys = uses.iter().map(|(table, mode)| (LockKey::Definition(*table), *mode));
        self.look_at(set, keys)
    }

    fn look_at(
        &self,
        set: &mut WriteSet,
        mut keys: impl Iterator<Item = (LockKey, TableMode)>,
    ) -> Option<Waiting> {
        let locks = &self.shared.locks;
        let owner = set.owner(locks);
        let (key, mode) = keys.find(|(key, mode)| locks.must_wait(owner, key, *mode))?;
        Some(owner.wait(key, mode, true))
    }

    /// LOCK TABLE: call it until it is done. It is not (`false`) where somebody is in the way and it does not wait.
    pub fn lock(&self, lock: &mut TableLock, set: &mut WriteSet) -> Result<Step<bool>> {
        self.shared.check_going()?;
        loop {
            match lock.stage {
                Stage::Taking => match self.first_busy(lock, set)? {
                    Some(_) if !lock.waits => return Ok(Step::Done(false)),
                    Some(key) => {
                        let owner = set.owner(&self.shared.locks);
                        return Ok(Step::Wait(owner.wait(key, lock.mode, false)));
                    }
                    None if !lock.mode.is_strong() => return Ok(Step::Done(true)),
                    None => lock.stage = Stage::Written(self.shared.counted_writes()),
                },
                Stage::Written(seen) if !self.shared.is_over(seen) => return Ok(Step::Pause(LOOK)),
                Stage::Written(_) => lock.stage = Stage::Seen(self.shared.applied()),
                Stage::Seen(version) if self.shared.store.published() < version => {
                    return Ok(Step::Pause(LOOK));
                }
                Stage::Seen(_) => return Ok(Step::Done(true)),
            }
        }
    }

    /// Takes the table and its definition; what of it somebody else has.
    fn first_busy(&self, lock: &TableLock, set: &mut WriteSet) -> Result<Option<LockKey>> {
        let locks = &self.shared.locks;
        let owner = set.owner(locks);
        for key in [LockKey::Table(lock.table), LockKey::Definition(lock.table)] {
            if locks.acquire(owner, &key, lock.mode)? == Acquired::Busy {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    /// Somebody changes tables' definitions until the set's end. Call it until nothing is to be waited for.
    pub fn define(&self, set: &mut WriteSet, uses: &Uses) -> Result<Option<Waiting>> {
        let locks = &self.shared.locks;
        for (table, mode) in uses {
            let (owner, key) = (set.owner(locks), LockKey::Definition(*table));
            if locks.acquire(owner, &key, *mode)? == Acquired::Busy {
                return Ok(Some(owner.wait(key, *mode, false)));
            }
        }
        Ok(None)
    }

    /// A transaction takes an advisory lock until its end; `false` where somebody is in the way.
    pub fn take_advisory(
        &self,
        set: &mut WriteSet,
        key: AdvisoryKey,
        mode: TableMode,
    ) -> Result<bool> {
        let locks = &self.shared.locks;
        let acquired = locks.acquire(set.owner(locks), &LockKey::Advisory(key), mode)?;
        Ok(acquired != Acquired::Busy)
    }

    /// Waits until a transaction has it.
    pub fn wait_for_advisory(
        &self,
        set: &mut WriteSet,
        key: AdvisoryKey,
        mode: TableMode,
    ) -> Waiting {
        set.owner(&self.shared.locks).wait(LockKey::Advisory(key), mode, false)
    }

    /// An advisory lock that a session may take, and has as long as it keeps this.
    pub fn advisory(&self, session: SessionId, key: AdvisoryKey, mode: TableMode) -> AdvisoryLock {
        let locks = self.shared.locks.clone();
        AdvisoryLock { owner: locks.owner(Some(session)), locks, key: LockKey::Advisory(key), mode }
    }

    /// All locks of tables and advisory ones.
    pub fn shown(&self) -> Vec<LockShown> {
        self.shared.locks.shown()
    }
}

/// An advisory lock of a session.
#[derive(Debug)]
pub struct AdvisoryLock {
    owner: Owner,
    locks: Arc<Locks>,
    key: LockKey,
    mode: TableMode,
}

impl AdvisoryLock {
    /// Takes it; `false` where somebody is in the way.
    pub fn take(&self) -> Result<bool> {
        Ok(self.locks.acquire(&self.owner, &self.key, self.mode)? != Acquired::Busy)
    }

    /// Waits until the session has it.
    pub fn wait(&self) -> Waiting {
        self.owner.wait(self.key.clone(), self.mode, false)
    }
}
