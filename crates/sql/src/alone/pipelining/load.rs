//! How much runs at once, and how long that makes it worth waiting for each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// With all cores busy, a consumer that reads nothing for so long holds nobody up any more.
const STOPPED: Duration = Duration::from_millis(100);
/// With idle cores, nobody waits longer than that for one that is slower.
const SLOWER: Duration = Duration::from_millis(1);

/// Queries that run alone, and cores.
#[derive(Debug)]
pub struct Load {
    cores: usize,
    running: AtomicUsize,
}

/// Counts a query while it lives.
#[derive(Debug)]
pub struct Running(Arc<Load>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How long those in front wait for the slowest when a list is full.
///
/// This is where sharing is decided on. To attach always pays: pages are pulled, and whoever lacks one produces it, so
/// that a producer is a bottleneck only for those who would each have been one. What sharing can cost is speed, where
/// somebody fast goes at the pace of somebody slow. The rule is that of the prediction model that the paper on
/// simultaneous pipelining cites: share while cores are saturated, for then what one repeats all others miss; with idle
/// cores only as long as it holds nobody up, else the slow one repeats the work on a core of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Patience {
    /// Cores are busy: as long as it still reads.
    WhileReading,
    /// Cores are idle.
    Hardly,
}

impl Load {
    /// Nothing runs yet on so many cores.
    pub fn new(cores: usize) -> Arc<Load> {
        Arc::new(Load { cores, running: AtomicUsize::new(0) })
    }

    /// One query more.
    pub fn start(self: &Arc<Self>) -> Running {
        self.running.fetch_add(1, Ordering::Relaxed);
        Running(self.clone())
    }

    /// At the present load.
    pub fn patience(&self) -> Patience {
        match self.running.load(Ordering::Relaxed) >= self.cores {
            true => Patience::WhileReading,
            false => Patience::Hardly,
        }
    }
}

impl Patience {
    /// Until when one waits, who does since `since`, for one that has read at `last_read`.
    pub fn limit(self, since: Instant, last_read: Instant) -> Instant {
        match self {
            Patience::WhileReading => since.max(last_read) + STOPPED,
            Patience::Hardly => since + SLOWER,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_cores_make_patient() {
        let load = Load::new(2);
        let first = load.start();
        assert_eq!(load.patience(), Patience::Hardly);
        let second = load.start();
        assert_eq!(load.patience(), Patience::WhileReading);
        drop((first, second));
        assert_eq!(load.patience(), Patience::Hardly);
    }
}
