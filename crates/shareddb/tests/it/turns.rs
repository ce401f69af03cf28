//! Which tests of this binary run beside others.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static TURN: RwLock<()> = RwLock::new(());

/// For a test that loads the whole machine, or looks at what a process takes: nothing else runs until this is dropped.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    // A test that failed holds up nobody.
    TURN.write().unwrap_or_else(PoisonError::into_inner)
}

/// For all other tests.
pub fn beside_others() -> RwLockReadGuard<'static, ()> {
    TURN.read().unwrap_or_else(PoisonError::into_inner)
}
