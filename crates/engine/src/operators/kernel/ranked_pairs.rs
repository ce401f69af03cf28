//! Keys of two integer columns to dense ids: the rank of one column's value leads to the few values of the other that stand
//! side by side. Nothing is hashed, and a look-up touches three places that mostly stay in the core's second cache.

use arrow_array::{Array, ArrayRef};

use super::{NO_ID, RankedKeys, bucket_all};
use crate::types::{Slot, for_each_integer};

/// Values of the second column beside one of the first: two lines of cache to search.
const MOST_SECONDS: usize = 16;

/// The distinct pairs of two columns.
#[derive(Debug)]
pub struct RankedPairs {
    /// The column whose values are ranked: the one of more distinct values.
    first: usize,
    ranks: RankedKeys,
    /// By rank, where its pairs begin.
    offsets: Vec<u32>,
    /// Of each pair the other column's value.
    seconds: Vec<i64>,
}

impl RankedPairs {
    /// The pairs of two columns of integers or dates; `None` where the values of either lie too far apart, or too many stand
    /// beside one.
    pub fn of(columns: &[ArrayRef; 2]) -> Option<RankedPairs> {
        let [a, b] = [RankedKeys::of(&columns[0])?, RankedKeys::of(&columns[1])?];
        let (first, ranks) = if a.len() >= b.len() { (0, a) } else { (1, b) };
        let (other, nowhere) = (&columns[1 - first], ranks.len());
        let rank_of = ranks.find(&columns[first]).into_iter().map(|rank| rank.min(nowhere as u32));
        let rank_of: Vec<u32> = rank_of.collect();
        let by_rank = bucket_all(&rank_of, nowhere + 1);
        let values = integers(other);
        let (mut offsets, mut seconds) = (vec![0], Vec::with_capacity(values.len()));
        for rank in 0..nowhere as u32 {
            let start = seconds.len();
            let rows = by_rank.rows(Slot(rank)).iter().map(|&row| row as usize);
            for value in rows.filter(|&row| other.is_valid(row)).map(|row| values[row]) {
                if !seconds[start..].contains(&value) {
                    seconds.push(value);
                }
                if seconds.len() - start > MOST_SECONDS {
                    return None;
                }
            }
            offsets.push(seconds.len() as u32);
        }
        Some(RankedPairs { first, ranks, offsets, seconds })
    }

    /// Distinct pairs.
    pub fn len(&self) -> usize {
        self.seconds.len()
    }

    /// Ids of the rows' pairs; [`NO_ID`] for pairs that are not there and those with a NULL.
    pub fn find(&self, columns: &[ArrayRef; 2]) -> Vec<u32> {
        let mut ids = self.ranks.find(&columns[self.first]);
        let other = &columns[1 - self.first];
        for_each_integer(other, |row, value| {
            if ids[row] != NO_ID {
                ids[row] = self.id(ids[row], value);
            }
        });
        if let Some(nulls) = other.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
            let missing = ids.iter_mut().zip(nulls.iter()).filter(|(_, valid)| !valid);
            missing.for_each(|(id, _)| *id = NO_ID);
        }
        ids
    }

    #[inline(always)]
    fn id(&self, rank: u32, value: i64) -> u32 {
        let start = self.offsets[rank as usize] as usize;
        let seconds = &self.seconds[start..self.offsets[rank as usize + 1] as usize];
        seconds.iter().position(|&own| own == value).map_or(NO_ID, |place| (start + place) as u32)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.ranks.memory() + self.offsets.capacity() * 4 + self.seconds.capacity() * 8
    }
}

/// The values of a column, 0 for NULL.
fn integers(column: &ArrayRef) -> Vec<i64> {
    let mut values = vec![0; column.len()];
    for_each_integer(column, |row, value| values[row] = value);
    values
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use arrow_array::{Int32Array, Int64Array};
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    type Pair = (Option<i64>, Option<i64>);

    fn columns(pairs: &[Pair]) -> [ArrayRef; 2] {
        let narrow = pairs.iter().map(|(a, _)| a.map(|a| a as i32));
        let wide = pairs.iter().map(|(_, b)| *b);
        [Arc::new(Int32Array::from_iter(narrow)), Arc::new(Int64Array::from_iter(wide))]
    }

    #[test]
    fn equal_pairs_and_no_others_have_equal_ids() {
        for seed in 0..200 {
            let mut random = StdRng::seed_from_u64(seed);
            let spans = [random.random_range(1..60), random.random_range(1..60)];
            let mut value =
                |span: i64| random.random_bool(0.9).then(|| random.random_range(-span..span));
            let pairs: Vec<Pair> = (0..150).map(|_| (value(spans[0]), value(spans[1]))).collect();
            let (own, asked) = pairs.split_at(70);
            let Some(ranked) = RankedPairs::of(&columns(own)) else { continue };
            let mut by_pair = HashMap::new();
            for (pair, id) in own.iter().zip(ranked.find(&columns(own))) {
                match pair {
                    (Some(_), Some(_)) => assert_eq!(*by_pair.entry(*pair).or_insert(id), id),
                    _ => assert_eq!(id, NO_ID, "seed {seed}"),
                }
            }
            let mut ids: Vec<u32> = by_pair.values().copied().collect();
            ids.sort_unstable();
            assert_eq!(ids, (0..ranked.len() as u32).collect::<Vec<_>>(), "seed {seed}");
            let expected: Vec<u32> =
                asked.iter().map(|pair| by_pair.get(pair).copied().unwrap_or(NO_ID)).collect();
            assert_eq!(ranked.find(&columns(asked)), expected, "seed {seed}");
        }
    }

    #[test]
    fn many_values_beside_one_have_no_ranks() {
        let pairs: Vec<Pair> = (0..40).map(|i| (Some(i % 2), Some(i))).collect();
        let [a, b] = columns(&pairs);
        let ranked =
            RankedPairs::of(&[a.clone(), b.clone()]).expect("one beside each of the other");
        assert_eq!(ranked.len(), 40);
        let all: Vec<Pair> = (0..400).map(|i| (Some(i / 20), Some(i % 20))).collect();
        assert!(RankedPairs::of(&columns(&all)).is_none());
    }
}
