//! How much memory a server takes, and an end to it when it takes too much.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::peers::Server;

const SAMPLE: Duration = Duration::from_millis(500);
const SETTLING: Duration = Duration::from_secs(60);
const SETTLED_SHARE: f64 = 0.995;

/// What one piece of work took, at its highest.
pub struct Watched<T> {
    /// What came of the work.
    pub outcome: T,
    /// The most that was resident.
    pub peak: u64,
    /// The server was ended for taking more than the limit.
    pub exceeded: bool,
}

/// Does `work` while the server's resident memory is watched; beyond `limit` bytes the server is ended.
pub fn watched<T>(server: &Server, limit: u64, work: impl FnOnce() -> T) -> Watched<T> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(server, limit, &done));
        let outcome = work();
        done.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        let (peak, exceeded) = watcher.join().expect("the watcher panicked");
        Watched { outcome, peak, exceeded }
    })
}

fn watch(server: &Server, limit: u64, done: &AtomicBool) -> (u64, bool) {
    let (mut peak, mut exceeded) = (0, false);
    loop {
        let last = done.load(Ordering::Relaxed);
        peak = peak.max(server.resident_bytes());
        if peak > limit && !exceeded {
            exceeded = true;
            server.kill();
        }
        if last {
            return (peak, exceeded);
        }
        std::thread::park_timeout(SAMPLE);
    }
}

/// Resident bytes once they have not fallen for a while.
pub fn settled(server: &Server, unchanged: Duration) -> u64 {
    let start = Instant::now();
    let (mut resident, mut since) = (server.resident_bytes(), start);
    while start.elapsed() < SETTLING && since.elapsed() < unchanged {
        std::thread::sleep(2 * SAMPLE);
        let now = server.resident_bytes();
        if (now as f64) < SETTLED_SHARE * resident as f64 {
            (resident, since) = (now, Instant::now());
        }
    }
    server.resident_bytes()
}
