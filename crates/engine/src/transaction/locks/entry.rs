//! One thing that is locked: who has it, and who waits for it in which order.

use std::collections::VecDeque;

use super::modes::{Mode, Modes};
use super::owner::Who;
use super::queue::Callback;

/// Somebody who waits.
pub(super) struct Waiter {
    pub who: Who,
    pub mode: Mode,
    pub only_look: bool,
    pub then: Callback,
}

impl std::fmt::Debug for Waiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiter").field("who", &self.who).field("mode", &self.mode).finish()
    }
}

/// Somebody who has it.
#[derive(Debug)]
pub(super) struct Holder {
    pub who: Who,
    /// What was asked for, in order.
    pub taken: Modes,
    /// What was noted for statements and told later.
    pub noted: Modes,
}

impl Holder {
    pub fn modes(&self) -> Modes {
        self.taken.and(self.noted)
    }
}

/// One thing that is locked.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub holders: Vec<Holder>,
    pub waiters: VecDeque<Waiter>,
    /// Whether it is counted among the tables that somebody excludes statements from.
    pub is_strong: bool,
}

impl Entry {
    /// In which modes an owner has it by itself.
    pub fn modes_of(&self, owner: u64) -> Modes {
        let own = self.holders.iter().find(|holder| holder.who.owner == owner);
        own.map_or(Modes::default(), Holder::modes)
    }

    /// In which modes a session has it, by all of its owners.
    pub fn held_by(&self, group: u64) -> Modes {
        let own = self.holders.iter().filter(|holder| holder.who.group == group);
        own.fold(Modes::default(), |all, holder| all.and(holder.modes()))
    }

    pub fn is_held_against(&self, group: Option<u64>, mode: Mode) -> bool {
        let is_other = |holder: &&Holder| Some(holder.who.group) != group;
        self.holders.iter().filter(is_other).any(|holder| holder.modes().conflict(mode))
    }

    /// Those before a place of the queue behind whom a request has to stand. Who has the thing in a mode that they wait
    /// for passes them by: they wait for it anyway.
    pub fn in_front(&self, who: Who, mode: Mode, place: usize) -> impl Iterator<Item = &Waiter> {
        let held = self.held_by(who.group);
        self.waiters.iter().take(place).filter(move |waiter| {
            waiter.who.group != who.group
                && waiter.mode.conflicts(mode)
                && !held.conflict(waiter.mode)
        })
    }

    /// Whether a request that would stand at this place of the queue has to wait.
    pub fn must_wait(&self, who: Who, mode: Mode, place: usize) -> bool {
        self.is_held_against(Some(who.group), mode)
            || self.in_front(who, mode, place).next().is_some()
    }

    /// Where a newcomer stands: last, or before all who wait for what it has, since it cannot get on behind them; but not
    /// before those who are in the same case.
    pub fn place_for(&self, group: u64) -> usize {
        let held = self.held_by(group);
        let waits_for_it = |waiter: &Waiter| {
            held.conflict(waiter.mode) && self.held_by(waiter.who.group).is_empty()
        };
        let place = self.waiters.iter().position(waits_for_it);
        place.unwrap_or(self.waiters.len())
    }

    pub fn excludes_statements(&self) -> bool {
        let waits = |waiter: &Waiter| Modes::default().with(waiter.mode).is_strong();
        self.holders.iter().any(|holder| holder.modes().is_strong())
            || self.waiters.iter().any(waits)
    }

    pub fn is_unused(&self) -> bool {
        self.holders.is_empty() && self.waiters.is_empty()
    }

    pub fn holder_mut(&mut self, who: Who) -> &mut Holder {
        let place = self.holders.iter().position(|holder| holder.who.owner == who.owner);
        let place = place.unwrap_or_else(|| {
            let (taken, noted) = (Modes::default(), Modes::default());
            self.holders.push(Holder { who, taken, noted });
            self.holders.len() - 1
        });
        &mut self.holders[place]
    }

    pub fn drop_idle(&mut self, owner: u64) {
        self.holders.retain(|holder| holder.who.owner != owner || !holder.modes().is_empty());
    }
}
