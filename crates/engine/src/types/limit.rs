//! What may end a piece of work early: nobody wants it any more, or its time is up.
//!
//! Whoever runs a statement's work on a thread does so [`within`] its limit; loops of any depth ask [`check`], and give its
//! fault up to whoever asked for the work. It is the thread's, not handed down, since what loops lies below interfaces that
//! others have made. Called by all rooms that loop, and by the query-at-a-time path.

use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::Arc;

use super::{Error, Result};

/// What may end work early.
pub trait Limit: Debug + Send + Sync {
    /// Why it is to end; `None`: it goes on.
    fn fault(&self) -> Option<Error>;

    /// Whoever has let the work wait elsewhere begins with it; `false` where it was withdrawn meanwhile, and answered.
    fn take(&self) -> bool {
        true
    }

    /// Work that was begun waits again, for somebody's lock. Who withdraws it says so by calling `leave`.
    fn put_aside(&self, leave: Box<dyn FnOnce() + Send>) {
        drop(leave);
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<dyn Limit>>> = const { RefCell::new(None) };
}

/// Puts the limit before back, also after a panic.
struct Before(Option<Arc<dyn Limit>>);

impl Drop for Before {
    fn drop(&mut self) {
        let before = self.0.take();
        CURRENT.with(|current| *current.borrow_mut() = before);
    }
}

/// Runs work that ends with the limit; without one, whatever that of the thread is.
pub fn within<T>(limit: Option<Arc<dyn Limit>>, run: impl FnOnce() -> T) -> T {
    let _before = Before(CURRENT.with(|current| current.replace(limit)));
    run()
}

/// The limit of what this thread does.
pub fn current() -> Option<Arc<dyn Limit>> {
    CURRENT.with(|current| current.borrow().clone())
}

/// Fails where the work of this thread is to end.
pub fn check() -> Result<()> {
    // The limit may look at others' limits, but sets none.
    let fault = CURRENT.with(|current| current.borrow().as_ref().and_then(|limit| limit.fault()));
    fault.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::types::SqlState;

    #[derive(Debug, Default)]
    struct Flag(AtomicBool);

    impl Limit for Flag {
        fn fault(&self) -> Option<Error> {
            let is_set = self.0.load(Ordering::Relaxed);
            is_set.then(|| Error::new(SqlState::QueryCanceled, "cancelled"))
        }
    }

    #[test]
    fn a_limit_holds_for_its_work_alone() {
        let (outer, inner) = (Arc::new(Flag::default()), Arc::new(Flag::default()));
        inner.0.store(true, Ordering::Relaxed);
        within(Some(outer.clone()), || {
            assert!(within(Some(inner.clone()), check).is_err());
            assert!(check().is_ok(), "the outer one is back");
            outer.0.store(true, Ordering::Relaxed);
            assert!(check().is_err());
            assert!(within(None, || check().is_ok() && current().is_none()));
            let panics = std::panic::catch_unwind(|| within(None, || panic!("a test")));
            assert!(panics.is_err() && current().is_some());
        });
        assert!(check().is_ok() && current().is_none());
    }
}
