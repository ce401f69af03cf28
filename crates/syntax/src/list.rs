//! Lists of nodes.

use std::fmt;
use std::marker::PhantomData;

use crate::Node;
use crate::node::Kind;
use crate::raw::Raw;

/// The tag of a list of nodes; the grammar makes no lists of numbers.
pub const TAG: u32 = 1;

/// Offsets of PostgreSQL's List.
const LENGTH: usize = 4;
const ELEMENTS: usize = 16;

/// A list of nodes of any kind; a list that is not there is empty.
#[derive(Clone, Copy)]
pub struct Nodes<'t>(Option<Raw<'t>>);

impl<'t> Nodes<'t> {
    /// # Safety
    /// It points to a List of PostgreSQL's.
    pub(crate) unsafe fn new(raw: Option<Raw<'t>>) -> Nodes<'t> {
        assert!(raw.is_none_or(|raw| raw.tag() == TAG), "the grammar makes lists of nodes alone");
        Nodes(raw)
    }

    /// The empty list.
    pub(crate) const fn none() -> Nodes<'t> {
        Nodes(None)
    }

    pub(crate) fn place(self) -> Option<*const std::ffi::c_void> {
        self.0.map(Raw::place)
    }

    /// How many elements it has.
    pub fn len(self) -> usize {
        // SAFETY: a list has it there.
        let length = self.0.map_or(0, |raw| unsafe { raw.get::<i32>(LENGTH) });
        usize::try_from(length).expect("a length is not negative")
    }

    /// Whether it has no element.
    pub fn is_empty(self) -> bool {
        self.0.is_none()
    }

    /// The element at a place, from 0. An element that is no node is an empty list to PostgreSQL.
    pub fn get(self, at: usize) -> Option<Node<'t>> {
        let raw = self.0.filter(|_| at < self.len())?;
        // SAFETY: the cells, pointers to nodes, lie behind that pointer, and `at` is one of them.
        let element = unsafe {
            let cells = raw.get::<*const Option<std::ptr::NonNull<std::ffi::c_void>>>(ELEMENTS);
            cells.add(at).read().map(|pointer| Raw::new(pointer))
        };
        // SAFETY: it is a node of the same tree.
        Some(element.map_or(Node::List(Nodes::none()), |raw| unsafe { Node::new(raw) }))
    }

    /// The first element.
    pub fn first(self) -> Option<Node<'t>> {
        self.get(0)
    }

    /// All elements in order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Node<'t>> + ExactSizeIterator {
        (0..self.len()).map(move |at| self.get(at).expect("it is within the list"))
    }
}

impl fmt::Debug for Nodes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Node::List(*self), f)
    }
}

/// A list of nodes of one kind.
pub struct List<'t, K>(Nodes<'t>, PhantomData<K>);

impl<K> Clone for List<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for List<'_, K> {}

impl<'t, K: Kind<'t>> List<'t, K> {
    /// A list whose elements the grammar makes of that kind alone.
    pub(crate) fn new(nodes: Nodes<'t>) -> List<'t, K> {
        List(nodes, PhantomData)
    }

    /// The same list.
    pub fn nodes(self) -> Nodes<'t> {
        self.0
    }

    /// How many elements it has.
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// Whether it has no element.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The element at a place, from 0.
    pub fn get(self, at: usize) -> Option<K> {
        self.0.get(at).map(expected)
    }

    /// The first element.
    pub fn first(self) -> Option<K> {
        self.get(0)
    }

    /// All elements in order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator {
        self.0.iter().map(expected)
    }
}

/// # Panics
/// Where the grammar puts another kind into the list: the declaration in `nodes` is wrong.
fn expected<'t, K: Kind<'t>>(node: Node<'t>) -> K {
    K::of(node).unwrap_or_else(|| panic!("{} in a list of {}", node.name(), K::NAME))
}

impl<'t, K: Kind<'t>> fmt::Debug for List<'t, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
