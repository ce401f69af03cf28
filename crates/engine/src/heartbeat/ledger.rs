//! What verification has found: how many answers were run again by another path, what came of it, and the last differences.
//!
//! Whoever verifies ([`super::Engine::ledger`]) enters outcomes; `shareddb.verification` and `shareddb.differences` show
//! them. Absent here: how answers are compared, and what runs them again.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

/// Differences that are kept; the oldest goes first.
const KEPT: usize = 16;

/// Bytes that the differences kept may take together.
const KEPT_BYTES: usize = 1 << 20;

/// An answer that another path did not give.
#[derive(Clone, Debug, Default)]
pub struct Difference {
    /// Its number, counted from 1.
    pub number: u64,
    /// The statement's template.
    pub statement: String,
    /// Its parameters, lifted literals included.
    pub parameters: String,
    /// In what the answers differ.
    pub what: String,
    /// What the client got, or would have got.
    pub first: String,
    /// What the other path gave.
    pub second: String,
    /// What ran beside it.
    pub members: String,
    /// How it ran.
    pub plan: String,
}

/// What verification has found.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Books>);

#[derive(Debug, Default)]
struct Books {
    waiting: u64,
    agreed: Tally,
    differed: Tally,
    skipped: BTreeMap<&'static str, u64>,
    differences: VecDeque<Arc<Difference>>,
}

/// Activations, and the time that verifying them took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub activations: u64,
    /// Running them again and comparing.
    pub took: Duration,
}

impl Tally {
    fn add(&mut self, took: Duration) {
        self.activations += 1;
        self.took += took;
    }
}

/// What the ledger says now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Drawn, and not done yet.
    pub waiting: u64,
    /// Both paths gave the same.
    pub agreed: Tally,
    /// They did not.
    pub differed: Tally,
    /// Drawn and not verified, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
}

impl Ledger {
    /// An answer waits for being verified.
    pub fn wait(&self) {
        self.0.lock().waiting += 1;
    }

    /// It waits no more: one of the other entries follows, or has been made.
    pub fn end_wait(&self) {
        let mut books = self.0.lock();
        books.waiting = books.waiting.saturating_sub(1);
    }

    /// Both paths gave the same.
    pub fn agree(&self, took: Duration) {
        self.0.lock().agreed.add(took);
    }

    /// They did not. Gives the difference as it is kept, with its number.
    pub fn differ(&self, took: Duration, mut difference: Difference) -> Arc<Difference> {
        let mut books = self.0.lock();
        books.differed.add(took);
        difference.number = books.differed.activations;
        let difference = Arc::new(difference);
        books.differences.push_back(difference.clone());
        while books.differences.len() > KEPT || books.bytes() > KEPT_BYTES {
            books.differences.pop_front();
        }
        difference
    }

    /// It was not verified, and why.
    pub fn skip(&self, reason: &'static str) {
        *self.0.lock().skipped.entry(reason).or_default() += 1;
    }

    /// What was found so far.
    pub fn account(&self) -> Account {
        let books = self.0.lock();
        Account {
            waiting: books.waiting,
            agreed: books.agreed,
            differed: books.differed,
            skipped: books.skipped.clone(),
        }
    }

    /// The last differences, oldest first.
    pub fn differences(&self) -> Vec<Arc<Difference>> {
        self.0.lock().differences.iter().cloned().collect()
    }
}

impl Books {
    fn bytes(&self) -> usize {
        self.differences.iter().map(|difference| difference.bytes()).sum()
    }
}

impl Difference {
    fn bytes(&self) -> usize {
        let Difference { statement, parameters, what, first, second, members, plan, .. } = self;
        [statement, parameters, what, first, second, members, plan].map(String::len).iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(bytes: usize) -> Difference {
        Difference { statement: "x".repeat(bytes), ..Difference::default() }
    }

    #[test]
    fn the_last_differences_are_kept_within_their_limits() {
        let ledger = Ledger::default();
        for _ in 0..KEPT + 5 {
            ledger.differ(Duration::from_micros(1), difference(10));
        }
        let kept: Vec<u64> = ledger.differences().iter().map(|d| d.number).collect();
        assert_eq!(kept, (6..=KEPT as u64 + 5).collect::<Vec<_>>());
        ledger.differ(Duration::ZERO, difference(KEPT_BYTES - 5));
        assert_eq!(ledger.differences().len(), 1);
        let expected = Tally { activations: KEPT as u64 + 6, took: Duration::from_micros(21) };
        assert_eq!(ledger.account().differed, expected);
    }

    #[test]
    fn what_is_skipped_is_counted_by_reason() {
        let ledger = Ledger::default();
        ledger.wait();
        ledger.wait();
        ledger.end_wait();
        ["volatile", "memory", "volatile"].into_iter().for_each(|reason| ledger.skip(reason));
        let account = ledger.account();
        assert_eq!(account.waiting, 1);
        assert_eq!(account.skipped, BTreeMap::from([("memory", 1), ("volatile", 2)]));
    }
}
