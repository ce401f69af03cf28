//! What may end a session's statement early: its client's cancel or leaving, and its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use engine::env::memory::{self, Usage};
use engine::types::limit::Limit;
use engine::types::{Error, SqlState};
use parking_lot::Mutex;

/// What may end the statement that a session runs now. Its clones are the session's, too: a query that is read bit by bit
/// ends with whatever statement reads it.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Set by the client's cancel, and when it goes.
    pub cancelled: Arc<AtomicBool>,
    deadline: Arc<Mutex<Option<Deadline>>>,
    /// Whether the statement waits for what somebody else has locked.
    pub waits_for_lock: Arc<AtomicBool>,
    /// What the session has of the process' memory: threads that work for it enter it.
    pub usage: Arc<Usage>,
}

/// When a statement must have ended, and why.
#[derive(Clone, Copy, Debug)]
struct Deadline {
    at: Instant,
    /// Its answer was promised by then; else its time is up.
    is_promised: bool,
}

impl Limits {
    /// Of work that ends when somebody sets the flag.
    pub fn of(cancelled: Arc<AtomicBool>) -> Limits {
        Limits { cancelled, ..Limits::default() }
    }

    /// A statement begins, and has so much time (`statement_timeout`).
    pub fn begin(&self, deadline: Option<Instant>) {
        self.cancelled.store(false, Ordering::Relaxed);
        *self.deadline.lock() = deadline.map(|at| Deadline { at, is_promised: false });
        self.usage.begin();
    }

    /// It has begun and was promised to be answered by then (`shareddb.response_time`): later nobody wants its answer.
    pub fn promise(&self, at: Instant) {
        let mut deadline = self.deadline.lock();
        if deadline.is_none_or(|other| at < other.at) {
            *deadline = Some(Deadline { at, is_promised: true });
        }
    }

    /// When the statement must have ended.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline.lock().map(|deadline| deadline.at)
    }

    /// Whether it has had all of its time.
    pub fn is_over(&self) -> bool {
        self.deadline().is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Whether it was promised to be answered before now.
    pub fn is_promise_missed(&self) -> bool {
        self.promised_by().is_some_and(|at| Instant::now() >= at)
    }

    /// What is said of a statement that failed: where its time is over, that is why it was cancelled.
    pub fn told(&self, fault: Error) -> Error {
        let is_late = fault.state == SqlState::QueryCanceled && self.is_over();
        if is_late { self.late() } else { fault }
    }

    /// When its answer was promised to be there.
    pub fn promised_by(&self) -> Option<Instant> {
        self.deadline.lock().filter(|deadline| deadline.is_promised).map(|deadline| deadline.at)
    }

    /// What is said of a statement that has not ended by then.
    pub fn late(&self) -> Error {
        let is_promised = self.deadline.lock().is_some_and(|deadline| deadline.is_promised);
        let message = match is_promised {
            true => "canceling statement due to shareddb.response_time",
            false => "canceling statement due to statement timeout",
        };
        Error::new(SqlState::QueryCanceled, message)
    }
}

impl Limit for Limits {
    fn fault(&self) -> Option<Error> {
        if self.usage.is_ended() {
            return Some(memory::ended());
        }
        if self.is_over() {
            return Some(self.late());
        }
        let message = "canceling statement due to user request";
        let is_cancelled = self.cancelled.load(Ordering::Relaxed);
        is_cancelled.then(|| Error::new(SqlState::QueryCanceled, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_the_client_end_it() {
        let limits = Limits::default();
        let message = || limits.fault().map(|fault| fault.message.to_string());
        assert_eq!(message(), None);
        limits.cancelled.store(true, Ordering::Relaxed);
        assert_eq!(message().as_deref(), Some("canceling statement due to user request"));
        limits.begin(Some(Instant::now()));
        assert_eq!(message().as_deref(), Some("canceling statement due to statement timeout"));
        limits.begin(None);
        limits.promise(Instant::now());
        assert!(limits.is_promise_missed());
        let promised = "canceling statement due to shareddb.response_time";
        assert_eq!(message().as_deref(), Some(promised));
        limits.begin(None);
        assert_eq!(message(), None);
    }
}
