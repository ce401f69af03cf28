//! The memory of the process: what it may take in all, who has how much of it, and what happens where it is full.
//!
//! Two counts, since neither alone is enough. **Shares** are told beforehand: whoever keeps something that a client can make grow (rows
//! of a write set, of a cursor, bytes of a message) holds a [`Reservation`] and gets 53200 where its share, or the whole, has no
//! room. **The allocator's count** ([`counted`]) sees all the rest, by thread and by the [`Usage`] of the session that a thread
//! works for: by it the largest statement is found and ended when the process comes near its limit all the same.
//! Shares are caps, no allotments: together they are more than the whole, which has a limit of its own.
//!
//! One account for the process, as there is one allocator: [`process`]. Without a limit (in tests, as a library) nothing is
//! ever refused. Called by whoever keeps memory for clients; the program sets the limit and keeps watch. Absent here: who is ended
//! (`server`), how pages go back to the system (the program).

mod counted;

use std::sync::atomic::{AtomicUsize, Ordering};

pub use counted::{Entered, Usage, allocated, allocated_here, counted, freed, live};

use crate::types::{Error, Result, SqlState};

/// What memory is kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Tables with their indexes and dictionaries.
    Tables,
    /// Rows in bulk that are to become part of a table.
    Loads,
    /// Write sets.
    Writes,
    /// Rows of open cursors.
    Cursors,
    /// Messages that have not come to their end.
    Messages,
    /// Statements that were planned and are kept.
    Plans,
}

/// A share as people set and see it.
#[derive(Debug)]
struct Known {
    share: Share,
    name: &'static str,
    /// What it is kept for, in words.
    what: &'static str,
    /// What it may take of what is not kept free where nobody says, in percent. By default the process may take four fifths of the
    /// machine, of which an eighth is kept free: 86 of a hundred are three fifths of the machine.
    percent: usize,
}

const SHARES: [Known; 6] = [
    known(Share::Tables, "tables", "tables", 86),
    known(Share::Loads, "loads", "rows on their way in", 50),
    known(Share::Writes, "writes", "uncommitted changes", 25),
    known(Share::Cursors, "cursors", "cursors", 25),
    known(Share::Messages, "messages", "unfinished messages", 12),
    known(Share::Plans, "plans", "planned statements", 12),
];

const fn known(share: Share, name: &'static str, what: &'static str, percent: usize) -> Known {
    Known { share, name, what, percent }
}

impl Share {
    /// The share of that name.
    pub fn named(name: &str) -> Option<Share> {
        SHARES.iter().find(|known| known.name == name).map(|known| known.share)
    }

    /// All of them, in their order.
    pub fn all() -> impl Iterator<Item = Share> {
        SHARES.iter().map(|known| known.share)
    }

    /// Its name in options and system tables.
    pub fn name(self) -> &'static str {
        SHARES[self as usize].name
    }
}

/// Reservations grow by so much at least: whoever adds row by row asks rarely.
const STEP: usize = 64 << 10;

/// What is smaller is granted while its share has room, however full the process is: a hog must be noticed by nobody else.
const LARGE: usize = 1 << 20;

/// What planning one statement may take: such a part of what is not kept free.
const PLAN_PARTS: usize = 4;

/// Kept free where a quarter of the limit is as much: a statement takes some hundred megabytes in the time in which one is ended.
const LEAST_FREE: usize = 256 << 20;

/// What the process may take, and what it has.
#[derive(Debug)]
pub struct Account {
    limit: AtomicUsize,
    /// What each share may take of what is not kept free, in percent.
    percents: [AtomicUsize; SHARES.len()],
    used: [AtomicUsize; SHARES.len()],
    /// What the process takes besides what the allocator counts (code, stacks, freed pages), as was last seen.
    overhead: AtomicUsize,
    /// What was granted and is being allocated.
    granted: AtomicUsize,
}

static PROCESS: Account = Account::new();

/// The process' account.
pub fn process() -> &'static Account {
    &PROCESS
}

