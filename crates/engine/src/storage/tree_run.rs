//! Many pairs into a tree at once, in their order.
//!
//! Every leaf that a run reaches is merged with its part of the run and written anew, nodes above
//! once each. Into an empty tree this is a build from below, with well-filled leaves.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::tree::{INNER_CHILDREN, Keys, LEAF_PAIRS, Node, Pairs, Root, insert_below};

/// Pairs of a leaf that a run fills: a few more find room before it splits.
const FILLED_PAIRS: usize = LEAF_PAIRS * 15 / 16;

/// Ascending pairs from outside a tree.
pub(super) trait Sorted<K: Keys> {
    fn len(&self) -> usize;
    fn key(&self, at: usize) -> K::Key<'_>;
    fn row(&self, at: usize) -> u64;
}

/// Nodes to the right of one that became too full, each with the pair that separates it from what
/// is left of it.
type Splits<K> = Vec<(Pairs<K>, Arc<Node<K>>)>;

/// Adds all pairs of a run; those that are there stay.
pub(super) fn insert_run<K: Keys>(root: &mut Root<K>, run: &impl Sorted<K>) {
    if run.len() == 0 {
        return;
    }
    let mut splits = insert_range(root, run, 0..run.len());
    while !splits.is_empty() {
        let left = std::mem::replace(root, super::tree::empty());
        let mut level = Level::new(left);
        splits.into_iter().for_each(|(separator, node)| level.push(separator, node));
        let (first, rest) = level.nodes();
        (*root, splits) = (Arc::new(first), rest);
    }
}

fn insert_range<K: Keys>(
    node: &mut Arc<Node<K>>,
    run: &impl Sorted<K>,
    range: Range<usize>,
) -> Splits<K> {
    if range.len() == 1 {
        let (key, row) = (run.key(range.start), run.row(range.start));
        return insert_below(node, key, row).into_iter().collect();
    }
    if let Node::Leaf(pairs) = &**node {
        let mut leaves = merged(pairs, run, range).into_iter();
        let first = leaves.next().expect("a run that is not empty fills a leaf");
        *node = Arc::new(Node::Leaf(first));
        return leaves.map(|pairs| (pairs.copied(0, 1), Arc::new(Node::Leaf(pairs)))).collect();
    }
    let Node::Inner { separators, children } = Arc::make_mut(node) else {
        unreachable!("leaves were handled before")
    };
    let splits = insert_into_children(separators, children, run, range);
    if splits.is_empty() {
        return Vec::new();
    }
    let (first, rest) = with_splits(separators, std::mem::take(children), splits).nodes();
    *node = Arc::new(first);
    rest
}

/// Gives each child its part of the run; says which children were split, and into what.
fn insert_into_children<K: Keys>(
    separators: &Pairs<K>,
    children: &mut [Arc<Node<K>>],
    run: &impl Sorted<K>,
    range: Range<usize>,
) -> Vec<(usize, Splits<K>)> {
    let mut splits = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let child = separators.child(run.key(at), run.row(at));
        let end = match child < separators.rows.len() {
            true => first_where(at..range.end, |position| {
                compare(separators, child, run, position).is_le()
            }),
            false => range.end,
        };
        let of_child = insert_range(&mut children[child], run, at..end);
        if !of_child.is_empty() {
            splits.push((child, of_child));
        }
        at = end;
    }
    splits
}

/// Hands the positions of a run's pairs whose key the tree has to `found`; some more than once.
pub(super) fn common_keys<K: Keys>(
    node: &Node<K>,
    run: &impl Sorted<K>,
    range: Range<usize>,
    found: &mut impl FnMut(usize),
) {
    match node {
        Node::Leaf(pairs) => common_with_leaf(pairs, run, range, found),
        Node::Inner { separators, children } => {
            let mut at = range.start;
            let mut child = 0;
            while at < range.end {
                child = separators.child(run.key(at), 0).max(child);
                if child == separators.rows.len() {
                    return common_keys(&children[child], run, at..range.end, found);
                }
                let is_above = |at: usize| separators.keys.compare(child, run.key(at)).is_lt();
                let end = first_where(at..range.end, is_above);
                common_keys(&children[child], run, at..end, found);
                // The next child may begin with the separator's key.
                let is_below = |at: usize| separators.keys.compare(child, run.key(at)).is_gt();
                at = first_where(at..end, |at| !is_below(at));
                child += 1;
            }
        }
    }
}

