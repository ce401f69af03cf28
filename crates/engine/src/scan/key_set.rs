//! Which values of a column a conjunction wants: a union of intervals over an ordered key.
//!
//! Every comparison, IN, IS NULL and prefix LIKE on one column, and every AND and OR of them, is such a set, so
//! predicates on one column meet as sets before anybody looks at a row.

use std::fmt::Debug;
use std::hash::Hash;

/// A totally ordered key with a smallest value and neighbours.
pub trait Key: Ord + Clone + Hash + Debug {
    /// The smallest key.
    fn minimum() -> Self;
    /// The next larger key; `None` after the largest.
    fn successor(&self) -> Option<Self>;
    /// The key whose successor this is, where keys are so dense that most have none. A string's successor is the
    /// string with a zero byte, which no stored text has: such a bound is better said by the string itself.
    fn predecessor(&self) -> Option<Self> {
        None
    }
}

impl Key for i64 {
    fn minimum() -> i64 {
        i64::MIN
    }

    fn successor(&self) -> Option<i64> {
        self.checked_add(1)
    }
}

impl Key for i128 {
    fn minimum() -> i128 {
        i128::MIN
    }

    fn successor(&self) -> Option<i128> {
        self.checked_add(1)
    }
}

impl Key for Box<[u8]> {
    fn minimum() -> Box<[u8]> {
        Box::default()
    }

    fn successor(&self) -> Option<Box<[u8]>> {
        Some(self.iter().copied().chain([0]).collect())
    }

    fn predecessor(&self) -> Option<Box<[u8]>> {
        self.strip_suffix(&[0]).map(Into::into)
    }
}

/// A set of keys, and whether NULL qualifies. Membership toggles at each cut: a key is in where an odd number of
/// cuts are not larger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySet<K> {
    cuts: Vec<K>,
    nulls: bool,
}

impl<K: Key> KeySet<K> {
    /// No key, not NULL.
    pub fn none() -> KeySet<K> {
        KeySet { cuts: Vec::new(), nulls: false }
    }

    /// Every key, not NULL.
    pub fn all() -> KeySet<K> {
        KeySet { cuts: vec![K::minimum()], nulls: false }
    }

    /// NULL only.
    pub fn null() -> KeySet<K> {
        KeySet { cuts: Vec::new(), nulls: true }
    }

    /// Keys from `lower` (in) to `upper` (out). `None` stands for beyond the largest key.
    pub fn span(lower: Option<K>, upper: Option<K>) -> KeySet<K> {
        match (lower, upper) {
            (None, _) => KeySet::none(),
            (Some(lower), Some(upper)) if lower >= upper => KeySet::none(),
            (Some(lower), upper) => {
                KeySet { cuts: [lower].into_iter().chain(upper).collect(), nulls: false }
            }
        }
    }

    /// Exactly one key.
    pub fn point(key: K) -> KeySet<K> {
        let upper = key.successor();
        KeySet::span(Some(key), upper)
    }

    /// Where membership toggles, ascending.
    pub fn cuts(&self) -> &[K] {
        &self.cuts
    }

    /// Whether NULL is in.
    pub fn nulls(&self) -> bool {
        self.nulls
    }

    /// Whether nothing is in.
    pub fn is_empty(&self) -> bool {
        self.cuts.is_empty() && !self.nulls
    }

    /// Whether `key` is in.
    #[inline]
    pub fn contains(&self, key: &K) -> bool {
        self.cuts.partition_point(|cut| cut <= key) % 2 == 1
    }

    /// Whether any key between two (both in) is in.
    pub fn meets(&self, low: &K, high: &K) -> bool {
        let first = self.cuts.partition_point(|cut| cut <= low);
        first % 2 == 1 || self.cuts.get(first).is_some_and(|cut| cut <= high)
    }

    /// Keys that are not in; NULL is never in the complement (NOT of unknown is unknown).
    pub fn complement(mut self) -> KeySet<K> {
        let minimum = K::minimum();
        match self.cuts.first() == Some(&minimum) {
            true => drop(self.cuts.remove(0)),
            false => self.cuts.insert(0, minimum),
        }
        KeySet { cuts: self.cuts, nulls: false }
    }

