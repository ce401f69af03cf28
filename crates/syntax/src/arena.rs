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
        // SAFETY: it is ours alone, and nothing borrows from it any more.
        unsafe { syntax_free(self.0.as_ptr()) }
    }
}
