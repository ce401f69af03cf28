//! The memory of one tree.

use std::ffi::c_void;
use std::ptr::NonNull;

unsafe extern "C" {
    fn syntax_arena_bytes(arena: *const c_void) -> usize;
    fn syntax_free(arena: *mut c_void);
}

/// A memory context of PostgreSQL without a parent: whoever drops it frees all that lies in it, at once and without recursion.
pub struct Arena(NonNull<c_void>);

// SAFETY: it is in no list of a thread, its blocks come from malloc, and through a shared reference it is only read.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// # Safety
    /// `context` comes from `syntax_parse`, and nobody else frees it.
    pub unsafe fn new(context: NonNull<c_void>) -> Arena {
        #[cfg(test)]
        tests::LIVE.with(|live| live.set(live.get() + 1));
        Arena(context)
    }

    /// What it has from the operating system.
    pub fn bytes(&self) -> usize {
        // SAFETY: it lives.
        unsafe { syntax_arena_bytes(self.0.as_ptr()) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        #[cfg(test)]
        tests::LIVE.with(|live| live.set(live.get() - 1));
        // SAFETY: it is ours alone, and nothing borrows from it any more.
        unsafe { syntax_free(self.0.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use crate::parse;

    thread_local! {
        /// Arenas that were made on this thread, less those dropped on it.
        pub static LIVE: Cell<isize> = const { Cell::new(0) };
    }

    #[test]
    fn arenas_go_with_trees_and_errors() {
        let tree = parse("select 1").expect("it is SQL");
        assert_eq!(LIVE.get(), 1);
        assert!(parse("select from from").is_err());
        assert!(parse("select * from (select 1)").is_err());
        assert_eq!(LIVE.get(), 1);
        drop(tree);
        assert_eq!(LIVE.get(), 0);
    }
}
