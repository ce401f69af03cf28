//! Whether anybody still waits for what a planning thread does, and whether there is memory for it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use engine::env::memory::{allocated_here, process};
use engine::types::{Error, Result, SqlState};
use parking_lot::Mutex;

/// Steps of planning that one statement may take: nodes and parts of expressions, once for each rule that looks at them. Measured: a join
/// of eight tables takes 1,800, a list of 10,000 numbers 40,000, a UNION ALL of 2,500 members 145,000, an OR of 20,000 pairs 680,000,
/// and what rules do in a step grows with the statement.
const STEP_LIMIT: u64 = 2_000_000;

/// Tables and views, each as often as it is named, that one statement's plan may read: views name others.
const RELATION_LIMIT: usize = 10_000;

/// What became of the wish.
const WANTED: u8 = 0;
const LEFT: u8 = 1;

/// One plan that somebody waits for.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    state: AtomicU8,
    began: Mutex<Option<Instant>>,
    relations: AtomicUsize,
    steps: AtomicU64,
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

    fn check(&self, steps: u64) -> Result<()> {
        if self.state.load(Ordering::Relaxed) == LEFT {
            return Err(cancelled());
        }
        if self.steps.fetch_add(steps, Ordering::Relaxed) > STEP_LIMIT {
            return Err(too_many_steps());
        }
        process().check_plan(self.bytes())
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
    step(1)
}

/// A checkpoint before so many steps: 54001 where the statement has taken too many.
pub fn step(steps: u64) -> Result<()> {
    CURRENT.with_borrow(|current| current.as_ref().map_or(Ok(()), |wanted| wanted.check(steps)))
}

/// Counts a table or view that a name stands for; 54001 for too many.
pub fn name_relation() -> Result<()> {
    CURRENT.with_borrow(|current| {
        let Some(wanted) = current else { return Ok(()) };
        wanted.check(1)?;
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

/// More than [`STEP_LIMIT`].
fn too_many_steps() -> Error {
    Error::new(SqlState::StatementTooComplex, "statement too complex")
        .detail(format!("Planning it takes more than {STEP_LIMIT} steps."))
        .hint("Split the statement, or write lists as arrays.")
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
            wanted.leave();
            assert_eq!(checkpoint().expect_err("left").state, SqlState::QueryCanceled);
        });
        assert!(checkpoint().is_ok());
    }

    #[test]
    fn too_many_steps_are_refused_however_long_they_take() {
        Arc::<Wanted>::default().run(|| {
            step(STEP_LIMIT).expect("as many as it may");
            checkpoint().expect("the last");
            let fault = checkpoint().expect_err("one more");
            assert_eq!(fault.state, SqlState::StatementTooComplex);
            assert!(fault.hint.is_some() && fault.detail.is_some());
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
