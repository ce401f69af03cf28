//! The outside world as traits: files, clock, randomness, threads, the end of the process; the size of its caches, its memory,
//! and its threads' stalls.
//!
//! Whoever touches one of these gets it through an [`Environment`]. The real one asks the operating system; the
//! simulated directory keeps files in memory, remembers what was not yet synced, takes an image after every
//! operation and fails the k-th one on request, so that crash points can be enumerated.
//! Called by `log` and `heartbeat`. Absent here: what the bytes mean.

mod caches;
mod clock;
mod directory;
pub mod memory;
mod process;
mod randomness;
mod real;
mod simulated;
pub mod stalls;
mod threads;

use std::sync::Arc;

pub use caches::USUAL_SECOND_CACHE;
pub use clock::{Clock, SimulatedClock, SystemClock};
pub use directory::{Directory, DirectoryLock, File, Files};
pub use process::{Process, SimulatedProcess, SystemProcess, raise_open_files};
pub use randomness::{Randomness, SeededRandomness, SystemRandomness};
pub use real::SystemFiles;
pub use simulated::{Fault, FaultKind, Image, SimulatedDirectory};
pub use threads::{STACK_BYTES, SystemThreads, Threads, in_parallel};

/// Everything that the engine asks of the outside world.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Directories and the files in them.
    pub files: Arc<dyn Files>,
    /// How long things take. Nothing about order or visibility depends on it.
    pub clock: Arc<dyn Clock>,
    /// Ids that must differ between files and databases.
    pub randomness: Arc<dyn Randomness>,
    /// Long-lived threads.
    pub threads: Arc<dyn Threads>,
    /// The end of the process, where going on would break a promise.
    pub process: Arc<dyn Process>,
    /// Bytes of a core's second cache.
    pub second_cache: usize,
}

impl Environment {
    /// The operating system's.
    pub fn system() -> Environment {
        Environment {
            files: Arc::new(SystemFiles),
            clock: Arc::new(SystemClock::default()),
            randomness: Arc::new(SystemRandomness),
            threads: Arc::new(SystemThreads),
            process: Arc::new(SystemProcess),
            second_cache: caches::second_cache(),
        }
    }

    /// A simulated directory, seeded randomness, a process that survives its own end and the usual caches; clock and
    /// threads are real.
    pub fn simulated(directory: Arc<SimulatedDirectory>, seed: u64) -> Environment {
        Environment {
            files: directory,
            randomness: Arc::new(SeededRandomness::new(seed)),
            process: Arc::new(SimulatedProcess::default()),
            second_cache: USUAL_SECOND_CACHE,
            ..Environment::system()
        }
    }
}
