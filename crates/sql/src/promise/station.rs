//! What runs or waits now, of one kind: its number, and its work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where statements are that compete with each other.
#[derive(Debug, Default)]
pub struct Station {
    load: AtomicU64,
}

/// The stations of a server.
#[derive(Debug, Default)]
pub struct Stations {
    /// Queries that share the workers, and those that run query at a time beside them. Microseconds that each takes by itself.
    pub queries: Arc<Station>,
    /// Changes that stand in line for the write heartbeat. Counted.
    pub writes: Arc<Station>,
    /// Texts that are planned, or wait for it. Bytes.
    pub texts: Arc<Station>,
}

impl Station {
    /// The work of all who are inside.
    pub fn load(&self) -> u64 {
        self.load.load(Ordering::Relaxed)
    }

    /// Enters with so much work.
    pub fn enter(self: &Arc<Self>, work: u64) -> Stay {
        let before = self.load.fetch_add(work, Ordering::Relaxed);
        Stay { station: self.clone(), work, load: before + work }
    }
}

/// Somebody inside; leaves when it is dropped.
#[derive(Debug)]
pub struct Stay {
    station: Arc<Station>,
    work: u64,
    load: u64,
}

impl Stay {
    /// The load when it entered, its own work included.
    pub fn load(&self) -> u64 {
        self.load
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.station.load.fetch_sub(self.work, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_leaves_takes_its_work_along() {
        let station = Arc::<Station>::default();
        let first = station.enter(100);
        let second = station.enter(20);
        assert_eq!((first.load(), second.load(), station.load()), (100, 120, 120));
        drop(first);
        assert_eq!(station.load(), 20);
        drop(second);
        assert_eq!(station.load(), 0);
    }
}
