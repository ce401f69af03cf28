//! Who has what, and who waits for it in which order.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::entry::{Entry, Waiter};
use super::modes::{Mode, Modes};
use super::owner::Who;
use super::{Acquired, LockKey, LockMode};
use crate::env::memory::{Reservation, Share};
use crate::types::{Error, Result, SqlState, TableId};

/// Called when a lock is given, or why it never will be. Must not block.
pub(crate) type Callback = Box<dyn FnOnce(Result<()>) + Send>;

/// About what a lock takes: its entry, its holder, its place in the owner's list.
const LOCK_BYTES: usize = 2 * (size_of::<LockKey>() + size_of::<Entry>()) + 64;

/// Locks of tables and advisory ones that a session may have, and all together: their number is up to clients.
pub(super) const MOST_OF_ONE: usize = 4_096;
pub(super) const MOST: usize = 65_536;

#[derive(Debug)]
struct OwnerState {
    /// What it has got, in order, and in which modes it had that before.
    taken: Vec<(LockKey, Modes)>,
    waits_for: Option<LockKey>,
    group: u64,
    memory: Reservation,
}

/// What the owners of one session have and want.
#[derive(Debug, Default)]
struct Group {
    /// One thing, but for what is about to be withdrawn.
    waits_for: Vec<LockKey>,
    /// Locks of tables and advisory ones.
    counted: usize,
}

#[derive(Debug)]
pub(super) struct State {
    entries: HashMap<LockKey, Entry, RandomState>,
    owners: HashMap<u64, OwnerState, RandomState>,
    groups: HashMap<u64, Group, RandomState>,
    /// Tables that somebody excludes statements from, or wants to.
    strong: usize,
    /// Locks of tables and advisory ones.
    counted: usize,
    /// How many of these a session may have, and all.
    pub limits: (usize, usize),
}

impl Default for State {
    fn default() -> State {
        State {
            entries: HashMap::default(),
            owners: HashMap::default(),
            groups: HashMap::default(),
            strong: 0,
            counted: 0,
            limits: (MOST_OF_ONE, MOST),
        }
    }
}

fn out_of_locks((of_one, of_all): (usize, usize)) -> Error {
    let hint = format!(
        "A session may have {of_one} locks of tables and advisory locks, all sessions together {of_all}."
    );
    Error::new(SqlState::OutOfMemory, "out of shared memory").hint(hint)
}

impl State {
    pub fn locked(&self) -> usize {
        self.entries.len()
    }

    pub fn strong(&self) -> usize {
        self.strong
    }

    /// Somebody is about to exclude statements from a table, or has ceased to be.
    pub fn intend(&mut self, is_about_to: bool) {
        self.strong = if is_about_to { self.strong + 1 } else { self.strong.saturating_sub(1) };
    }

    pub fn entry(&self, key: &LockKey) -> Option<&Entry> {
        self.entries.get(key)
    }

    pub fn entries(&self) -> impl Iterator<Item = (&LockKey, &Entry)> {
        self.entries.iter()
    }

    /// What a session waits for.
    pub fn waits_for(&self, group: u64) -> &[LockKey] {
        self.groups.get(&group).map_or(&[], |group| &group.waits_for)
    }

    pub fn waiting(&self) -> usize {
        self.entries.values().map(|entry| entry.waiters.len()).sum()
    }

