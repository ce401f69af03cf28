//! Long-lived threads.

use std::fmt::Debug;
use std::io;
use std::thread::JoinHandle;

/// Starts threads.
pub trait Threads: Debug + Send + Sync {
    /// Starts a named thread.
    fn spawn(&self, name: &str, body: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>>;
}

/// The operating system's.
#[derive(Debug)]
pub struct SystemThreads;

impl Threads for SystemThreads {
    fn spawn(&self, name: &str, body: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>> {
        std::thread::Builder::new().name(name.into()).spawn(body)
    }
}
