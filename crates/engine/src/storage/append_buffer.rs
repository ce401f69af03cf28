//! The one unsafe primitive of this room: an array that one thread appends to while others read.
//!
//! A buffer has a fixed capacity and an atomic length. The only [`Appender`] writes beyond the
//! length and then publishes it; every [`Appended`] reads the prefix below. What is published never
//! changes, so plain slices can be handed out, also to Arrow.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_buffer::{ArrowNativeType, Buffer};

struct Block<T> {
    /// Slots below are initialised and never written again.
    length: AtomicUsize,
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
}

// SAFETY: slots below `length` are only read; slots at and above it are only touched by the one
// `Appender`, which is the only owner of that right and is not `Clone`. Values are `Copy`, so
// nothing is dropped.
unsafe impl<T: Copy + Send + Sync> Sync for Block<T> {}

/// The writing end. There is exactly one per buffer.
pub(super) struct Appender<T> {
    block: Arc<Block<T>>,
}

/// A reading end.
pub(super) struct Appended<T> {
    block: Arc<Block<T>>,
}

/// An empty buffer for `capacity` values.
pub(super) fn append_buffer<T: Copy>(capacity: usize) -> (Appender<T>, Appended<T>) {
    let slots = Box::<[UnsafeCell<MaybeUninit<T>>]>::new_uninit_slice(capacity);
    // SAFETY: an `UnsafeCell<MaybeUninit<T>>` needs no initialisation.
    let slots = unsafe { slots.assume_init() };
    let block = Arc::new(Block { length: AtomicUsize::new(0), slots });
    (Appender { block: block.clone() }, Appended { block })
}

impl<T: Copy> Appender<T> {
    /// Values appended so far.
    pub fn len(&self) -> usize {
        self.block.length.load(Ordering::Relaxed)
    }

    /// Values that still fit.
    pub fn remaining(&self) -> usize {
        self.block.slots.len() - self.len()
    }

    /// Appends and publishes one value.
    #[inline]
    pub fn push(&mut self, value: T) {
        let length = self.len();
        let slot = &self.block.slots[length];
        // SAFETY: the slot is at or above `length`, and `&mut self` of the only appender is the
        // only access.
        unsafe { (*slot.get()).write(value) };
        self.block.length.store(length + 1, Ordering::Release);
    }

    /// Appends and publishes many values at once.
    pub fn extend(&mut self, values: &[T]) {
        let length = self.len();
        let slots = &self.block.slots[length..length + values.len()];
        // SAFETY: as in `push`, for `values.len()` slots (bounds checked above); `UnsafeCell` and
        // `MaybeUninit` are transparent, and the source is not inside the unpublished part of this
        // buffer.
        unsafe {
            let target = slots.as_ptr().cast::<T>().cast_mut();
            std::ptr::copy_nonoverlapping(values.as_ptr(), target, values.len());
        }
        self.block.length.store(length + values.len(), Ordering::Release);
    }

    /// Appends many values, then publishes them at once.
    pub fn extend_from(&mut self, values: impl ExactSizeIterator<Item = T>) {
        let (length, count) = (self.len(), values.len());
        let slots = &self.block.slots[length..length + count];
        let mut written = 0;
        for (slot, value) in slots.iter().zip(values) {
            // SAFETY: as in `push`: the slot is above `length`.
            unsafe { (*slot.get()).write(value) };
            written += 1;
        }
        self.block.length.store(length + written, Ordering::Release);
    }

    /// Appends and publishes the same value several times.
    pub fn extend_repeated(&mut self, value: T, count: usize) {
        (0..count).for_each(|_| self.push(value));
    }
}

impl<T: Copy> Appended<T> {
    /// What is published now.
    #[inline]
    pub fn values(&self) -> &[T] {
        let length = self.block.length.load(Ordering::Acquire);
        // SAFETY: the first `length` slots are initialised and never written again; the acquire
        // load pairs with the appender's release store.
        unsafe { std::slice::from_raw_parts(self.block.slots.as_ptr().cast::<T>(), length) }
    }

    /// Bytes allocated.
    pub fn memory(&self) -> usize {
        std::mem::size_of_val(&*self.block.slots)
    }
}

impl<T: ArrowNativeType> Appended<T> {
    /// The first `length` values as an Arrow buffer that shares this memory.
    pub fn arrow(&self, length: usize) -> Buffer
    where
        T: std::panic::RefUnwindSafe,
    {
        let values = &self.values()[..length];
        let start = NonNull::from(values).cast::<u8>();
        // SAFETY: the memory is valid and unchanging for as long as the block lives, which the
        // buffer owns.
        unsafe {
            Buffer::from_custom_allocation(
                start,
                size_of_val(values),
                Arc::new(Owner(self.block.clone())),
            )
        }
    }
}

/// Keeps a block alive for an Arrow buffer.
struct Owner<T>(#[expect(dead_code, reason = "held, not read")] Arc<Block<T>>);

// The published part of a block cannot be left half-changed by a panic.
impl<T> std::panic::RefUnwindSafe for Owner<T> {}
impl<T> std::panic::UnwindSafe for Owner<T> {}

impl<T> Clone for Appended<T> {
    fn clone(&self) -> Self {
        Appended { block: self.block.clone() }
    }
}

impl<T> std::fmt::Debug for Appended<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Appended({})", self.block.length.load(Ordering::Relaxed))
    }
}

impl<T> std::fmt::Debug for Appender<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Appender({})", self.block.length.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_see_the_published_prefix_while_it_grows() {
        let (mut appender, appended) = append_buffer::<u64>(10_000);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let appended = appended.clone();
                scope.spawn(move || {
                    let mut seen = 0;
                    while seen < 10_000 {
                        let values = appended.values();
                        assert!(values.len() >= seen);
                        seen = values.len();
                        assert!(values.iter().enumerate().all(|(i, v)| *v == i as u64 * 3));
                    }
                });
            }
            for i in 0..9_000 {
                appender.push(i * 3);
            }
            appender.extend(&(9_000..10_000).map(|i| i * 3).collect::<Vec<_>>());
        });
        assert_eq!(appender.remaining(), 0);
    }

    #[test]
    fn an_arrow_buffer_outlives_both_ends() {
        let (mut appender, appended) = append_buffer::<i32>(4);
        appender.extend(&[1, 2, 3]);
        let buffer = appended.arrow(2);
        drop((appender, appended));
        assert_eq!(buffer.typed_data::<i32>(), &[1, 2]);
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn a_full_buffer_refuses() {
        let (mut appender, _appended) = append_buffer::<u8>(1);
        appender.push(1);
        appender.push(2);
    }
}
