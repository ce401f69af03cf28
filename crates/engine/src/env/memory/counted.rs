//! What the allocator has given out: by thread, and by the session that a thread works for.
//!
//! Every allocation adds to a number of its thread; in steps of 64 KiB that number goes to a place that others read. A thread that
//! works for a session (polls its task) enters the session's [`Usage`], which gets what the thread allocates meanwhile, less what it
//! frees. What is freed by another thread than allocated it (a write set by the write heartbeat, an answer of the heartbeat by its
//! session) is booked where it is freed: a usage says who is large, not how large to the byte. Called by the program's allocator and by
//! whoever polls sessions. Absent here: any allocation.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};

/// Bytes that a thread keeps to itself before it tells them.
const STEP: isize = 64 << 10;

/// Threads that have a place of their own; more share them.
const PLACES: usize = 256;

#[repr(align(64))]
struct Place(AtomicIsize);

static TOLD: [Place; PLACES] = [const { Place(AtomicIsize::new(0)) }; PLACES];
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// No place, and one that is about to be.
const NONE: usize = usize::MAX;
const TAKEN: usize = usize::MAX - 1;

thread_local! {
    /// What this thread has allocated, less what it has freed.
    static OWN: Cell<isize> = const { Cell::new(0) };
    /// What of it was told.
    static OWN_TOLD: Cell<isize> = const { Cell::new(0) };
    static PLACE: Cell<usize> = const { Cell::new(NONE) };
}

/// The allocator has given out so many bytes.
#[inline]
pub fn allocated(bytes: usize) {
    add(bytes as isize);
}

/// So many bytes came back to the allocator.
#[inline]
pub fn freed(bytes: usize) {
    add(-(bytes as isize));
}

#[inline]
fn add(bytes: isize) {
    let own = OWN.get() + bytes;
    OWN.set(own);
    if (own - OWN_TOLD.get()).abs() >= STEP {
        tell(own);
    }
}

/// What this thread has allocated, less what it has freed.
pub fn allocated_here() -> isize {
    OWN.get()
}

#[cold]
fn tell(own: isize) {
    TOLD[place()].0.fetch_add(own - OWN_TOLD.replace(own), Ordering::Relaxed);
}

fn place() -> usize {
    if PLACE.get() == NONE {
        PLACE.set(NEXT.fetch_add(1, Ordering::Relaxed) % PLACES);
    }
    PLACE.get()
}

/// Bytes that are given out now, in the whole process.
pub fn live() -> usize {
    let sum: isize = TOLD.iter().map(|place| place.0.load(Ordering::Relaxed)).sum();
    sum.max(0).unsigned_abs()
}

/// Threads that are seen while they work for the same session; what more of them do is seen when it is done.
const SEEN: usize = 3;

/// A thread at work for a session.
#[derive(Debug)]
struct Work {
    /// Where it tells its bytes.
    place: AtomicUsize,
    /// What was told there when it began.
    began: AtomicIsize,
}

impl Work {
    const fn none() -> Work {
        Work { place: AtomicUsize::new(NONE), began: AtomicIsize::new(0) }
    }

    /// Takes this one, if it is free.
    fn begin(&self, place: usize) -> bool {
        let (free, order) = (self.place.load(Ordering::Relaxed) == NONE, Ordering::Acquire);
        let taken =
            free && self.place.compare_exchange(NONE, TAKEN, order, Ordering::Relaxed).is_ok();
        if taken {
            self.began.store(TOLD[place].0.load(Ordering::Relaxed), Ordering::Relaxed);
            self.place.store(place, Ordering::Release);
        }
        taken
    }

    /// What was told since it began.
    fn bytes(&self) -> isize {
        match TOLD.get(self.place.load(Ordering::Acquire)) {
            Some(told) => told.0.load(Ordering::Relaxed) - self.began.load(Ordering::Relaxed),
            None => 0,
        }
    }

    fn end(&self) {
        self.place.store(NONE, Ordering::Release);
    }
}

/// What a session has: what threads allocated while they worked for it.
#[derive(Debug)]
pub struct Usage {
    settled: AtomicIsize,
    works: [Work; SEEN],
    /// Its statement is ended because the process is nearly full.
    is_ended: AtomicBool,
}

impl Default for Usage {
    fn default() -> Usage {
        Usage {
            settled: AtomicIsize::new(0),
            works: [const { Work::none() }; SEEN],
            is_ended: AtomicBool::new(false),
        }
    }
}

impl Usage {
    /// From now on until the guard is dropped this thread works for the session.
    pub fn enter(&self) -> Entered<'_> {
        let place = place();
        let work = self.works.iter().find(|work| work.begin(place));
        Entered { usage: self, work, own: OWN.get() }
    }

    /// About how many bytes it has.
    pub fn bytes(&self) -> usize {
        let now: isize = self.works.iter().map(Work::bytes).sum();
        (self.settled.load(Ordering::Relaxed) + now).max(0).unsigned_abs()
    }

    /// The session keeps nothing worth counting: what was booked to it by mistake is forgotten.
    pub fn forget(&self) {
        self.settled.store(0, Ordering::Relaxed);
    }

    /// Its statement shall end because the process is nearly full.
    pub fn end(&self) {
        self.is_ended.store(true, Ordering::Relaxed);
    }

    /// Whether its statement shall end because the process is nearly full.
    pub fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    /// A statement begins.
    pub fn begin(&self) {
        self.is_ended.store(false, Ordering::Relaxed);
    }
}

/// A thread works for a session.
#[derive(Debug)]
pub struct Entered<'a> {
    usage: &'a Usage,
    work: Option<&'a Work>,
    /// What the thread had when it began.
    own: isize,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.work.iter().for_each(|work| work.end());
        self.usage.settled.fetch_add(OWN.get() - self.own, Ordering::Relaxed);
    }
}

/// The same future; whatever thread polls it works for the session meanwhile.
pub async fn counted<T>(usage: &Usage, future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| {
        let _entered = usage.enter();
        future.as_mut().poll(context)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usage_gets_what_is_allocated_for_it() {
        let usage = Usage::default();
        allocated(1000);
        let entered = usage.enter();
        allocated(500);
        freed(200);
        drop(entered);
        freed(1000);
        assert_eq!(usage.bytes(), 300);
        usage.forget();
        assert_eq!(usage.bytes(), 0);
        freed(300);
    }

    #[test]
    fn a_usage_is_seen_while_a_thread_works_for_it() {
        let usage = Usage::default();
        let entered = usage.enter();
        let bytes = 100 * STEP.unsigned_abs();
        allocated(bytes);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(usage.bytes() >= bytes);
                assert!(live() >= bytes);
            });
        });
        freed(bytes);
        drop(entered);
        assert_eq!(usage.bytes(), 0);
    }

    #[test]
    fn what_is_freed_elsewhere_does_not_make_a_usage_less_than_nothing() {
        let usage = Usage::default();
        let entered = usage.enter();
        freed(100);
        drop(entered);
        assert_eq!(usage.bytes(), 0);
        allocated(100);
    }
}
