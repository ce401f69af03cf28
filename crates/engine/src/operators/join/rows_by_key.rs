//! The right rows of each of a hash join's keys. Mostly a key has one row, and then that is one look-up away, or none.

use crate::operators::kernel::{NO_ID, NO_ROW, bucket, bucket_all};
use crate::query_set::SlotBuckets;
use crate::types::Slot;

use super::output::Pairs;

// A left row whose key has no id has no partner either.
const _: () = assert!(NO_ID == NO_ROW);

/// Rows by key id.
#[derive(Debug)]
pub enum RowsByKey {
    /// Key `i` is that of row `i` and of no other.
    InOrder,
    /// The row of each key; [`NO_ROW`] for keys without one, and at the end.
    One(Vec<u32>),
    /// The rows of each key.
    Many {
        /// By id.
        buckets: SlotBuckets,
        /// Rows of the largest bucket.
        longest: usize,
    },
}

impl RowsByKey {
    /// The rows of `keys` keys, each of which has one, unless there is no row at all; row `i` has key `ids[i]`. `order` says in
    /// which order rows of a key come, where that is not their own.
    pub fn of(ids: &[u32], keys: usize, order: Option<&[u32]>) -> RowsByKey {
        if !ids.is_empty() && ids.iter().zip(0..).all(|(&id, row)| id == row) {
            return RowsByKey::InOrder;
        }
        if let Some(rows) = only_rows(ids, keys) {
            return RowsByKey::One(rows);
        }
        let buckets = match order {
            None => bucket_all(ids, keys),
            Some(order) => bucket(ids, keys, order.iter().copied()),
        };
        let longest = buckets.offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize).max();
        RowsByKey::Many { buckets, longest: longest.unwrap_or(0) }
    }

    /// The same where row `i` is row `rows[i]` of more.
    pub fn of_rows(self, rows: &[u32]) -> RowsByKey {
        let own = |row: &mut u32| *row = rows[*row as usize];
        match self {
            RowsByKey::InOrder => RowsByKey::One(rows.iter().copied().chain([NO_ROW]).collect()),
            RowsByKey::One(mut of_keys) => {
                of_keys.iter_mut().filter(|row| **row != NO_ROW).for_each(own);
                RowsByKey::One(of_keys)
            }
            RowsByKey::Many { mut buckets, longest } => {
                buckets.rows.iter_mut().for_each(own);
                RowsByKey::Many { buckets, longest }
            }
        }
    }

    /// Keys of several, one behind the other, each from [`Self::of_rows`].
    pub fn joined(parts: Vec<RowsByKey>) -> RowsByKey {
        let longest = parts.iter().map(RowsByKey::longest).max().unwrap_or(0);
        if longest < 2 {
            return RowsByKey::joined_ones(parts);
        }
        let mut buckets = SlotBuckets { offsets: vec![0], rows: Vec::new() };
        for part in parts {
            let first = buckets.rows.len() as u32;
            let SlotBuckets { offsets, rows } = part.into_buckets();
            buckets.offsets.extend(offsets[1..].iter().map(|offset| first + offset));
            buckets.rows.extend(rows);
        }
        RowsByKey::Many { buckets, longest }
    }

    /// The same of keys that have one row at most.
    fn joined_ones(parts: Vec<RowsByKey>) -> RowsByKey {
        let mut rows = Vec::new();
        for part in parts {
            let RowsByKey::One(own) = part else { unreachable!("a key has several rows") };
            rows.extend_from_slice(&own[..own.len() - 1]);
        }
        let end = rows.iter().rposition(|&row| row != NO_ROW).map_or(0, |last| last + 1);
        if end > 0 && rows[..end].iter().zip(0..).all(|(&row, key)| row == key) {
            return RowsByKey::InOrder;
        }
        rows.push(NO_ROW);
        RowsByKey::One(rows)
    }

    /// The rows of each key.
    fn into_buckets(self) -> SlotBuckets {
        match self {
            RowsByKey::InOrder => unreachable!("rows of a part are numbered among all"),
            RowsByKey::One(rows) => {
                let (mut offsets, mut all) = (vec![0], Vec::with_capacity(rows.len()));
                for &row in &rows[..rows.len() - 1] {
                    all.extend((row != NO_ROW).then_some(row));
                    offsets.push(all.len() as u32);
                }
                SlotBuckets { offsets, rows: all }
            }
            RowsByKey::Many { buckets, .. } => buckets,
        }
    }

    /// Rows of the key that has most.
    pub fn longest(&self) -> usize {
        match self {
            RowsByKey::InOrder | RowsByKey::One(_) => 1,
            RowsByKey::Many { longest, .. } => *longest,
        }
    }

    /// The rows of a key, at most.
    pub fn count(&self, id: u32) -> usize {
        match self {
            RowsByKey::InOrder | RowsByKey::One(_) => 1,
            RowsByKey::Many { buckets, .. } => buckets.rows(Slot(id)).len(),
        }
    }

    /// The key of each of so many rows.
    pub fn key_of(&self, rows: usize) -> Vec<u32> {
        let mut key_of: Vec<u32> = (0..rows as u32).collect();
        match self {
            RowsByKey::InOrder => {}
            RowsByKey::One(own) => {
                let known = own.iter().zip(0..).filter(|(row, _)| **row != NO_ROW);
                known.for_each(|(&row, key)| key_of[row as usize] = key);
            }
            RowsByKey::Many { buckets, .. } => {
                for (key, rows) in buckets.iter() {
                    rows.iter().for_each(|&row| key_of[row as usize] = key.0);
                }
            }
        }
        key_of
    }

    /// Of left rows with these keys the pairs, where no key has two rows; [`NO_ID`] is no key.
    pub fn only_partners(&self, mut ids: Vec<u32>) -> Pairs {
        match self {
            RowsByKey::InOrder => {}
            RowsByKey::One(rows) => {
                let end = rows.len() as u32 - 1;
                ids.iter_mut().for_each(|id| *id = rows[(*id).min(end) as usize]);
            }
            RowsByKey::Many { .. } => unreachable!("a key has several rows"),
        }
        pairs_of(ids)
    }
}

