//! The process: its end, and how many files it may have open.

use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the number of files, sockets among them, that this process may have open to the most that the system allows it; gives that.
/// Shells begin programs with a soft limit of 1,024, which is meant for programs that call `select`.
pub fn raise_open_files() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    // No limit is told as none.
    raised.map_or(current, |()| maximum).unwrap_or(u64::MAX)
}

/// What ends the process when going on would break a promise (a failed sync).
pub trait Process: Debug + Send + Sync {
    /// Says why and stops. May return in simulations only: the caller must then refuse all further work.
    fn stop(&self, reason: &str);
}

/// Writes the reason to the log and to standard error and exits with status 1.
#[derive(Debug)]
pub struct SystemProcess;

impl Process for SystemProcess {
    fn stop(&self, reason: &str) {
        tracing::error!(reason, "stopping the server");
        eprintln!("shareddb: fatal: {reason}");
        std::process::exit(1);
    }
}

/// Remembers that it was stopped.
#[derive(Debug, Default)]
pub struct SimulatedProcess {
    stopped: AtomicBool,
}

impl SimulatedProcess {
    /// Whether [`Process::stop`] was called.
    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }
}

impl Process for SimulatedProcess {
    fn stop(&self, _reason: &str) {
        self.stopped.store(true, Ordering::Release);
    }
}