impl Account {
    /// Without a limit, nothing used.
    const fn new() -> Account {
        let percents = [const { AtomicUsize::new(0) }; SHARES.len()];
        let used = [const { AtomicUsize::new(0) }; SHARES.len()];
        Account {
            limit: AtomicUsize::new(usize::MAX),
            percents,
            used,
            overhead: AtomicUsize::new(0),
            granted: AtomicUsize::new(0),
        }
    }

    /// Sets what the process may take in all.
    pub fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// What the process may take in all.
    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Whether there is a limit.
    pub fn is_limited(&self) -> bool {
        self.limit() != usize::MAX
    }

    /// The process' resident size was just this: tells how much of it no allocation accounts for.
    pub fn note_resident(&self, bytes: usize) {
        self.overhead.store(bytes.saturating_sub(live()), Ordering::Relaxed);
    }

    /// Above it the process is nearly full: large requests are refused and the largest statement is ended. What is left above it is
    /// for what nobody has told beforehand, until who asks for it is found and has ended.
    pub fn nearly_full(&self) -> usize {
        let limit = self.limit();
        limit - (limit / 8).max((limit / 4).min(LEAST_FREE))
    }

    /// Sets what a share may take of what is not kept free, in percent: 1 to 100, 0 for its usual part.
    pub fn set_percent(&self, share: Share, percent: usize) {
        self.percents[share as usize].store(percent.min(100), Ordering::Relaxed);
    }

    /// What a share may take.
    pub fn limit_of(&self, share: Share) -> usize {
        let percent = match self.percents[share as usize].load(Ordering::Relaxed) {
            0 => SHARES[share as usize].percent,
            set => set,
        };
        self.nearly_full() / 100 * percent
    }

    /// What a share has.
    pub fn used(&self, share: Share) -> usize {
        self.used[share as usize].load(Ordering::Relaxed)
    }

    /// Sets what a share has, where somebody has measured it.
    pub fn set_used(&self, share: Share, bytes: usize) {
        self.used[share as usize].store(bytes, Ordering::Relaxed);
    }

    /// Whether `bytes` more would leave the process below what is nearly full. Ask before large allocations that no share
    /// counts: 53200.
    pub fn ask(&self, bytes: usize) -> Result<()> {
        if bytes < LARGE || !self.is_limited() {
            return Ok(());
        }
        match self.taken().saturating_add(bytes) <= self.nearly_full() {
            true => Ok(()),
            false => Err(self.full(bytes)),
        }
    }

    /// Asks for what takes a while to allocate: until the grant is dropped others are told that it is taken, however much of it is
    /// allocated already.
    pub fn grant(&self, bytes: usize) -> Result<Grant<'_>> {
        let bytes = if bytes < LARGE || !self.is_limited() { 0 } else { bytes };
        let grant = Grant { account: self, bytes };
        self.granted.fetch_add(bytes, Ordering::Relaxed);
        match bytes == 0 || self.taken() <= self.nearly_full() {
            true => Ok(grant),
            false => Err(self.full(bytes)),
        }
    }

    /// 53200 where the plan of one statement has taken `bytes`, and that is more than it may, or much while the process is nearly full.
    pub fn check_plan(&self, bytes: usize) -> Result<()> {
        if bytes < LARGE || !self.is_limited() {
            return Ok(());
        }
        match bytes > self.nearly_full() / PLAN_PARTS {
            true => Err(self.full(bytes)),
            false => self.ask(LARGE),
        }
    }

    fn taken(&self) -> usize {
        let beside = [&self.overhead, &self.granted].map(|bytes| bytes.load(Ordering::Relaxed));
        beside.into_iter().fold(live(), usize::saturating_add)
    }

    /// Takes `bytes` of a share; 53200 where it has no room, or the process none for as much.
    pub fn take(&self, share: Share, bytes: usize) -> Result<()> {
        let used = &self.used[share as usize];
        let before = used.fetch_add(bytes, Ordering::Relaxed);
        let granted = match before.saturating_add(bytes) <= self.limit_of(share) {
            true => self.ask(bytes),
            false => Err(self.share_is_full(share, bytes)),
        };
        if granted.is_err() {
            used.fetch_sub(bytes, Ordering::Relaxed);
        }
        granted
    }

    /// Gives back what [`Self::take`] has given.
    pub fn give_back(&self, share: Share, bytes: usize) {
        let used = &self.used[share as usize];
        let less = |used: usize| Some(used.saturating_sub(bytes));
        // Of tables, what was measured anew may be less than what was taken.
        let _ = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    fn full(&self, bytes: usize) -> Error {
        let limit = self.limit();
        let detail = format!("Failed on request of size {bytes}; the process may take {limit}.");
        Error::new(SqlState::OutOfMemory, "out of memory").detail(detail).hint(HINT)
    }

    fn share_is_full(&self, share: Share, bytes: usize) -> Error {
        let (limit, what) = (self.limit_of(share), SHARES[share as usize].what);
        let detail = format!("Failed on request of size {bytes}; {what} may take {limit}.");
        Error::new(SqlState::OutOfMemory, "out of memory").detail(detail).hint(HINT)
    }
}