/// The row of each key; `None` where one has two.
fn only_rows(ids: &[u32], keys: usize) -> Option<Vec<u32>> {
    let mut rows = vec![NO_ROW; keys + 1];
    for (&id, row) in ids.iter().zip(0..) {
        if std::mem::replace(&mut rows[id as usize], row) != NO_ROW {
            return None;
        }
    }
    Some(rows)
}

/// Left rows with the partner of each, without those that have none; in place and without a branch per row.
fn pairs_of(mut partners: Vec<u32>) -> Pairs {
    let lonely = partners.iter().map(|&row| usize::from(row == NO_ROW)).sum::<usize>();
    let mut left: Vec<u32> = (0..partners.len() as u32).collect();
    if lonely > 0 {
        let mut kept = 0;
        for place in 0..left.len() {
            // `kept` never passes the rows looked at.
            let partner = partners[place];
            (left[kept], partners[kept]) = (place as u32, partner);
            kept += usize::from(partner != NO_ROW);
        }
        left.truncate(kept);
        partners.truncate(kept);
    }
    Pairs { left, right: partners }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ids: &[u32], asked: &[u32]) {
        let rows = RowsByKey::of(ids, 5, None);
        assert_eq!((rows.key_of(ids.len()), rows.longest()), (ids.to_vec(), 1));
        let pairs = rows.only_partners(asked.to_vec());
        let found: Vec<(u32, u32)> = pairs.left.into_iter().zip(pairs.right).collect();
        let row_of = |id: &u32| ids.iter().position(|own| own == id);
        let expected = (0..).zip(asked).filter_map(|(left, id)| Some((left, row_of(id)? as u32)));
        assert_eq!(found, expected.collect::<Vec<_>>());
    }

    #[test]
    fn a_row_per_key_is_found_in_any_order() {
        check(&[0, 1, 2, 3, 4], &[4, NO_ID, 2, 2, 0]);
        check(&[0, 1, 2, 3, 4], &[4, 3, 1]);
        check(&[4, 0, 2], &[0, 1, 2, 3, 4, NO_ID, 2]);
        check(&[], &[0, 4, NO_ID]);
    }

    #[test]
    fn rows_of_a_key_come_in_the_order_asked_for() {
        let ids = [1, 0, 1, 1];
        let rows = RowsByKey::of(&ids, 2, None);
        assert_eq!((rows.longest(), rows.count(0), rows.key_of(4)), (3, 1, ids.to_vec()));
        let RowsByKey::Many { buckets, .. } = rows else { panic!("a key has several rows") };
        assert_eq!(buckets.rows(Slot(1)), [0, 2, 3]);
        let other = RowsByKey::of(&ids, 2, Some(&[3, 1, 2, 0]));
        let RowsByKey::Many { buckets, .. } = other else { panic!("a key has several rows") };
        assert_eq!(buckets.rows(Slot(1)), [3, 2, 0]);
    }
}
