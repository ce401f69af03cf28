//! A B+ tree of (key, row) pairs that readers walk without locks.
//!
//! Nodes are shared between the writer's tree and the published one. The writer changes nodes that
//! only it holds in place and copies the others on the way down, so that many changes between two
//! publications copy each node at most once, and a bulk load copies nothing.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::numbers::{Number, Numbers};

/// Pairs of a full leaf, children of a full inner node.
pub(super) const LEAF_PAIRS: usize = 128;
pub(super) const INNER_CHILDREN: usize = 64;

/// A column of keys inside a node.
pub(super) trait Keys: Clone + Debug + Send + Sync + 'static {
    /// One key.
    type Key<'a>: Copy;
    /// No keys, room for `capacity`.
    fn with_capacity(capacity: usize) -> Self;
    fn len(&self) -> usize;
    fn compare(&self, at: usize, key: Self::Key<'_>) -> Ordering;
    fn insert(&mut self, at: usize, key: Self::Key<'_>);
    /// Adds a key at the end.
    fn push(&mut self, key: Self::Key<'_>);
    fn remove(&mut self, at: usize);
    fn split_off(&mut self, at: usize) -> Self;
    fn truncate(&mut self, length: usize);
    /// Appends `other[from..to]`.
    fn extend(&mut self, other: &Self, from: usize, to: usize);
    /// Whether a node with these keys should be split although it has few.
    fn is_heavy(&self) -> bool;
    /// Gives back room that was taken ahead.
    fn fit(&mut self);
    /// Takes as little room as possible until the next change.
    fn pack(&mut self);
    fn memory(&self) -> usize;
}

/// A tree, and one of its versions: cloning is cheap.
pub(super) type Root<K> = Arc<Node<K>>;

#[derive(Debug)]
pub(super) enum Node<K> {
    Leaf(Pairs<K>),
    /// `children[i + 1]` holds what is at or above separator `i`.
    Inner {
        separators: Pairs<K>,
        children: Vec<Arc<Node<K>>>,
    },
}

/// Ascending pairs.
#[derive(Debug)]
pub(super) struct Pairs<K> {
    pub keys: K,
    pub rows: Numbers<u64>,
}

impl<K: Keys> Pairs<K> {
    pub fn with_capacity(capacity: usize) -> Pairs<K> {
        Pairs { keys: K::with_capacity(capacity), rows: Numbers::with_capacity(capacity) }
    }

    /// The first pair that is not below `(key, row)`.
    #[inline]
    pub fn lower_bound(&self, key: K::Key<'_>, row: u64) -> usize {
        let (mut low, mut size) = (0, self.rows.len());
        while size > 0 {
            let half = size / 2;
            let middle = low + half;
            let below =
                self.keys.compare(middle, key).then_with(|| self.rows.get(middle).cmp(&row));
            if below == Ordering::Less {
                low = middle + 1;
                size -= half + 1;
            } else {
                size = half;
            }
        }
        low
    }

    fn is_at(&self, at: usize, key: K::Key<'_>, row: u64) -> bool {
        at < self.rows.len() && self.rows.get(at) == row && self.keys.compare(at, key).is_eq()
    }

    /// The child of an inner node with these separators that `(key, row)` belongs to.
    #[inline]
    pub fn child(&self, key: K::Key<'_>, row: u64) -> usize {
        let at = self.lower_bound(key, row);
        at + usize::from(self.is_at(at, key, row))
    }

    /// Adds a pair above all others.
    #[inline]
    pub fn push(&mut self, key: K::Key<'_>, row: u64) {
        self.keys.push(key);
        self.rows.plain().push(row);
    }

    fn insert(&mut self, at: usize, key: K::Key<'_>, row: u64) {
        self.keys.insert(at, key);
        self.rows.plain().insert(at, row);
    }

    fn remove(&mut self, at: usize) {
        self.keys.remove(at);
        self.rows.plain().remove(at);
    }

    fn split_off(&mut self, at: usize) -> Pairs<K> {
        let rows = Numbers::Plain(self.rows.plain().split_off(at));
        Pairs { keys: self.keys.split_off(at), rows }
    }

    pub fn extend(&mut self, other: &Pairs<K>, from: usize, to: usize) {
        self.keys.extend(&other.keys, from, to);
        self.rows.extend(&other.rows, from, to);
    }

    fn truncate(&mut self, length: usize) {
        self.keys.truncate(length);
        self.rows.plain().truncate(length);
    }

    /// Takes as little room as possible until the next change.
    pub fn pack(&mut self) {
        self.keys.pack();
        self.rows.pack();
    }

    pub fn copied(&self, from: usize, to: usize) -> Pairs<K> {
        let mut pairs = Pairs::with_capacity(to - from);
        pairs.extend(self, from, to);
        pairs
    }
}

impl<K: Keys> Clone for Node<K> {
    /// With room to grow: a node is copied to be changed.
    fn clone(&self) -> Self {
        match self {
            Node::Leaf(pairs) => {
                let mut copy = Pairs::with_capacity(LEAF_PAIRS + 1);
                copy.extend(pairs, 0, pairs.rows.len());
                Node::Leaf(copy)
            }
            Node::Inner { separators, children } => {
                let mut copy = Pairs::with_capacity(INNER_CHILDREN);
                copy.extend(separators, 0, separators.rows.len());
                let mut nodes = Vec::with_capacity(INNER_CHILDREN + 1);
                nodes.extend_from_slice(children);
                Node::Inner { separators: copy, children: nodes }
            }
        }
    }
}

/// An empty tree.
pub(super) fn empty<K: Keys>() -> Root<K> {
    Arc::new(Node::Leaf(Pairs::with_capacity(0)))
}

/// The right half of a node that became too full, and the pair that separates it.
pub(super) type Split<K> = Option<(Pairs<K>, Arc<Node<K>>)>;

/// Adds a pair; nothing happens if it is there.
pub(super) fn insert<K: Keys>(root: &mut Root<K>, key: K::Key<'_>, row: u64) {
    if let Some((separators, right)) = insert_below(root, key, row) {
        let left = std::mem::replace(root, empty());
        *root = Arc::new(Node::Inner { separators, children: vec![left, right] });
    }
}

pub(super) fn insert_below<K: Keys>(
    node: &mut Arc<Node<K>>,
    key: K::Key<'_>,
    row: u64,
) -> Split<K> {
    match Arc::make_mut(node) {
        Node::Leaf(pairs) => {
            let at = pairs.lower_bound(key, row);
            if pairs.is_at(at, key, row) {
                return None;
            }
            pairs.insert(at, key, row);
            let length = pairs.rows.len();
            if length <= LEAF_PAIRS && !(pairs.keys.is_heavy() && length > 1) {
                return None;
            }
            // Ascending loads leave full leaves behind.
            let middle = if at + 1 == length { length - 1 } else { length / 2 };
            let mut right = Pairs::with_capacity(LEAF_PAIRS + 1);
            right.extend(pairs, middle, length);
            pairs.truncate(middle);
            Some((right.copied(0, 1), Arc::new(Node::Leaf(right))))
        }
        Node::Inner { separators, children } => {
            let at = separators.child(key, row);
            let (separator, right) = insert_below(&mut children[at], key, row)?;
            let last = at + 1 == children.len();
            insert_separator(separators, at, &separator);
            children.insert(at + 1, right);
            if children.len() <= INNER_CHILDREN {
                return None;
            }
            let middle = if last { children.len() - 2 } else { children.len() / 2 };
            Some(split_inner(separators, children, middle))
        }
    }
}

fn insert_separator<K: Keys>(separators: &mut Pairs<K>, at: usize, separator: &Pairs<K>) {
    let rest = separators.split_off(at);
    separators.extend(separator, 0, 1);
    separators.extend(&rest, 0, rest.rows.len());
}

/// Moves `children[middle..]` into a new node; the separator before them moves up.
fn split_inner<K: Keys>(
    separators: &mut Pairs<K>,
    children: &mut Vec<Arc<Node<K>>>,
    middle: usize,
) -> (Pairs<K>, Arc<Node<K>>) {
    let right_children = children.split_off(middle);
    let right_separators = separators.split_off(middle);
    let up = separators.split_off(middle - 1);
    (up, Arc::new(Node::Inner { separators: right_separators, children: right_children }))
}

/// Removes a pair, if it is there.
pub(super) fn remove<K: Keys>(root: &mut Root<K>, key: K::Key<'_>, row: u64) {
    if !contains(root, key, row) {
        return;
    }
    remove_below(root, key, row);
    loop {
        let only = match &**root {
            Node::Inner { children, .. } if children.len() == 1 => children[0].clone(),
            Node::Inner { children, .. } if children.is_empty() => empty(),
            _ => return,
        };
        *root = only;
    }
}

/// Whether a pair is there.
pub(super) fn contains<K: Keys>(root: &Root<K>, key: K::Key<'_>, row: u64) -> bool {
    match &**root {
        Node::Leaf(pairs) => pairs.is_at(pairs.lower_bound(key, row), key, row),
        Node::Inner { separators, children } => {
            contains(&children[separators.child(key, row)], key, row)
        }
    }
}

fn remove_below<K: Keys>(node: &mut Arc<Node<K>>, key: K::Key<'_>, row: u64) {
    match Arc::make_mut(node) {
        Node::Leaf(pairs) => pairs.remove(pairs.lower_bound(key, row)),
        Node::Inner { separators, children } => {
            let at = separators.child(key, row);
            remove_below(&mut children[at], key, row);
            if children[at].size() == 0 {
                children.remove(at);
                if separators.rows.len() > 0 {
                    separators.remove(at.saturating_sub(1));
                }
            } else {
                merge_around(separators, children, at);
            }
        }
    }
}

/// Merges a node that became nearly empty with a neighbour, if both fit half a node.
fn merge_around<K: Keys>(separators: &mut Pairs<K>, children: &mut Vec<Arc<Node<K>>>, at: usize) {
    if children[at].size() * 4 > children[at].room() {
        return;
    }
    let left = if at + 1 < children.len() { at } else { at.saturating_sub(1) };
    if left + 1 >= children.len() {
        return;
    }
    if (children[left].size() + children[left + 1].size()) * 2 > children[left].room() {
        return;
    }
    let right = children.remove(left + 1);
    match (Arc::make_mut(&mut children[left]), &*right) {
        (Node::Leaf(pairs), Node::Leaf(more)) => pairs.extend(more, 0, more.rows.len()),
        (
            Node::Inner { separators: pairs, children: nodes },
            Node::Inner { separators: more, children: more_nodes },
        ) => {
            pairs.extend(separators, left, left + 1);
            pairs.extend(more, 0, more.rows.len());
            nodes.extend_from_slice(more_nodes);
        }
        _ => unreachable!("all leaves lie at the same depth"),
    }
    separators.remove(left);
}

impl<K: Keys> Node<K> {
    fn size(&self) -> usize {
        match self {
            Node::Leaf(pairs) => pairs.rows.len(),
            Node::Inner { children, .. } => children.len(),
        }
    }

    fn room(&self) -> usize {
        match self {
            Node::Leaf(_) => LEAF_PAIRS,
            Node::Inner { .. } => INNER_CHILDREN,
        }
    }

    /// Visits the pairs with exactly that key, by row, until told to stop.
    #[inline]
    pub fn equal(
        &self,
        key: K::Key<'_>,
        visit: &mut impl FnMut(u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self {
            Node::Leaf(pairs) => {
                for at in pairs.lower_bound(key, 0)..pairs.rows.len() {
                    if pairs.keys.compare(at, key).is_ne() {
                        return ControlFlow::Break(());
                    }
                    visit(pairs.rows.get(at))?;
                }
                ControlFlow::Continue(())
            }
            Node::Inner { separators, children } => {
                for (at, child) in children.iter().enumerate().skip(separators.child(key, 0)) {
                    child.equal(key, visit)?;
                    if at < separators.rows.len() && separators.keys.compare(at, key).is_gt() {
                        break;
                    }
                }
                ControlFlow::Continue(())
            }
        }
    }

    /// Visits the pairs with `lower <= key < upper` in order (`descending`: reversed) until told to
    /// stop: the keys of a leaf, the position there, the row.
    pub fn range(
        &self,
        lower: Option<K::Key<'_>>,
        upper: Option<K::Key<'_>>,
        descending: bool,
        visit: &mut impl FnMut(&K, usize, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self {
            Node::Leaf(pairs) => {
                let from = lower.map_or(0, |key| pairs.lower_bound(key, 0));
                let to = upper.map_or(pairs.rows.len(), |key| pairs.lower_bound(key, 0));
                let mut each = |at: usize| visit(&pairs.keys, at, pairs.rows.get(at));
                match descending {
                    false => (from..to).try_for_each(&mut each),
                    true => (from..to).rev().try_for_each(&mut each),
                }
            }
            Node::Inner { separators, children } => {
                let from = lower.map_or(0, |key| separators.child(key, 0));
                let last = upper.map_or(separators.rows.len(), |key| separators.child(key, 0));
                let mut below = |at: usize| children[at].range(lower, upper, descending, visit);
                match descending {
                    false => (from..last + 1).try_for_each(&mut below),
                    true => (from..last + 1).rev().try_for_each(&mut below),
                }
            }
        }
    }

    /// Pairs in all and bytes held.
    pub fn weigh(&self) -> (usize, usize) {
        let own = |pairs: &Pairs<K>| {
            pairs.keys.memory() + pairs.rows.memory() + size_of::<Node<K>>() + 16
        };
        match self {
            Node::Leaf(pairs) => (pairs.rows.len(), own(pairs)),
            Node::Inner { separators, children } => children.iter().fold(
                (0, own(separators) + children.capacity() * 8),
                |(pairs, bytes), child| {
                    let (more_pairs, more_bytes) = child.weigh();
                    (pairs + more_pairs, bytes + more_bytes)
                },
            ),
        }
    }
}

impl<T: Number> Keys for Numbers<T> {
    type Key<'a> = T;

    fn with_capacity(capacity: usize) -> Self {
        Numbers::with_capacity(capacity)
    }

    fn len(&self) -> usize {
        self.len()
    }

    #[inline]
    fn compare(&self, at: usize, key: T) -> Ordering {
        self.get(at).cmp(&key)
    }

    fn insert(&mut self, at: usize, key: T) {
        self.plain().insert(at, key);
    }

    fn push(&mut self, key: T) {
        self.plain().push(key);
    }

    fn remove(&mut self, at: usize) {
        self.plain().remove(at);
    }

    fn split_off(&mut self, at: usize) -> Self {
        Numbers::Plain(self.plain().split_off(at))
    }

    fn truncate(&mut self, length: usize) {
        self.plain().truncate(length);
    }

    fn extend(&mut self, other: &Self, from: usize, to: usize) {
        self.extend(other, from, to);
    }

    fn is_heavy(&self) -> bool {
        false
    }

    fn fit(&mut self) {}

    fn pack(&mut self) {
        self.pack();
    }

    fn memory(&self) -> usize {
        self.memory()
    }
}

/// Keys of any length, one after the other.
#[derive(Clone, Debug)]
pub(super) struct ByteKeys {
    heap: Vec<u8>,
    /// Where each key ends.
    ends: Vec<u32>,
}

impl ByteKeys {
    #[inline]
    fn start(&self, at: usize) -> usize {
        if at == 0 { 0 } else { self.ends[at - 1] as usize }
    }

    fn shift(&mut self, from: usize, by: i64) {
        for end in &mut self.ends[from..] {
            *end = (i64::from(*end) + by) as u32;
        }
    }
}

impl Keys for ByteKeys {
    type Key<'a> = &'a [u8];

    fn with_capacity(capacity: usize) -> Self {
        ByteKeys { heap: Vec::new(), ends: Vec::with_capacity(capacity) }
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    fn compare(&self, at: usize, key: &[u8]) -> Ordering {
        self.heap[self.start(at)..self.ends[at] as usize].cmp(key)
    }

    fn insert(&mut self, at: usize, key: &[u8]) {
        let start = self.start(at);
        let length = self.heap.len();
        self.heap.resize(length + key.len(), 0);
        self.heap.copy_within(start..length, start + key.len());
        self.heap[start..start + key.len()].copy_from_slice(key);
        self.ends.insert(at, start as u32);
        self.shift(at, key.len() as i64);
    }

    fn push(&mut self, key: &[u8]) {
        self.heap.extend_from_slice(key);
        self.ends.push(self.heap.len() as u32);
    }

    fn remove(&mut self, at: usize) {
        let (start, end) = (self.start(at), self.ends[at] as usize);
        self.heap.drain(start..end);
        self.ends.remove(at);
        self.shift(at, start as i64 - end as i64);
    }

    fn split_off(&mut self, at: usize) -> Self {
        let start = self.start(at);
        let mut ends = self.ends.split_off(at);
        ends.iter_mut().for_each(|end| *end -= start as u32);
        ByteKeys { heap: self.heap.split_off(start), ends }
    }

    fn truncate(&mut self, length: usize) {
        self.heap.truncate(self.start(length));
        self.ends.truncate(length);
    }

    fn extend(&mut self, other: &Self, from: usize, to: usize) {
        if from == to {
            return;
        }
        let (start, base) = (other.start(from), self.heap.len());
        self.heap.extend_from_slice(&other.heap[start..other.ends[to - 1] as usize]);
        let shifted = other.ends[from..to].iter().map(|end| *end - start as u32 + base as u32);
        Extend::extend(&mut self.ends, shifted);
    }

    /// A leaf is copied to be changed: 8 KiB are cheap to copy.
    fn is_heavy(&self) -> bool {
        self.heap.len() > 8192 && self.len() > 8
    }

    fn fit(&mut self) {
        self.heap.shrink_to_fit();
    }

    fn pack(&mut self) {
        self.heap.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    fn memory(&self) -> usize {
        self.heap.capacity() + self.ends.capacity() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn pairs_of<K: Keys>(
        root: &Root<K>,
        lower: Option<K::Key<'_>>,
        upper: Option<K::Key<'_>>,
    ) -> Vec<u64> {
        let mut rows = Vec::new();
        let _ = root.range(lower, upper, false, &mut |_, _, row| {
            rows.push(row);
            ControlFlow::Continue(())
        });
        rows
    }

    proptest! {
        #![proptest_config(crate::properties::usual())]

        #[test]
        fn a_tree_equals_a_sorted_set(
            changes in prop::collection::vec((0u64..400, 0u64..6, 0u8..5), 1..4_000),
            lower in 0u64..400, upper in 0u64..400,
        ) {
            let (mut words, mut bytes) = (empty::<Numbers<u64>>(), empty::<ByteKeys>());
            let mut twin = BTreeSet::new();
            let mut old = None;
            let text = |key: u64| format!("{key:05}{}", "k".repeat(key as usize)).into_bytes();
            for (i, (key, row, kind)) in changes.iter().enumerate() {
                if *kind < 3 {
                    insert(&mut words, *key, *row);
                    insert(&mut bytes, &text(*key), *row);
                    twin.insert((*key, *row));
                } else {
                    remove(&mut words, *key, *row);
                    remove(&mut bytes, &text(*key), *row);
                    twin.remove(&(*key, *row));
                }
                if i == changes.len() / 2 {
                    old = Some((words.clone(), twin.clone()));
                }
            }
            let all: Vec<u64> = twin.iter().map(|pair| pair.1).collect();
            prop_assert_eq!(pairs_of(&words, None, None), all.clone());
            prop_assert_eq!(pairs_of(&bytes, None, None), all);
            prop_assert_eq!(words.weigh().0, twin.len());
            let part: Vec<u64> = twin
                .iter()
                .filter(|(key, _)| (lower..upper).contains(key))
                .map(|pair| pair.1)
                .collect();
            prop_assert_eq!(pairs_of(&words, Some(lower), Some(upper)), part.clone());
            let (low, up) = (text(lower), text(upper));
            prop_assert_eq!(pairs_of(&bytes, Some(&low), Some(&up)), part.clone());
            let mut reversed = Vec::new();
            let _ = words.range(Some(lower), Some(upper), true, &mut |_, _, row| {
                reversed.insert(0, row);
                ControlFlow::Continue(())
            });
            prop_assert_eq!(reversed, part);
            let mut equal = Vec::new();
            let _ = bytes.equal(&low, &mut |row| {
                equal.push(row);
                ControlFlow::Continue(())
            });
            let expected: Vec<u64> =
                twin.iter().filter(|(key, _)| *key == lower).map(|pair| pair.1).collect();
            prop_assert_eq!(equal, expected);
            if let Some((words, twin)) = old {
                let all: Vec<u64> = twin.iter().map(|pair| pair.1).collect();
                prop_assert_eq!(pairs_of(&words, None, None), all);
            }
        }
    }

    #[test]
    fn ascending_loads_fill_their_leaves() {
        let mut root = empty::<Numbers<u64>>();
        (0..100_000).for_each(|key| insert(&mut root, key, key));
        let (pairs, bytes) = root.weigh();
        assert_eq!(pairs, 100_000);
        assert!(bytes < 100_000 * 16 * 12 / 10, "{bytes}");
        (0..99_990).for_each(|key| remove(&mut root, key, key));
        assert_eq!(root.weigh().0, 10);
        assert!(root.weigh().1 < 10_000, "{}", root.weigh().1);
    }
}
