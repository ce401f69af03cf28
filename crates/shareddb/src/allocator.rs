//! The allocator of the program.
//!
//! Statements allocate little and free on another thread than they allocated on, which mimalloc's sharded free lists
//! make cheap: the system's allocator took a fifth of the server's time in the bookstore's ordering mix.
//!
//! What it gives out is counted by thread ([`engine::env::memory`]): an addition and a comparison each time.

use std::alloc::{GlobalAlloc, Layout};

use engine::env::memory::{allocated, freed};
use mimalloc::MiMalloc;

/// mimalloc, counted.
struct Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

// SAFETY: all requests go to mimalloc's as they come, and counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counted {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: the caller's promise is mimalloc's.
        unsafe { MiMalloc.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: the caller's promise is mimalloc's.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        freed(layout.size());
        // SAFETY: the caller's promise is mimalloc's.
        unsafe { MiMalloc.dealloc(pointer, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        freed(layout.size());
        allocated(size);
        // SAFETY: the caller's promise is mimalloc's.
        unsafe { MiMalloc.realloc(pointer, layout, size) }
    }
}

/// `mi_option_purge_delay` of `mimalloc.h`, which the binding does not name.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Milliseconds that free pages stay with the process. A batch's memory is used again by the next batches; giving it
/// back after 10 ms, as is the default, had the kernel clear it again and again (7 % of the server's time).
const KEPT: std::ffi::c_long = 5_000;

/// Lets free pages stay for the next batches. Call it first.
pub fn keep_pages() {
    keep_pages_for(KEPT);
}

/// Has free pages go back to the kernel as soon as they are free, from now on: memory is about to be short.
pub fn keep_no_pages() {
    keep_pages_for(0);
}

fn keep_pages_for(milliseconds: std::ffi::c_long) {
    // SAFETY: the option exists in every mimalloc 3, takes a number of milliseconds, and may be set at any time.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, milliseconds) };
}

/// Gives all free pages back to the kernel at once: memory is short.
pub fn give_back_pages() {
    // SAFETY: any thread may ask at any time.
    unsafe { libmimalloc_sys::mi_collect(true) };
}

/// Gives free pages that were kept long enough back to the kernel. The allocator looks for them only while threads
/// take or free memory: after a load, an idle server would keep all that the load has used.
pub fn return_pages() {
    let turn = || loop {
        std::thread::sleep(std::time::Duration::from_millis(KEPT as u64));
        // SAFETY: any thread may ask at any time.
        unsafe { libmimalloc_sys::mi_collect(false) };
    };
    let started = std::thread::Builder::new().name("allocator".to_owned()).spawn(turn);
    if let Err(error) = started {
        tracing::warn!(%error, "free pages are kept while the server is idle");
    }
}
