//! Whether batches of heavy lanes keep the cores busy: the workers say so, the write heartbeat asks.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Workers that lead a batch of a heavy lane. True of now only.
#[derive(Debug, Default)]
pub struct HeavyWork(AtomicUsize);

impl HeavyWork {
    /// A worker begins to lead a lane.
    pub fn enter(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// It is done.
    pub fn leave(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// Workers that lead a lane.
    pub fn leaders(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
