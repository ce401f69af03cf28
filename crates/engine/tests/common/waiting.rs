//! Waiting in tests: for a condition, never for a time, and never for ever.

#![allow(dead_code, reason = "the tests of each crate use some of these")]

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What takes longer hangs: a machine that builds and tests something else meanwhile takes seconds.
pub const HANG: Duration = Duration::from_secs(120);

const LOOK: Duration = Duration::from_millis(2);

/// Looks again and again until there is something; panics with what it waited for.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < HANG, "waited {HANG:?} in vain: {what}");
        std::thread::sleep(LOOK);
    }
}

/// What a thread gives, once it has ended.
pub fn joined<T>(what: &str, thread: JoinHandle<T>) -> T {
    eventually(what, || thread.is_finished().then_some(()));
    thread.join().unwrap_or_else(|_| panic!("it panicked: {what}"))
}