fn common_with_leaf<K: Keys>(
    pairs: &Pairs<K>,
    run: &impl Sorted<K>,
    range: Range<usize>,
    found: &mut impl FnMut(usize),
) {
    let length = pairs.rows.len();
    let mut of_leaf = 0;
    for at in range {
        let key = run.key(at);
        of_leaf = first_where(of_leaf..length, |pair| pairs.keys.compare(pair, key).is_ge());
        if of_leaf < length && pairs.keys.compare(of_leaf, key).is_eq() {
            found(at);
        }
    }
}

/// The first position in `range` from which on a condition holds.
fn first_where(range: Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut size) = (range.start, range.len());
    while size > 0 {
        let half = size / 2;
        match holds(low + half) {
            true => size = half,
            false => {
                low += half + 1;
                size -= half + 1;
            }
        }
    }
    low
}

/// A pair of a node against one of a run.
fn compare<K: Keys>(
    pairs: &Pairs<K>,
    at: usize,
    run: &impl Sorted<K>,
    position: usize,
) -> Ordering {
    let keys = pairs.keys.compare(at, run.key(position));
    keys.then_with(|| pairs.rows.get(at).cmp(&run.row(position)))
}

/// A leaf and part of a run as well-filled leaves.
fn merged<K: Keys>(old: &Pairs<K>, run: &impl Sorted<K>, range: Range<usize>) -> Vec<Pairs<K>> {
    let total = old.rows.len() + range.len();
    let fill =
        if total <= LEAF_PAIRS { LEAF_PAIRS } else { total.div_ceil(total.div_ceil(FILLED_PAIRS)) };
    // Leaves that get few pairs are likely to get more of them soon.
    let is_load = range.len() >= LEAF_PAIRS;
    let growing = Pairs::with_capacity(LEAF_PAIRS + 1);
    let mut leaves = Leaves { full: Vec::new(), fill, is_load, growing };
    let (mut of_old, mut of_run) = (0, range.start);
    while of_old < old.rows.len() || of_run < range.end {
        let order = match (of_old < old.rows.len(), of_run < range.end) {
            (true, true) => compare(old, of_old, run, of_run),
            (true, false) => Ordering::Less,
            (false, _) => Ordering::Greater,
        };
        if order.is_gt() {
            leaves.room().push(run.key(of_run), run.row(of_run));
            of_run += 1;
        } else {
            leaves.room().extend(old, of_old, of_old + 1);
            of_old += 1;
            of_run += usize::from(order.is_eq());
        }
    }
    leaves.finish()
}

struct Leaves<K> {
    full: Vec<Pairs<K>>,
    fill: usize,
    is_load: bool,
    growing: Pairs<K>,
}

impl<K: Keys> Leaves<K> {
    /// The leaf that the next pair goes into.
    fn room(&mut self) -> &mut Pairs<K> {
        let length = self.growing.rows.len();
        if length >= self.fill || self.growing.keys.is_heavy() {
            let room = Pairs::with_capacity(LEAF_PAIRS + 1);
            let full = std::mem::replace(&mut self.growing, room);
            self.take(full);
        }
        &mut self.growing
    }

    fn take(&mut self, mut full: Pairs<K>) {
        match self.is_load {
            true => full.pack(),
            false => full.keys.fit(),
        }
        self.full.push(full);
    }

    fn finish(mut self) -> Vec<Pairs<K>> {
        let last = std::mem::replace(&mut self.growing, Pairs::with_capacity(0));
        self.take(last);
        self.full
    }
}

/// Nodes side by side that need inner nodes above them.
struct Level<K> {
    separators: Vec<Pairs<K>>,
    children: Vec<Arc<Node<K>>>,
}

fn with_splits<K: Keys>(
    separators: &Pairs<K>,
    children: Vec<Arc<Node<K>>>,
    splits: Vec<(usize, Splits<K>)>,
) -> Level<K> {
    let mut splits = splits.into_iter().peekable();
    let mut level = Level { separators: Vec::new(), children: Vec::new() };
    for (at, child) in children.into_iter().enumerate() {
        match at.checked_sub(1) {
            Some(before) => level.push(separators.copied(before, before + 1), child),
            None => level.children.push(child),
        }
        if let Some((_, of_child)) = splits.next_if(|(split, _)| *split == at) {
            of_child.into_iter().for_each(|(separator, node)| level.push(separator, node));
        }
    }
    level
}

impl<K: Keys> Level<K> {
    fn new(first: Arc<Node<K>>) -> Level<K> {
        Level { separators: Vec::new(), children: vec![first] }
    }

    fn push(&mut self, separator: Pairs<K>, node: Arc<Node<K>>) {
        self.separators.push(separator);
        self.children.push(node);
    }

