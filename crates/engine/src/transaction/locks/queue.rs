//! Who has what, and who waits for it in which order.

use std::collections::VecDeque;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{Acquired, LockKey, LockMark, LockMode};
use crate::env::memory::{Reservation, Share};
use crate::types::{Result, TableId};

/// Called when a lock is given, or why it never will be. Must not block.
pub(crate) type Callback = Box<dyn FnOnce(Result<()>) + Send>;

/// About what a lock takes: its entry, its holder, its place in the owner's list.
const LOCK_BYTES: usize = 2 * (size_of::<LockKey>() + size_of::<Entry>()) + 64;

/// Somebody who waits.
pub(super) struct Waiter {
    pub owner: u64,
    pub mode: LockMode,
    pub only_look: bool,
    pub then: Callback,
}

impl std::fmt::Debug for Waiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiter").field("owner", &self.owner).field("mode", &self.mode).finish()
    }
}

/// One thing that is locked.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub holders: Vec<(u64, LockMode)>,
    pub waiters: VecDeque<Waiter>,
}

#[derive(Debug)]
struct OwnerState {
    /// What it has got, in order, and in which mode it had that before.
    taken: Vec<(LockKey, Option<LockMode>)>,
    waits_for: Option<LockKey>,
    memory: Reservation,
}

impl Default for OwnerState {
    fn default() -> OwnerState {
        let memory = Reservation::new(Share::Writes);
        OwnerState { taken: Vec::new(), waits_for: None, memory }
    }
}

#[derive(Debug, Default)]
pub(super) struct State {
    entries: HashMap<LockKey, Entry, RandomState>,
    owners: HashMap<u64, OwnerState, RandomState>,
}

impl Entry {
    pub fn held_by(&self, owner: u64) -> Option<LockMode> {
        self.holders.iter().find(|(holder, _)| *holder == owner).map(|(_, mode)| *mode)
    }

    fn is_held_against(&self, owner: Option<u64>, mode: LockMode) -> bool {
        let stops =
            |(holder, held): &(u64, LockMode)| Some(*holder) != owner && held.conflicts(mode);
        self.holders.iter().any(stops)
    }

    /// Whether a request that would stand at this place of the queue has to wait. Who has the lock in a weaker mode passes by
    /// those who wait: they wait for it anyway.
    fn must_wait(&self, owner: u64, mode: LockMode, place: usize) -> bool {
        let stands_in_line = self.held_by(owner).is_none();
        let mut before = self.waiters.iter().take(place);
        self.is_held_against(Some(owner), mode)
            || stands_in_line && before.any(|waiter| waiter.mode.conflicts(mode))
    }

    fn is_unused(&self) -> bool {
        self.holders.is_empty() && self.waiters.is_empty()
    }
}

impl State {
    pub fn locked(&self) -> usize {
        self.entries.len()
    }

    pub fn entry(&self, key: &LockKey) -> Option<&Entry> {
        self.entries.get(key)
    }

    pub fn waits_for(&self, owner: u64) -> Option<&LockKey> {
        self.owners.get(&owner)?.waits_for.as_ref()
    }

    pub fn waiting(&self) -> usize {
        self.entries.values().map(|entry| entry.waiters.len()).sum()
    }

