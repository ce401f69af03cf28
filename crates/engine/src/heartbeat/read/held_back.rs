//! Lanes held back, so that all that is submitted meanwhile runs as one heartbeat: how a batch is replayed exactly.
//!
//! Whoever holds leads every lane and runs nothing; submitters find somebody leading and go on. So an activation's way
//! knows nothing of it. Called by tests through [`crate::heartbeat::Engine::hold_back`].

use std::sync::Arc;
use std::time::Duration;

use super::{Lane, Reads};

/// How long those are waited for who lead when lanes are to be held, at a time.
const PAUSE: Duration = Duration::from_micros(100);

/// The lanes that were there, held back until this is dropped: then each runs what waits, as one heartbeat where all share.
#[derive(Debug)]
pub struct HeldBack {
    reads: Arc<Reads>,
    lanes: Vec<Arc<Lane>>,
}

impl Reads {
    /// Holds all lanes, each as soon as nobody leads it.
    pub fn hold_back(self: &Arc<Self>) -> HeldBack {
        let lanes = self.all_lanes();
        for lane in &lanes {
            while !lane.hold_back() {
                std::thread::sleep(PAUSE);
            }
        }
        HeldBack { reads: self.clone(), lanes }
    }
}

impl HeldBack {
    /// Activations that wait.
    pub fn waiting(&self) -> usize {
        self.lanes.iter().map(|lane| lane.waiting()).sum()
    }
}

impl Drop for HeldBack {
    fn drop(&mut self) {
        self.lanes.iter().for_each(|lane| self.reads.run_waiting(lane));
    }
}
