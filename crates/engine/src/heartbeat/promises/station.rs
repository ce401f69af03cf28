//! What runs or waits now, of one kind: its number, and its work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::margin::Margin;
use super::rate::Rate;
use crate::env::Clock;

/// Where statements are that compete with each other.
#[derive(Debug)]
pub struct Station {
    load: AtomicU64,
    /// Work of those who have left.
    done: Rate,
    /// Of those who are answered here.
    pub margin: Margin,
    clock: Arc<dyn Clock>,
}

/// The stations of a server.
#[derive(Debug)]
pub struct Stations {
    /// Queries that share the workers, and those that run query at a time beside them. Microseconds that each takes by itself.
    pub queries: Arc<Station>,
    /// Changes that stand in line for the write heartbeat. Counted.
    pub writes: Arc<Station>,
    /// Texts that are planned, or wait for it. Bytes.
    pub texts: Arc<Station>,
    /// Of statements that are answered where they are read: they wait for nobody, but for threads.
    pub light: Margin,
}

impl Stations {
    /// Nobody is there yet.
    pub fn new(clock: &Arc<dyn Clock>) -> Stations {
        let station = || Arc::new(Station::new(clock.clone()));
        let (queries, writes, texts) = (station(), station(), station());
        Stations { queries, writes, texts, light: Margin::default() }
    }
}

impl Station {
    fn new(clock: Arc<dyn Clock>) -> Station {
        let (load, margin) = (AtomicU64::new(0), Margin::default());
        Station { load, done: Rate::default(), margin, clock }
    }

    /// Work of those who have left in the last second.
    pub fn done_per_second(&self) -> f64 {
        self.done.per_second(self.clock.now())
    }

    /// The work of all who are inside.
    pub fn load(&self) -> u64 {
        self.load.load(Ordering::Relaxed)
    }

    /// Enters with so much work.
    pub fn enter(self: &Arc<Self>, work: u64) -> Stay {
        let before = self.load.fetch_add(work, Ordering::Relaxed);
        Stay { station: self.clone(), work, load: before + work, is_refused: false }
    }
}

/// Somebody inside; leaves when it is dropped.
#[derive(Debug)]
pub struct Stay {
    station: Arc<Station>,
    work: u64,
    load: u64,
    is_refused: bool,
}

impl Stay {
    /// The load when it entered, its own work included.
    pub fn load(&self) -> u64 {
        self.load
    }

    /// It leaves at once: nothing of its work is done.
    pub fn refuse(mut self) {
        self.is_refused = true;
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.station.load.fetch_sub(self.work, Ordering::Relaxed);
        if !self.is_refused {
            self.station.done.note(self.station.clock.now(), self.work);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::env::{Environment, SimulatedClock};

    #[test]
    fn who_leaves_takes_its_work_along() {
        let station = Arc::new(Station::new(Environment::system().clock));
        let first = station.enter(100);
        let second = station.enter(20);
        assert_eq!((first.load(), second.load(), station.load()), (100, 120, 120));
        drop(first);
        assert_eq!(station.load(), 20);
        drop(second);
        assert_eq!(station.load(), 0);
    }

    #[test]
    fn work_that_is_refused_is_not_done() {
        let clock = Arc::new(SimulatedClock::default());
        let station = Arc::new(Station::new(clock.clone() as Arc<dyn Clock>));
        drop(station.enter(100));
        station.enter(1_000).refuse();
        clock.put_forward(Duration::from_millis(500));
        assert_eq!((station.load(), station.done_per_second()), (0, 100.0));
    }
}
