//! Long-lived threads.

use std::fmt::Debug;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;

/// Stack of a thread where nobody asks for another: expressions and plans of statements nest as deep as the front end lets
/// them. Memory is taken page by page, by who gets that far.
pub const STACK_BYTES: usize = 64 << 20;

/// Starts threads.
pub trait Threads: Debug + Send + Sync {
    /// Starts a named thread whose stack may grow to so many bytes.
    fn spawn_with_stack(
        &self,
        name: &str,
        stack_bytes: usize,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<JoinHandle<()>>;

    /// Starts a named thread.
    fn spawn(&self, name: &str, body: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>> {
        self.spawn_with_stack(name, STACK_BYTES, body)
    }
}

/// The operating system's.
#[derive(Debug)]
pub struct SystemThreads;

impl Threads for SystemThreads {
    fn spawn_with_stack(
        &self,
        name: &str,
        stack_bytes: usize,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<JoinHandle<()>> {
        std::thread::Builder::new().name(name.into()).stack_size(stack_bytes).spawn(body)
    }
}

/// Runs `task` on every item, on at most `workers` threads, and gives the results in the order of the items.
pub fn in_parallel<T: Sync, R: Send>(
    workers: usize,
    items: &[T],
    task: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    if workers.min(items.len()) <= 1 {
        return items.iter().map(task).collect();
    }
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..workers.min(items.len()) {
            scope.spawn(|| {
                while let Some((i, item)) = take(&next, items) {
                    *results[i].lock() = Some(task(item));
                }
            });
        }
    });
    results.into_iter().map(|r| r.into_inner().expect("every item was taken")).collect()
}

fn take<'a, T>(next: &AtomicUsize, items: &'a [T]) -> Option<(usize, &'a T)> {
    let i = next.fetch_add(1, Ordering::Relaxed);
    items.get(i).map(|item| (i, item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        let doubled: Vec<usize> = items.iter().map(|i| i * 2).collect();
        assert_eq!(in_parallel(3, &items, |i| i * 2), doubled);
        assert_eq!(in_parallel(0, &items, |i| i * 2), doubled);
    }
}
