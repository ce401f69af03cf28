//! How long a connection that could go on waits for its turn on a thread.
//!
//! What a client has sent lies in the system's buffer until its connection's task has its turn; in a storm of light statements that is
//! most of the time that an answer takes, and nobody sees it. So somebody ([`Turns::ask`], [`Turns::have`]; the server has a task for it)
//! asks for a turn again and again, as connections do, and notes how late it comes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Nobody asks for a turn.
const NOBODY: u64 = u64::MAX;

/// The wait for a turn.
#[derive(Debug)]
pub struct Turns {
    /// When the one who asks is due, in nanoseconds of the engine's clock.
    due: AtomicU64,
    /// How much later the last one came.
    late: AtomicU64,
    /// Somebody wants to know.
    wanted: AtomicBool,
}

impl Default for Turns {
    fn default() -> Turns {
        Turns {
            due: AtomicU64::new(NOBODY),
            late: AtomicU64::new(0),
            wanted: AtomicBool::new(false),
        }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(NOBODY - 1)
}

impl Turns {
    /// What a connection waits for its turn now, at least: what was waited last, or has been since.
    pub fn wait(&self, now: Duration) -> Duration {
        if !self.wanted.load(Ordering::Relaxed) {
            self.wanted.store(true, Ordering::Relaxed);
        }
        let pending = nanoseconds(now).saturating_sub(self.due.load(Ordering::Relaxed));
        Duration::from_nanos(pending.max(self.late.load(Ordering::Relaxed)))
    }

    /// Whether anybody has wanted to know since this was asked last.
    pub fn take_wanted(&self) -> bool {
        self.wanted.swap(false, Ordering::Relaxed)
    }

    /// Asks for a turn that is due then.
    pub fn ask(&self, due: Duration) {
        self.due.store(nanoseconds(due), Ordering::Relaxed);
    }

    /// The turn has come.
    pub fn have(&self, now: Duration) {
        let due = self.due.swap(NOBODY, Ordering::Relaxed);
        self.late.store(nanoseconds(now).saturating_sub(due), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    #[test]
    fn what_is_waited_is_known_before_the_turn_comes() {
        let turns = Turns::default();
        assert_eq!(turns.wait(7 * MILLISECOND), Duration::ZERO, "nobody has asked");
        turns.ask(10 * MILLISECOND);
        assert_eq!(turns.wait(9 * MILLISECOND), Duration::ZERO);
        assert_eq!(turns.wait(40 * MILLISECOND), 30 * MILLISECOND);
        turns.have(50 * MILLISECOND);
        assert_eq!(turns.wait(51 * MILLISECOND), 40 * MILLISECOND);
        turns.ask(52 * MILLISECOND);
        turns.have(53 * MILLISECOND);
        assert_eq!(turns.wait(54 * MILLISECOND), MILLISECOND);
    }

    #[test]
    fn who_asks_is_told_whether_anybody_wants_to_know() {
        let turns = Turns::default();
        assert!(!turns.take_wanted());
        turns.wait(MILLISECOND);
        assert!(turns.take_wanted() && !turns.take_wanted());
    }
}