    /// Inner nodes over all children, about equally full.
    fn nodes(self) -> (Node<K>, Splits<K>) {
        let count = self.children.len().div_ceil(INNER_CHILDREN);
        let each = self.children.len().div_ceil(count);
        let mut children = self.children.into_iter();
        let mut separators = self.separators.into_iter();
        let mut next = || {
            let nodes: Vec<_> = children.by_ref().take(each).collect();
            let mut between = Pairs::with_capacity(INNER_CHILDREN);
            for separator in separators.by_ref().take(nodes.len().saturating_sub(1)) {
                between.extend(&separator, 0, 1);
            }
            let above = separators.next();
            (!nodes.is_empty())
                .then(|| (Node::Inner { separators: between, children: nodes }, above))
        };
        let (first, mut above) = next().expect("a level has nodes");
        let mut rest = Vec::new();
        while let Some((node, after)) = next() {
            let separator = above.take().expect("nodes have separators between them");
            rest.push((separator, Arc::new(node)));
            above = after;
        }
        (first, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::super::numbers::Numbers;
    use super::super::run::ByteRun;
    use super::super::tree::{ByteKeys, empty, insert, remove};
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::ops::ControlFlow;

    fn pairs_of<K: Keys>(root: &Root<K>) -> Vec<u64> {
        let mut rows = Vec::new();
        let _ = root.range(None, None, false, &mut |_, _, row| {
            rows.push(row);
            ControlFlow::Continue(())
        });
        rows
    }

    fn text(key: u64) -> Vec<u8> {
        format!("{key:05}{}", "k".repeat(key as usize % 90)).into_bytes()
    }

    proptest! {
        #![proptest_config(crate::properties::usual())]

        #[test]
        fn runs_equal_single_insertions(
            runs in prop::collection::vec(
                (prop::collection::vec((0u64..3_000, 0u64..4), 0..2_500), 0u64..3_000, any::<bool>()),
                1..6,
            ),
        ) {
            let (mut words, mut bytes) = (empty::<Numbers<u64>>(), empty::<ByteKeys>());
            let mut twin = BTreeSet::new();
            let mut old = Vec::new();
            for (mut run, gone, keep) in runs {
                run.sort_unstable();
                run.dedup();
                let keys: BTreeSet<u64> = twin.iter().map(|pair: &(u64, u64)| pair.0).collect();
                let mut common = BTreeSet::new();
                common_keys(&*words, &run, 0..run.len(), &mut |at| {
                    common.insert(run[at].0);
                });
                let of_run = run.iter().map(|pair| pair.0);
                prop_assert_eq!(common, of_run.filter(|key| keys.contains(key)).collect());
                let mut of_bytes = ByteRun::default();
                run.iter().for_each(|(key, row)| of_bytes.push(&text(*key), *row));
                of_bytes.sort();
                twin.extend(run.iter().copied());
                insert_run(&mut words, &run);
                insert_run(&mut bytes, &of_bytes);
                if keep {
                    old.push((words.clone(), twin.clone()));
                }
                // Single changes fit in between.
                for row in 0..4 {
                    remove(&mut words, gone, row);
                    remove(&mut bytes, &text(gone), row);
                    twin.remove(&(gone, row));
                }
                insert(&mut words, gone, 9);
                insert(&mut bytes, &text(gone), 9);
                twin.insert((gone, 9));
            }
            let all: Vec<u64> = twin.iter().map(|pair| pair.1).collect();
            prop_assert_eq!(pairs_of(&words), all.clone());
            prop_assert_eq!(pairs_of(&bytes), all);
            prop_assert_eq!(words.weigh().0, twin.len());
            for (key, row) in &twin {
                prop_assert!(super::super::tree::contains(&words, *key, *row));
                prop_assert!(super::super::tree::contains(&bytes, &text(*key), *row));
            }
            for (words, twin) in old {
                let all: Vec<u64> = twin.iter().map(|pair| pair.1).collect();
                prop_assert_eq!(pairs_of(&words), all);
            }
        }
    }

    #[test]
    fn a_built_tree_is_small_and_deep_enough() {
        let run: Vec<(u64, u64)> = (0..300_000).map(|key| (key * 7, key)).collect();
        let mut root = empty::<Numbers<u64>>();
        insert_run(&mut root, &run);
        let (pairs, bytes) = root.weigh();
        assert_eq!(pairs, 300_000);
        assert!(bytes < 300_000 * 16 * 12 / 10, "{bytes}");
        let mut found = Vec::new();
        let _ = root.range(Some(7 * 1_000), Some(7 * 1_003), true, &mut |_, _, row| {
            found.push(row);
            ControlFlow::Continue(())
        });
        assert_eq!(found, [1_002, 1_001, 1_000]);
    }
}
