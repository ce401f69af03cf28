//! A clock that tests put forward, so that what depends on time does not depend on the machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use engine::env::{Clock, Environment};
use engine::heartbeat::{Engine, EngineOptions, Tuning};

/// Time passes where a test lets it.
#[derive(Debug, Default)]
pub struct SteppedClock {
    nanoseconds: AtomicU64,
    /// What passes each time that somebody looks.
    tick: AtomicU64,
}

impl Clock for SteppedClock {
    fn now(&self) -> Duration {
        let tick = self.tick.load(Ordering::Relaxed);
        Duration::from_nanos(self.nanoseconds.fetch_add(tick, Ordering::Relaxed))
    }
}

impl SteppedClock {
    /// So much passes at once.
    pub fn pass(&self, time: Duration) {
        self.nanoseconds.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    /// So much passes from now on whenever somebody looks.
    pub fn tick(&self, time: Duration) {
        self.tick.store(time.as_nanos() as u64, Ordering::Relaxed);
    }
}

/// An engine that keeps nothing, over such a clock.
pub fn engine(options: EngineOptions) -> (Arc<Engine>, Arc<SteppedClock>) {
    let clock = Arc::<SteppedClock>::default();
    let environment = Environment { clock: clock.clone(), ..Environment::system() };
    let engine = Engine::open_in(environment, Tuning::default(), options);
    (engine.expect("an engine without a directory opens"), clock)
}