    /// Keys in either.
    pub fn union(&self, other: &KeySet<K>) -> KeySet<K> {
        self.combine(other, |a, b| a || b)
    }

    /// The union of many sets.
    pub fn union_all(sets: impl IntoIterator<Item = KeySet<K>>) -> KeySet<K> {
        let mut sets: Vec<_> = sets.into_iter().collect();
        // Pairwise rounds: a long IN list must not cost its length squared.
        while sets.len() > 1 {
            sets = sets.chunks(2).map(union_pair).collect();
        }
        sets.pop().unwrap_or_else(KeySet::none)
    }

    /// Keys for which `keep` says so, given whether each set has them; `keep(false, false)` is false.
    pub fn combine(&self, other: &KeySet<K>, keep: fn(bool, bool) -> bool) -> KeySet<K> {
        let (mut a, mut b) = (self.cuts.iter().peekable(), other.cuts.iter().peekable());
        let (mut in_a, mut in_b, mut inside) = (false, false, false);
        let mut cuts = Vec::new();
        loop {
            let at = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(&x), Some(&y)) => x.min(y),
                (Some(&x), None) | (None, Some(&x)) => x,
            };
            in_a ^= a.next_if(|&cut| cut == at).is_some();
            in_b ^= b.next_if(|&cut| cut == at).is_some();
            if keep(in_a, in_b) != inside {
                inside = !inside;
                cuts.push(at.clone());
            }
        }
        KeySet { cuts, nulls: keep(self.nulls, other.nulls) }
    }

    /// The only key, if the set is one key and not NULL.
    pub fn as_point(&self) -> Option<&K> {
        match self.cuts.as_slice() {
            [key] if !self.nulls && key.successor().is_none() => Some(key),
            [key, end] if !self.nulls && key.successor().as_ref() == Some(end) => Some(key),
            _ => None,
        }
    }
}

fn union_pair<K: Key>(pair: &[KeySet<K>]) -> KeySet<K> {
    match pair {
        [a, b] => a.union(b),
        [one] => one.clone(),
        _ => KeySet::none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn both(a: &KeySet<i64>, b: &KeySet<i64>) -> KeySet<i64> {
        a.combine(b, |a, b| a && b)
    }

    fn set() -> impl Strategy<Value = KeySet<i64>> {
        let key = prop_oneof![-6i64..6, Just(i64::MIN), Just(i64::MAX)];
        let leaf = (key.clone(), key, 0..4).prop_map(|(a, b, kind)| match kind {
            0 => KeySet::point(a),
            1 => KeySet::point(a).complement(),
            2 => KeySet::span(Some(a), Some(b)),
            _ => KeySet::null(),
        });
        leaf.prop_recursive(3, 8, 2, |inner| {
            (inner.clone(), inner, any::<bool>())
                .prop_map(|(a, b, and)| if and { both(&a, &b) } else { a.union(&b) })
        })
    }

    proptest! {
        #![proptest_config(crate::properties::usual())]

        #[test]
        fn sets_behave_like_sets(a in set(), b in set()) {
            for key in (-7..7).chain([i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX]) {
                let (x, y) = (a.contains(&key), b.contains(&key));
                prop_assert_eq!(both(&a, &b).contains(&key), x && y);
                prop_assert_eq!(a.union(&b).contains(&key), x || y);
                prop_assert_eq!(a.clone().complement().contains(&key), !x);
            }
            prop_assert_eq!(a.union(&b).nulls(), a.nulls() || b.nulls());
            prop_assert!(a.cuts().is_sorted_by(|x, y| x < y));
        }
    }

    #[test]
    fn points_are_recognised() {
        assert_eq!(KeySet::point(5i64).as_point(), Some(&5));
        assert_eq!(KeySet::point(i64::MAX).as_point(), Some(&i64::MAX));
        assert_eq!(KeySet::point(5i64).union(&KeySet::null()).as_point(), None);
        let text: Box<[u8]> = (*b"abc").into();
        assert_eq!(KeySet::point(text.clone()).as_point(), Some(&text));
    }
}
