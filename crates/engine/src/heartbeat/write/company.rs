//! Whom the next turn waits for while queries keep the cores busy.
//!
//! A turn costs about as much for one commit as for ten: a record, a sync with its interrupts, and waking those who are
//! answered, each time in place of a worker. So on busy cores those who were answered by the last turn are waited for, a
//! little while: clients without think time are all back at once, and with think time others come meanwhile. A client
//! by itself never waits, since nobody else is away.

use std::time::{Duration, Instant};

use hashbrown::HashSet;

use crate::types::SessionId;

/// How long a write waits for others at most. 1,000 updates a second leave a client of star queries 0.69 of its throughput
/// without waiting, 0.81 with 2.5 ms (medians of five, in turns); 5 ms gained nothing more.
pub(super) const PATIENCE: Duration = Duration::from_micros(2_500);

/// Sessions that the last turn answered and that have not come back.
#[derive(Debug)]
pub(super) struct Company {
    away: HashSet<SessionId>,
    answered: Instant,
    /// Something waits that nobody's company makes cheaper: a load, a definition, a checkpoint.
    is_hurried: bool,
}

impl Default for Company {
    fn default() -> Self {
        Company { away: HashSet::new(), answered: Instant::now(), is_hurried: false }
    }
}

impl Company {
    /// A write comes; `None` is hurried.
    pub fn arrive(&mut self, session: Option<SessionId>) {
        match session {
            Some(session) => drop(self.away.remove(&session)),
            None => self.is_hurried = true,
        }
    }

    /// A turn takes what waits.
    pub fn depart(&mut self, sessions: impl Iterator<Item = SessionId>) {
        self.away.clear();
        self.away.extend(sessions);
        self.is_hurried = false;
    }

    /// The turn has answered.
    pub fn answered(&mut self, now: Instant) {
        self.answered = now;
    }

    /// Whether somebody may come soon. Who has been away for longer is not waited for.
    pub fn is_awaited(&self, now: Instant, patience: Duration) -> bool {
        !self.is_hurried && !self.away.is_empty() && now < self.answered + patience
    }

    /// Whether nobody is away any more, or somebody has no time.
    pub fn is_complete(&self) -> bool {
        self.is_hurried || self.away.is_empty()
    }
}