    pub fn is_held_against(&self, group: Option<u64>, key: &LockKey, mode: Mode) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.is_held_against(group, mode))
    }

    pub fn keys_of(&self, group: Option<u64>, table: TableId) -> Vec<LockKey> {
        let is_of = |key: &LockKey| matches!(key, LockKey::Key(of, ..) if *of == table);
        let update = Mode::Row(LockMode::Update);
        let held = self
            .entries
            .iter()
            .filter(|(key, entry)| is_of(key) && entry.is_held_against(group, update));
        held.map(|(key, _)| key.clone()).collect()
    }

    /// Whether a request for it would have to wait.
    pub fn must_wait(&self, who: Who, key: &LockKey, mode: Mode) -> bool {
        let entry = self.entries.get(key);
        entry.is_some_and(|entry| entry.must_wait(who, mode, entry.waiters.len()))
    }

    pub fn acquire(&mut self, who: Who, key: &LockKey, mode: Mode) -> Result<Acquired> {
        if let Some(entry) = self.entries.get(key) {
            if entry.modes_of(who.owner).cover(mode) {
                return Ok(Acquired::Before);
            }
            if entry.must_wait(who, mode, entry.waiters.len()) {
                return Ok(Acquired::Busy);
            }
        }
        self.check_count(who, key)?;
        let state = self.owner(who);
        state.memory.grow_to((state.taken.len() + 1) * LOCK_BYTES)?;
        self.give(who, key, mode);
        self.note_strength(key);
        Ok(Acquired::Fresh)
    }

    fn check_count(&self, who: Who, key: &LockKey) -> Result<()> {
        if !key.is_counted() {
            return Ok(());
        }
        let own = self.groups.get(&who.group).map_or(0, |group| group.counted);
        let is_full = own >= self.limits.0 || self.counted >= self.limits.1;
        if is_full { Err(out_of_locks(self.limits)) } else { Ok(()) }
    }

    fn count(&mut self, group: u64, key: &LockKey, is_more: bool) {
        if !key.is_counted() {
            return;
        }
        let of_group = &mut self.groups.entry(group).or_default().counted;
        for counted in [of_group, &mut self.counted] {
            *counted = if is_more { *counted + 1 } else { counted.saturating_sub(1) };
        }
        self.drop_idle_group(group);
    }

    fn drop_idle_group(&mut self, group: u64) {
        let of_group = self.groups.get(&group);
        if of_group.is_some_and(|group| group.counted == 0 && group.waits_for.is_empty()) {
            self.groups.remove(&group);
        }
    }

    fn owner(&mut self, who: Who) -> &mut OwnerState {
        self.owners.entry(who.owner).or_insert_with(|| OwnerState {
            taken: Vec::new(),
            waits_for: None,
            group: who.group,
            memory: Reservation::new(Share::Writes),
        })
    }

    fn entry_mut(&mut self, key: &LockKey) -> &mut Entry {
        if !self.entries.contains_key(key) {
            self.entries.insert(key.clone(), Entry::default());
        }
        self.entries.get_mut(key).expect("it is there now")
    }

    fn give(&mut self, who: Who, key: &LockKey, mode: Mode) {
        let holder = self.entry_mut(key).holder_mut(who);
        let before = holder.taken;
        holder.taken = before.with(mode);
        self.owner(who).taken.push((key.clone(), before));
        self.count(who.group, key, true);
    }

    /// Enters what a block's statements use of a table; nobody is asked.
    pub fn enter_note(&mut self, who: Who, key: &LockKey, mode: Mode) {
        let holder = self.entry_mut(key).holder_mut(who);
        holder.noted = holder.noted.with(mode);
    }

    pub fn release_note(&mut self, who: Who, key: &LockKey, mode: Mode) -> Vec<Callback> {
        if let Some(entry) = self.entries.get_mut(key) {
            let holder = entry.holder_mut(who);
            holder.noted = holder.noted.without(mode);
            entry.drop_idle(who.owner);
        }
        self.grant(key)
    }

    /// Keeps count of the tables that somebody excludes statements from.
    fn note_strength(&mut self, key: &LockKey) {
        let LockKey::Table(_) = key else { return };
        let Some(entry) = self.entries.get_mut(key) else { return };
        let is_strong = entry.excludes_statements();
        let was_strong = std::mem::replace(&mut entry.is_strong, is_strong);
        if is_strong != was_strong {
            self.intend(is_strong);
        }
    }

    pub fn enqueue(&mut self, key: LockKey, waiter: Waiter) -> Vec<Callback> {
        let who = waiter.who;
        self.owner(who).waits_for = Some(key.clone());
        self.groups.entry(who.group).or_default().waits_for.push(key.clone());
        let entry = self.entry_mut(&key);
        let place = entry.place_for(who.group);
        entry.waiters.insert(place, waiter);
        self.grant(&key)
    }

    /// The owner waits for nothing any more.
    fn end_wait(&mut self, who: Who, key: &LockKey) {
        if let Some(owner) = self.owners.get_mut(&who.owner) {
            owner.waits_for = None;
        }
        if let Some(group) = self.groups.get_mut(&who.group)
            && let Some(place) = group.waits_for.iter().position(|awaited| awaited == key)
        {
            group.waits_for.swap_remove(place);
        }
        self.drop_idle_group(who.group);
    }

    /// Gives a thing to all who can have it now.
    fn grant(&mut self, key: &LockKey) -> Vec<Callback> {
        let (mut granted, mut place) = (Vec::new(), 0);
        while let Some(entry) = self.entries.get_mut(key) {
            let Some(waiter) = entry.waiters.get(place) else { break };
            if entry.must_wait(waiter.who, waiter.mode, place) {
                place += 1;
                continue;
            }
            let Some(waiter) = entry.waiters.remove(place) else { break };
            if !waiter.only_look {
                self.give(waiter.who, key, waiter.mode);
            }
            self.end_wait(waiter.who, key);
            granted.push(waiter.then);
        }
        self.note_strength(key);
        if self.entries.get(key).is_some_and(Entry::is_unused) {
            self.entries.remove(key);
        }
        granted
    }

    pub fn leave(&mut self, owner: u64) -> (Option<Waiter>, Vec<Callback>) {
        let Some(state) = self.owners.get(&owner) else { return (None, Vec::new()) };
        let (group, Some(key)) = (state.group, state.waits_for.clone()) else {
            return (None, Vec::new());
        };
        let entry = self.entries.get_mut(&key);
        let left = entry.and_then(|entry| {
            let place = entry.waiters.iter().position(|waiter| waiter.who.owner == owner)?;
            entry.waiters.remove(place)
        });
        self.end_wait(Who { owner, group }, &key);
        (left, self.grant(&key))
    }

    /// How many locks an owner has got.
    pub fn taken(&self, owner: u64) -> usize {
        self.owners.get(&owner).map_or(0, |state| state.taken.len())
    }

    pub fn release(&mut self, owner: u64, first: usize) -> Vec<Callback> {
        let Some(state) = self.owners.get_mut(&owner) else { return Vec::new() };
        let since = state.taken.split_off(first.min(state.taken.len()));
        state.memory.shrink_to(state.taken.len() * LOCK_BYTES);
        let who = Who { owner, group: state.group };
        let mut granted = Vec::new();
        for (key, before) in since.into_iter().rev() {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.holder_mut(who).taken = before;
                entry.drop_idle(owner);
            }
            self.count(who.group, &key, false);
            granted.append(&mut self.grant(&key));
        }
        granted
    }

    pub fn forget(&mut self, owner: u64) -> Vec<Callback> {
        let granted = self.release(owner, 0);
        self.owners.remove(&owner);
        granted
    }

    pub fn take_waiters(&mut self) -> Vec<Callback> {
        let waiting =
            self.entries.values_mut().flat_map(|entry| std::mem::take(&mut entry.waiters));
        let waiting = waiting.map(|waiter| waiter.then).collect();
        self.owners.values_mut().for_each(|owner| owner.waits_for = None);
        self.groups.values_mut().for_each(|group| group.waits_for.clear());
        let keys: Vec<LockKey> = self.entries.keys().cloned().collect();
        keys.iter().for_each(|key| self.note_strength(key));
        waiting
    }

    /// Lets a waiter go before another one of the same queue.
    pub fn move_before(&mut self, key: &LockKey, group: u64, other: u64) -> Vec<Callback> {
        if let Some(entry) = self.entries.get_mut(key) {
            let place = |group| entry.waiters.iter().position(|waiter| waiter.who.group == group);
            if let (Some(from), Some(to)) = (place(group), place(other))
                && let Some(waiter) = entry.waiters.remove(from)
            {
                entry.waiters.insert(to.min(from), waiter);
            }
        }
        self.grant(key)
    }
}
