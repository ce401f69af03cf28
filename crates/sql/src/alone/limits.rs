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
    deadline: Arc<Mutex<Option<Instant>>>,
    /// Whether the statement waits for what somebody else has locked.
    pub waits_for_lock: Arc<AtomicBool>,
    /// What the session has of the process' memory: threads that work for it enter it.
    pub usage: Arc<Usage>,
}

impl Limits {
    /// Of work that ends when somebody sets the flag.
    pub fn of(cancelled: Arc<AtomicBool>) -> Limits {
        Limits { cancelled, ..Limits::default() }
    }

    /// A statement begins, and has so much time (`statement_timeout`).
    pub fn begin(&self, deadline: Option<Instant>) {
        self.cancelled.store(false, Ordering::Relaxed);
        *self.deadline.lock() = deadline;
        self.usage.begin();
    }

    /// When the statement must have ended.
    pub fn deadline(&self) -> Option<Instant> {
        *self.deadline.lock()
    }
}

impl Limit for Limits {
    fn fault(&self) -> Option<Error> {
        if self.usage.is_ended() {
            return Some(memory::ended());
        }
        let message = if self.deadline().is_some_and(|deadline| Instant::now() >= deadline) {
            "canceling statement due to statement timeout"
        } else if self.cancelled.load(Ordering::Relaxed) {
            "canceling statement due to user request"
        } else {
            return None;
        };
        Some(Error::new(SqlState::QueryCanceled, message))
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
        assert_eq!(message(), None);
    }
}
