//! Threads that answer somebody, watched: which of them did not get on, for how long, and what it waited for.
//!
//! A thread counts when it begins and ends a piece of work ([`work`], [`watched`]): two stores, no clock. A watcher
//! ([`Watcher`], on a thread of its own) looks at the counters every few milliseconds. One that stands still in the midst of work is
//! a stall: the system is asked then, and again when it is over, how long the thread ran, how long it waited for a processor,
//! and how many pages it was given (`task`). Called by `server` for its connections, by the write heartbeat for its turns, and by
//! `shareddb`, which starts the watcher. `shareddb.stalls` shows the last ones.

mod task;
mod watch;
mod work;

use std::sync::Arc;
use std::time::Duration;

pub use task::{Figures, figures};
pub use watch::{Watch, Watcher, process};
pub use work::{AtWork, watched, work};

/// A thread that did not end a piece of work for long.
#[derive(Clone, Debug, PartialEq)]
pub struct Stall {
    /// The thread's name.
    pub thread: Arc<str>,
    /// When it was seen to be over, by the watcher's clock.
    pub ended: Duration,
    /// How long it took at least.
    pub took: Duration,
    /// What took most of it.
    pub cause: Cause,
    /// Of it, on a processor.
    pub ran: Duration,
    /// Of it, ready to run while other threads had the processors.
    pub waited: Duration,
    /// Pages that it was given.
    pub faults: u64,
    /// The watcher itself came late meanwhile: the machine was busy with others, or stood still.
    pub watcher_late: bool,
}

/// What takes most of a stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The work itself.
    Work,
    /// Being given pages of memory.
    PageFaults,
    /// Other threads had the processors.
    OtherThreads,
    /// Another thread had a lock, or what it waits for.
    Lock,
    /// The log or another file was synced.
    Sync,
    /// Other reading and writing of disks.
    Disk,
    /// It slept, for another reason.
    Sleep,
}

impl Cause {
    /// As it is shown.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Work => "work",
            Cause::PageFaults => "page faults",
            Cause::OtherThreads => "other threads",
            Cause::Lock => "lock",
            Cause::Sync => "sync",
            Cause::Disk => "disk",
            Cause::Sleep => "sleep",
        }
    }
}