    pub fn is_held_against(&self, owner: Option<u64>, key: &LockKey, mode: LockMode) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.is_held_against(owner, mode))
    }

    pub fn keys_of(&self, owner: Option<u64>, table: TableId) -> Vec<LockKey> {
        let is_of = |key: &LockKey| matches!(key, LockKey::Key(of, ..) if *of == table);
        let held = self
            .entries
            .iter()
            .filter(|(key, entry)| is_of(key) && entry.is_held_against(owner, LockMode::Update));
        held.map(|(key, _)| key.clone()).collect()
    }

    pub fn acquire(&mut self, owner: u64, key: &LockKey, mode: LockMode) -> Result<Acquired> {
        if let Some(entry) = self.entries.get(key) {
            if entry.held_by(owner) >= Some(mode) {
                return Ok(Acquired::Before);
            }
            if entry.must_wait(owner, mode, entry.waiters.len()) {
                return Ok(Acquired::Busy);
            }
        }
        let state = self.owners.entry(owner).or_default();
        state.memory.grow_to((state.taken.len() + 1) * LOCK_BYTES)?;
        self.give(owner, key, mode);
        Ok(Acquired::Fresh)
    }

    fn give(&mut self, owner: u64, key: &LockKey, mode: LockMode) {
        let entry = match self.entries.get_mut(key) {
            Some(entry) => entry,
            None => self.entries.entry(key.clone()).or_default(),
        };
        let before = entry.held_by(owner);
        match entry.holders.iter_mut().find(|(holder, _)| *holder == owner) {
            Some((_, held)) => *held = mode.max(*held),
            None => entry.holders.push((owner, mode)),
        }
        self.owners.entry(owner).or_default().taken.push((key.clone(), before));
    }

    pub fn enqueue(&mut self, key: LockKey, waiter: Waiter) -> Vec<Callback> {
        self.owners.entry(waiter.owner).or_default().waits_for = Some(key.clone());
        let entry = self.entries.entry(key.clone()).or_default();
        let place = match entry.held_by(waiter.owner) {
            // It cannot get on behind those who wait for it.
            Some(_) => {
                let upgrades = |other: &&Waiter| entry.held_by(other.owner).is_some();
                entry.waiters.iter().take_while(upgrades).count()
            }
            None => entry.waiters.len(),
        };
        entry.waiters.insert(place, waiter);
        self.grant(&key)
    }

    /// Gives a thing to all who can have it now.
    fn grant(&mut self, key: &LockKey) -> Vec<Callback> {
        let (mut granted, mut place) = (Vec::new(), 0);
        while let Some(entry) = self.entries.get_mut(key) {
            let Some(waiter) = entry.waiters.get(place) else { break };
            if entry.must_wait(waiter.owner, waiter.mode, place) {
                place += 1;
                continue;
            }
            let Some(waiter) = entry.waiters.remove(place) else { break };
            if let Some(owner) = self.owners.get_mut(&waiter.owner) {
                owner.waits_for = None;
            }
            if !waiter.only_look {
                self.give(waiter.owner, key, waiter.mode);
            }
            granted.push(waiter.then);
        }
        if self.entries.get(key).is_some_and(Entry::is_unused) {
            self.entries.remove(key);
        }
        granted
    }

    pub fn leave(&mut self, owner: u64) -> (Option<Waiter>, Vec<Callback>) {
        let Some(state) = self.owners.get_mut(&owner) else { return (None, Vec::new()) };
        let Some(key) = state.waits_for.take() else { return (None, Vec::new()) };
        let entry = self.entries.get_mut(&key);
        let left = entry.and_then(|entry| {
            let place = entry.waiters.iter().position(|waiter| waiter.owner == owner)?;
            entry.waiters.remove(place)
        });
        (left, self.grant(&key))
    }

    pub fn mark(&self, owner: u64) -> LockMark {
        LockMark(self.owners.get(&owner).map_or(0, |state| state.taken.len()))
    }

    pub fn release(&mut self, owner: u64, mark: LockMark) -> Vec<Callback> {
        let Some(state) = self.owners.get_mut(&owner) else { return Vec::new() };
        let since = state.taken.split_off(mark.0.min(state.taken.len()));
        state.memory.shrink_to(state.taken.len() * LOCK_BYTES);
        let mut granted = Vec::new();
        for (key, before) in since.into_iter().rev() {
            if let Some(entry) = self.entries.get_mut(&key) {
                match before {
                    Some(mode) => {
                        let own = entry.holders.iter_mut().find(|(holder, _)| *holder == owner);
                        own.into_iter().for_each(|(_, held)| *held = mode);
                    }
                    None => entry.holders.retain(|(holder, _)| *holder != owner),
                }
            }
            granted.append(&mut self.grant(&key));
        }
        granted
    }

    pub fn forget(&mut self, owner: u64) -> Vec<Callback> {
        let granted = self.release(owner, LockMark(0));
        self.owners.remove(&owner);
        granted
    }

    pub fn take_waiters(&mut self) -> Vec<Callback> {
        let waiting =
            self.entries.values_mut().flat_map(|entry| std::mem::take(&mut entry.waiters));
        let waiting = waiting.map(|waiter| waiter.then).collect();
        self.owners.values_mut().for_each(|owner| owner.waits_for = None);
        waiting
    }

    /// Lets a waiter go before another one of the same queue.
    pub fn move_before(&mut self, key: &LockKey, owner: u64, other: u64) -> Vec<Callback> {
        if let Some(entry) = self.entries.get_mut(key) {
            let place = |owner| entry.waiters.iter().position(|waiter| waiter.owner == owner);
            if let (Some(from), Some(to)) = (place(owner), place(other))
                && let Some(waiter) = entry.waiters.remove(from)
            {
                entry.waiters.insert(to.min(from), waiter);
            }
        }
        self.grant(key)
    }
}
