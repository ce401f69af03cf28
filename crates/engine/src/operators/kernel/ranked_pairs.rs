//! Keys of two integer columns to dense ids: the rank of one column's value leads to the few values of the other that stand
//! side by side, each with the id of the pair. Nothing is hashed.

use arrow_array::{Array, ArrayRef};

use super::{NO_ID, RankedKeys, bucket_all};
use crate::types::{Slot, for_each_integer};

/// Values of the second column beside one of the first: two lines of cache to search.
const MOST_SECONDS: usize = 16;

/// A value of the second column, as a distance from the least, and the id of its pair.
#[derive(Clone, Copy, Debug)]
struct Second {
    distance: u32,
    id: u32,
}

/// What stands behind the last pair.
const NOBODY: Second = Second { distance: 0, id: NO_ID };

impl Second {
    /// The id where this is the value.
    #[inline(always)]
    fn id_at(self, distance: u64) -> u32 {
        if u64::from(self.distance) == distance { self.id } else { NO_ID }
    }
}

/// Rows that are looked up together: what is noted of them stays in the first cache.
const BLOCK: usize = 1024;

/// The distinct pairs of two columns.
#[derive(Debug)]
pub struct RankedPairs {
    /// The column whose values are ranked: the one of more distinct values.
    first: usize,
    ranks: RankedKeys,
    /// By rank, where its pairs begin; behind the last comes a rank without any.
    offsets: Vec<u32>,
    /// The other column's values by rank, and one that is nobody's.
    seconds: Vec<Second>,
    /// The least of them.
    least: i64,
}

impl RankedPairs {
    /// The pairs of two columns of integers or dates, numbered in the order in which they appear; `None` where the values of
    /// either lie too far apart, or too many stand beside one.
    pub fn of(columns: &[ArrayRef; 2]) -> Option<RankedPairs> {
        let [a, b] = [RankedKeys::of(&columns[0])?, RankedKeys::of(&columns[1])?];
        let (first, ranks, least) =
            if a.len() >= b.len() { (0, a, b.least()) } else { (1, b, a.least()) };
        RankedPairs::beside(first, ranks, least, columns)
    }

    /// The same where column `first` is known to be ranked, its keys by `ranks`, and the other's least value to be `least`.
    pub fn beside(
        first: usize,
        ranks: RankedKeys,
        least: i64,
        columns: &[ArrayRef; 2],
    ) -> Option<RankedPairs> {
        let (other, nowhere) = (&columns[1 - first], ranks.len());
        let rank_of = ranks.find(&columns[first]).into_iter().map(|rank| rank.min(nowhere as u32));
        let rank_of: Vec<u32> = rank_of.collect();
        let by_rank = bucket_all(&rank_of, nowhere + 1);
        let distances = distances(other, least)?;
        let (mut offsets, mut seconds) = (vec![0], Vec::with_capacity(distances.len()));
        for rank in 0..nowhere as u32 {
            let start = seconds.len();
            // The row in which a pair appears first stands for its id, at first.
            for &id in by_rank.rows(Slot(rank)).iter().filter(|&&row| other.is_valid(row as usize))
            {
                let distance = distances[id as usize];
                if seconds[start..].iter().all(|own: &Second| own.distance != distance) {
                    seconds.push(Second { distance, id });
                }
                if seconds.len() - start > MOST_SECONDS {
                    return None;
                }
            }
            offsets.push(seconds.len() as u32);
        }
        if seconds.len() < distances.len() {
            number(&mut seconds, distances.len());
        }
        offsets.push(seconds.len() as u32);
        seconds.push(NOBODY);
        Some(RankedPairs { first, ranks, offsets, seconds, least })
    }

