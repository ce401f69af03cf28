//! How long things take.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// A clock that never goes backwards.
pub trait Clock: Debug + Send + Sync {
    /// Time since some fixed moment.
    fn now(&self) -> Duration;
}

/// The operating system's monotonic clock.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A clock that stands still until it is put forward.
#[derive(Debug, Default)]
pub struct SimulatedClock(Mutex<Duration>);

impl SimulatedClock {
    /// Lets time pass.
    pub fn put_forward(&self, by: Duration) {
        *self.0.lock() += by;
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Duration {
        *self.0.lock()
    }
}