/// What somebody is about to allocate.
#[derive(Debug)]
pub struct Grant<'a> {
    account: &'a Account,
    bytes: usize,
}

impl Drop for Grant<'_> {
    fn drop(&mut self) {
        self.account.granted.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// What a statement is told that was ended because the process was nearly full.
pub fn ended() -> Error {
    let detail = "The statement held more memory than any other when the process was nearly full.";
    Error::new(SqlState::OutOfMemory, "out of memory").detail(detail).hint(HINT)
}

const HINT: &str = "The server's option --memory says how much the process may take.";

/// What somebody holds of a share; given back when it is dropped.
#[derive(Debug)]
pub struct Reservation {
    account: &'static Account,
    share: Share,
    bytes: usize,
}

impl Reservation {
    /// Nothing of the process' share yet.
    pub const fn new(share: Share) -> Reservation {
        Reservation { account: &PROCESS, share, bytes: 0 }
    }

    /// So many bytes of the process' share, no more; 53200 where there is no room.
    pub fn of(share: Share, bytes: usize) -> Result<Reservation> {
        PROCESS.take(share, bytes)?;
        Ok(Reservation { account: &PROCESS, share, bytes })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Holds `bytes` or, to ask rarely, somewhat more from now on; 53200, and what it held, where there is no room.
    #[inline]
    pub fn grow_to(&mut self, bytes: usize) -> Result<()> {
        match bytes <= self.bytes {
            true => Ok(()),
            false => self.grow(bytes),
        }
    }

    #[cold]
    fn grow(&mut self, bytes: usize) -> Result<()> {
        let wanted = (bytes - self.bytes).max(self.bytes / 16).next_multiple_of(STEP);
        self.account.take(self.share, wanted)?;
        self.bytes += wanted;
        Ok(())
    }

    /// Holds no more than `bytes`, and a step.
    pub fn shrink_to(&mut self, bytes: usize) {
        let kept = bytes.next_multiple_of(STEP);
        if kept < self.bytes {
            self.account.give_back(self.share, self.bytes - kept);
            self.bytes = kept;
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

/// What a computation has gathered that no share counts: asks now and then whether the process has room for more of it.
#[derive(Debug, Default)]
pub struct Growth {
    bytes: usize,
}

impl Growth {
    /// So many bytes more; 53200 where the process is nearly full.
    #[inline]
    pub fn add(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes;
        match self.bytes < LARGE {
            true => Ok(()),
            false => process().ask(std::mem::take(&mut self.bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(limit: usize) -> &'static Account {
        let account = Box::leak(Box::new(Account::new()));
        account.set_limit(limit);
        account
    }

    fn empty(account: &'static Account, share: Share) -> Reservation {
        Reservation { account, share, bytes: 0 }
    }

    #[test]
    fn a_plan_may_take_a_part_of_the_whole() {
        let account = account(1 << 40);
        account.check_plan(account.nearly_full() / PLAN_PARTS).expect("as much as it may");
        let fault = account.check_plan(account.nearly_full() / PLAN_PARTS + 1).expect_err("more");
        assert_eq!(fault.state, SqlState::OutOfMemory);
        account.set_limit(usize::MAX);
        account.check_plan(usize::MAX).expect("no limit");
    }

    #[test]
    fn a_plan_ends_where_the_process_is_full_unless_it_is_small() {
        let account = account(4 << 20);
        account.check_plan(LARGE - 1).expect("small");
        account.granted.fetch_add(account.nearly_full(), Ordering::Relaxed);
        assert!(account.check_plan(LARGE).is_err());
    }

    #[test]
    fn shares_stand_in_their_order() {
        for (position, known) in SHARES.iter().enumerate() {
            assert_eq!(known.share as usize, position);
            assert_eq!(Share::named(known.name), Some(known.share));
        }
    }

    #[test]
    fn tables_may_take_three_fifths_of_the_machine_and_what_is_set() {
        let machine = 64_usize << 30;
        let account = account(machine / 5 * 4);
        assert!(account.limit_of(Share::Tables) >= machine / 10 * 6);
        account.set_percent(Share::Tables, 50);
        assert_eq!(account.limit_of(Share::Tables), account.nearly_full() / 100 * 50);
        account.set_percent(Share::Tables, 0);
        assert!(account.limit_of(Share::Tables) >= machine / 10 * 6);
    }

    #[test]
    fn a_share_is_taken_in_steps_and_comes_back() {
        let account = account(16 << 20);
        let mut held = empty(account, Share::Writes);
        held.grow_to(1).expect("room");
        assert_eq!(account.used(Share::Writes), STEP);
        held.grow_to(STEP).expect("held already");
        assert_eq!(account.used(Share::Writes), STEP);
        held.grow_to(10 * STEP).expect("room");
        held.shrink_to(STEP);
        assert_eq!((held.bytes(), account.used(Share::Writes)), (STEP, STEP));
        drop(held);
        assert_eq!(account.used(Share::Writes), 0);
    }

    #[test]
    fn a_full_share_refuses_and_others_do_not() {
        let account = account(64 << 20);
        let (mut one, mut other) = (empty(account, Share::Writes), empty(account, Share::Writes));
        one.grow_to(9 << 20).expect("room");
        let fault = other.grow_to(4 << 20).expect_err("full");
        assert_eq!(fault.state, SqlState::OutOfMemory);
        assert_eq!(other.bytes(), 0);
        empty(account, Share::Cursors).grow_to(2 << 20).expect("another share");
        drop(one);
        other.grow_to(2 << 20).expect("there is room again");
    }

    #[test]
    fn large_requests_hear_that_the_process_is_nearly_full_and_small_ones_do_not() {
        let account = account(64 << 20);
        account.overhead.store(60 << 20, Ordering::Relaxed);
        assert!(account.ask(LARGE).is_err());
        assert!(account.ask(LARGE - 1).is_ok());
        assert!(account.take(Share::Messages, LARGE).is_err());
        assert!(account.take(Share::Messages, STEP).is_ok());
        assert_eq!(account.used(Share::Messages), STEP);
    }

    #[test]
    fn what_is_granted_is_taken_until_it_is_there() {
        let account = account(1 << 40);
        let third = account.nearly_full() / 3;
        let first = account.grant(third).expect("room");
        let second = account.grant(third).expect("room");
        assert!(account.grant(2 * third).is_err() && account.ask(2 * third).is_err());
        drop((first, second));
        let all = account.grant(2 * third).expect("room again");
        assert_eq!(account.granted.load(Ordering::Relaxed), 2 * third);
        drop(all);
        assert_eq!(account.granted.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn without_a_limit_nothing_is_refused() {
        let account = account(usize::MAX);
        account.ask(usize::MAX / 2).expect("no limit");
        empty(account, Share::Messages).grow_to(usize::MAX / 32).expect("no limit");
    }
}