    /// The pairs of ranges of the first column that follow each other (see [`RankedKeys::joined`]): ids go on from one to the next.
    pub fn joined(ranges: Vec<RankedPairs>) -> RankedPairs {
        let (first, least) = ranges.first().map_or((0, 0), |own| (own.first, own.least));
        let (mut ranks, mut offsets, mut seconds) = (Vec::new(), Vec::new(), Vec::new());
        for own in ranges {
            // What stands behind the last pair is found again behind that of the last range.
            let before = seconds.len() as u32;
            let ends = own.ranks.len();
            let pairs = own.len();
            let shifted = |s: &Second| Second { distance: s.distance, id: s.id + before };
            seconds.extend(own.seconds[..pairs].iter().map(shifted));
            offsets.extend(own.offsets[..ends].iter().map(|offset| offset + before));
            ranks.push(own.ranks);
        }
        offsets.extend([seconds.len() as u32; 2]);
        seconds.push(NOBODY);
        RankedPairs { first, ranks: RankedKeys::joined(ranks), offsets, seconds, least }
    }

    /// Distinct pairs.
    pub fn len(&self) -> usize {
        self.seconds.len() - 1
    }

    /// Ids of the rows' pairs; [`NO_ID`] for pairs that are not there and those with a NULL.
    pub fn find(&self, columns: &[ArrayRef; 2]) -> Vec<u32> {
        let mut ids = self.ranks.find(&columns[self.first]);
        // No pair has a distance of so many bits.
        let mut distances = vec![u64::MAX; ids.len()];
        for_each_integer(&columns[1 - self.first], |row, value| {
            distances[row] = value.wrapping_sub(self.least) as u64;
        });
        for (ids, distances) in ids.chunks_mut(BLOCK).zip(distances.chunks(BLOCK)) {
            self.find_block(ids, distances);
        }
        ids
    }

    /// From ranks to ids. First of all rows what stands first beside the rank: a loop so short that the memory is asked for
    /// many rows at once. The others stand in the same line of the cache or the next.
    fn find_block(&self, ids: &mut [u32], distances: &[u64]) {
        let nowhere = self.ranks.len() as u32;
        let mut ranges = [(0, 0); BLOCK];
        for (range, &rank) in ranges.iter_mut().zip(&*ids) {
            let rank = rank.min(nowhere) as usize;
            *range = (self.offsets[rank], self.offsets[rank + 1]);
        }
        for ((id, range), &distance) in ids.iter_mut().zip(&ranges).zip(distances) {
            // Where nothing stands beside a rank, this is another one's.
            let first = self.seconds[range.0 as usize].id_at(distance);
            *id = if range.0 < range.1 { first } else { NO_ID };
        }
        for ((id, range), &distance) in ids.iter_mut().zip(&ranges).zip(distances) {
            // Which one it is going to be is anybody's guess, and a wrong one costs more than looking at all.
            let others = self.seconds[range.0 as usize..range.1 as usize].iter().skip(1);
            *id = others.fold(*id, |id, own| id.min(own.id_at(distance)));
        }
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.ranks.memory() + self.offsets.capacity() * 4 + self.seconds.capacity() * 8
    }
}

/// How far a column's values lie above the least, 0 for NULL; `None` where that takes more than 32 bits.
fn distances(column: &ArrayRef, least: i64) -> Option<Vec<u32>> {
    let (mut distances, mut most) = (vec![0; column.len()], 0);
    for_each_integer(column, |row, value| {
        let distance = value.wrapping_sub(least) as u64;
        most = most.max(distance);
        distances[row] = distance as u32;
    });
    (most <= u64::from(u32::MAX)).then_some(distances)
}

/// From the rows that pairs appear in first, of so many, to numbers without gaps, in the same order.
fn number(seconds: &mut [Second], rows: usize) {
    let mut ids = vec![0; rows];
    seconds.iter().for_each(|second| ids[second.id as usize] = 1);
    let mut next = 0;
    for id in &mut ids {
        next += std::mem::replace(id, next);
    }
    seconds.iter_mut().for_each(|second| second.id = ids[second.id as usize]);
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
            let mut appeared: Vec<u32> = Vec::new();
            for id in ranked.find(&columns(own)).into_iter().filter(|id| *id != NO_ID) {
                match appeared.last() {
                    Some(&most) if id <= most => {}
                    _ => appeared.push(id),
                }
            }
            assert_eq!(appeared, (0..ranked.len() as u32).collect::<Vec<_>>(), "seed {seed}");
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
