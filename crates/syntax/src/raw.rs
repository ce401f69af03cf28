//! A pointer into a tree, and how fields are read through it.

use std::ffi::{CStr, c_char, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::node::Kind;
use crate::{Literal, Node, Nodes, Tree};

/// A node of a tree that lives at least as long as `'t`.
#[derive(Clone, Copy)]
pub struct Raw<'t>(NonNull<c_void>, PhantomData<&'t Tree>);

// SAFETY: nobody writes to a tree once it is parsed.
unsafe impl Send for Raw<'_> {}
// SAFETY: as above.
unsafe impl Sync for Raw<'_> {}

impl<'t> Raw<'t> {
    /// # Safety
    /// It points to a node of PostgreSQL's that lives at least as long as `'t`, and so do all pointers below it.
    pub unsafe fn new(pointer: NonNull<c_void>) -> Raw<'t> {
        Raw(pointer, PhantomData)
    }

    pub fn place(self) -> *const c_void {
        self.0.as_ptr()
    }

    /// Every node begins with its tag.
    pub fn tag(self) -> u32 {
        // SAFETY: a node has one.
        unsafe { self.get(0) }
    }

    /// # Safety
    /// The node has a `T` at that offset. The same holds for the functions below: the field is of the type that they name.
    pub unsafe fn get<T: Copy>(self, offset: usize) -> T {
        // SAFETY: as the caller says.
        unsafe { self.0.as_ptr().byte_add(offset).cast::<T>().read() }
    }

    unsafe fn below(self, offset: usize) -> Option<Raw<'t>> {
        // SAFETY: as the caller says; what a tree points to lives as long as the tree.
        unsafe { self.get::<Option<NonNull<c_void>>>(offset).map(|pointer| Raw::new(pointer)) }
    }

    pub unsafe fn node(self, offset: usize) -> Option<Node<'t>> {
        // SAFETY: as the caller says.
        unsafe { self.below(offset).map(|raw| Node::new(raw)) }
    }

    /// A node of one kind: PostgreSQL's grammar makes no other for such a field.
    pub unsafe fn only<K: Kind<'t>>(self, offset: usize) -> Option<K> {
        // SAFETY: as the caller says.
        unsafe { self.below(offset).map(|raw| K::new(raw)) }
    }

    pub unsafe fn nodes(self, offset: usize) -> Nodes<'t> {
        // SAFETY: as the caller says.
        unsafe { Nodes::new(self.below(offset)) }
    }

    /// The value of a constant: a node within it, and behind that whether it is NULL.
    pub unsafe fn literal(self, offset: usize) -> Literal<'t> {
        // SAFETY: as the caller says; the union of values takes 16 bytes.
        unsafe {
            if self.get::<bool>(offset + 16) {
                return Literal::Null;
            }
            let value = Raw::new(NonNull::new_unchecked(self.0.as_ptr().byte_add(offset)));
            Literal::of(Node::new(value))
        }
    }

    pub unsafe fn text(self, offset: usize) -> Option<&'t str> {
        // SAFETY: as the caller says.
        let bytes = unsafe {
            let start = self.get::<*const c_char>(offset);
            (!start.is_null()).then(|| CStr::from_ptr::<'t>(start).to_bytes())
        };
        bytes.map(|bytes| std::str::from_utf8(bytes).expect("parts of a UTF-8 text are UTF-8"))
    }
}
