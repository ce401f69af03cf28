//! Whether anybody still waits for what a planning thread does, and whether there is memory for it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use engine::env::memory::{allocated_here, process};
use engine::types::{Error, Result, SqlState};
use parking_lot::Mutex;

/// How long planning may take.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Tables and views, each as often as it is named, that one statement's plan may read: views name others.
const RELATION_LIMIT: usize = 10_000;

/// What became of the wish.
const WANTED: u8 = 0;
const LEFT: u8 = 1;
const OUTSTAYED: u8 = 2;

/// One plan that somebody waits for.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    state: AtomicU8,
    began: Mutex<Option<Instant>>,
    relations: AtomicUsize,
    /// Parts of its expressions, as they are written.
    parts: AtomicU64,
    /// What its thread had allocated when it began.
    had: AtomicIsize,
}

std::thread_local! {
    /// What the planning thread is doing.
    static CURRENT: RefCell<Option<Arc<Wanted>>> = const { RefCell::new(None) };
}

impl Wanted {
    /// Nobody waits any more.
    pub fn leave(&self) {
        self.state.store(LEFT, Ordering::Relaxed);
    }

    /// Others need its thread.
    pub fn outstay(&self) {
        let _ =
            self.state.compare_exchange(WANTED, OUTSTAYED, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether it may go on.
    pub fn is_wanted(&self) -> bool {
        self.state.load(Ordering::Relaxed) == WANTED
    }

    /// How long it has been planned.
    pub fn age(&self) -> Duration {
        self.began.lock().map_or(Duration::ZERO, |began| began.elapsed())
    }

    /// Runs `work` as what the calling thread does.
    pub fn run<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        struct Done(Option<Arc<Wanted>>);
        impl Drop for Done {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        *self.began.lock() = Some(Instant::now());
        self.had.store(allocated_here(), Ordering::Relaxed);
        let _done = Done(CURRENT.replace(Some(self.clone())));
        work()
    }

    fn check(&self) -> Result<()> {
        match self.state.load(Ordering::Relaxed) {
            LEFT => Err(cancelled()),
            OUTSTAYED => Err(outstayed()),
            _ if self.age() > TIME_LIMIT => Err(too_long()),
            _ => process().check_plan(self.bytes()),
        }
    }

    /// What its thread has allocated for it; called there.
    fn bytes(&self) -> usize {
        let bytes = allocated_here().saturating_sub(self.had.load(Ordering::Relaxed));
        usize::try_from(bytes).unwrap_or(0)
    }
}

/// 57014 or 54001 where the plan that this thread makes is no longer wanted, 53200 where it has taken too much memory; called wherever
/// planning may take long.
pub fn checkpoint() -> Result<()> {
    CURRENT.with_borrow(|current| current.as_ref().map_or(Ok(()), |wanted| wanted.check()))
}

/// Counts a table or view that a name stands for; 54001 for too many.
pub fn name_relation() -> Result<()> {
    CURRENT.with_borrow(|current| {
        let Some(wanted) = current else { return Ok(()) };
        wanted.check()?;
        match wanted.relations.fetch_add(1, Ordering::Relaxed) < RELATION_LIMIT {
            true => Ok(()),
            false => Err(super::plans::too_large()),
        }
    })
}

/// The statement's expressions have so many parts as they are written, or more.
pub(super) fn note_parts(parts: u64) {
    CURRENT.with_borrow(|current| {
        current.iter().for_each(|wanted| {
            wanted.parts.fetch_max(parts, Ordering::Relaxed);
        });
    });
}

/// What was noted, without limit where nobody notes.
pub(super) fn parts() -> u64 {
    CURRENT.with_borrow(|current| {
        current.as_ref().map_or(u64::MAX, |wanted| wanted.parts.load(Ordering::Relaxed))
    })
}

/// The client asked for it, or has gone.
pub(super) fn cancelled() -> Error {
    Error::new(SqlState::QueryCanceled, "canceling statement due to user request")
}

/// More than [`TIME_LIMIT`].
pub(super) fn too_long() -> Error {
    let message = format!("statement too complex: planning it takes more than {TIME_LIMIT:?}");
    Error::new(SqlState::StatementTooComplex, message)
}

fn outstayed() -> Error {
    let message = "statement too complex: planning it takes long while others wait to be planned";
    Error::new(SqlState::StatementTooComplex, message)
}

#[cfg(test)]
mod tests {
    use engine::env::memory::{allocated, freed};

    use super::*;

    #[test]
    fn who_is_no_longer_wanted_hears_it_at_the_next_checkpoint() {
        assert!(checkpoint().is_ok(), "outside a planning thread nobody asks");
        let wanted = Arc::<Wanted>::default();
        wanted.run(|| {
            assert!(checkpoint().is_ok());
            wanted.outstay();
            assert_eq!(checkpoint().expect_err("too long").state, SqlState::StatementTooComplex);
            wanted.leave();
            assert_eq!(checkpoint().expect_err("left").state, SqlState::QueryCanceled);
        });
        assert!(checkpoint().is_ok());
    }

    #[test]
    fn what_is_written_is_noted_for_each_plan() {
        note_parts(7);
        assert_eq!(parts(), u64::MAX, "outside a planning thread nobody notes");
        Arc::<Wanted>::default().run(|| {
            assert_eq!(parts(), 0);
            note_parts(7);
            note_parts(3);
            assert_eq!(parts(), 7);
        });
    }

    #[test]
    fn what_its_thread_allocates_is_the_plans() {
        let wanted = Arc::<Wanted>::default();
        allocated(1 << 20);
        wanted.run(|| {
            allocated(500);
            assert_eq!(wanted.bytes(), 500);
            freed(1 << 20);
            assert_eq!(wanted.bytes(), 0, "what was there before goes");
            allocated((1 << 20) - 500);
        });
        freed(1 << 20);
    }

    #[test]
    fn names_that_stand_for_too_much_are_refused() {
        let wanted = Arc::<Wanted>::default();
        let named = wanted.run(|| (0..=RELATION_LIMIT).try_for_each(|_| name_relation()));
        assert_eq!(named.expect_err("too many").state, SqlState::StatementTooComplex);
    }
}
