//! Fact rows meet the dimensions: what is left, and who wants it.
//!
//! One slot: rows are kept or dropped dimension by dimension. Up to 64 slots: a word per row, dropped when it gets
//! empty. More: dimension by dimension too, but rows that nobody wants are dropped at the end only: of so many slots
//! somebody wants nearly every row until the last dimension.

use super::key_places::places;
use super::{Dimension, Star};
use crate::operators::Batch;
use crate::query_set::{QuerySets, RowSet, SetId, words};
use crate::storage::Chunk;
use crate::types::ColumnId;

/// Rows of one chunk that somebody wants.
#[derive(Debug, Default)]
pub(super) struct Survivors {
    /// Offsets in the chunk, ascending.
    pub rows: Vec<u32>,
    /// Words of row after row, as many each as the star's width; none where there is one slot.
    pub words: Vec<u64>,
}

/// How much each dimension drops: the one that drops most is asked first.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// (position among the star's roots, rows that came, rows that stayed)
    seen: Vec<(usize, f64, f64)>,
}

/// After so many rows what was seen earlier counts half: data that changes on the way changes the order.
const MEMORY: f64 = 1e6;

impl Order {
    pub fn new(star: &Star) -> Order {
        let kept = |(_, dimension): &(ColumnId, usize)| star.dimensions[*dimension].kept;
        // What statistics say counts like a first thousand rows.
        let seen = star.roots.iter().enumerate().map(|(root, of)| (root, 1e3, 1e3 * kept(of)));
        let mut order = Order { seen: seen.collect() };
        order.sort();
        order
    }

    fn sort(&mut self) {
        self.seen.sort_by(|a, b| (a.2 / a.1).total_cmp(&(b.2 / b.1)));
    }

    fn saw(&mut self, position: usize, came: usize, stayed: usize) {
        let (_, before, after) = &mut self.seen[position];
        if *before > MEMORY {
            (*before, *after) = (*before / 2.0, *after / 2.0);
        }
        (*before, *after) = (*before + came as f64, *after + stayed as f64);
    }
}

/// Keeps the rows of a chunk that somebody wants.
pub(super) fn narrow(
    star: &Star,
    batch: &Batch<'_>,
    order: &mut Order,
    chunk: &Chunk,
    rows: Vec<u32>,
    sets: &QuerySets,
) -> Survivors {
    if star.only.is_some() {
        return narrow_one(star, order, chunk, rows);
    }
    match star.width {
        1 => narrow_word(star, batch, order, chunk, rows, sets),
        2 => narrow_words::<2>(star, batch, order, chunk, rows, sets),
        4 => narrow_words::<4>(star, batch, order, chunk, rows, sets),
        8 => narrow_words::<8>(star, batch, order, chunk, rows, sets),
        16 => narrow_words::<16>(star, batch, order, chunk, rows, sets),
        _ => narrow_words_blocked(star, batch, chunk, rows, sets),
    }
}

fn roots<'a>(star: &'a Star, order: &Order) -> Vec<(ColumnId, &'a Dimension)> {
    let root = |seen: &(usize, f64, f64)| {
        let (outer, dimension) = star.roots[seen.0];
        (outer, &star.dimensions[dimension])
    };
    order.seen.iter().map(root).collect()
}

fn narrow_one(star: &Star, order: &mut Order, chunk: &Chunk, mut rows: Vec<u32>) -> Survivors {
    let mut at = Vec::with_capacity(rows.len());
    for (position, (outer, dimension)) in roots(star, order).into_iter().enumerate() {
        let came = rows.len();
        keep_wanted(star.width, chunk, outer, dimension, &mut rows, &mut at);
        order.saw(position, came, rows.len());
    }
    order.sort();
    Survivors { rows, words: Vec::new() }
}

/// A row stays where its set is that of the one slot; there the sets are numbered 0, nobody, and 1. Where the slot passes
/// it is in set 0.
fn keep_wanted(
    width: usize,
    chunk: &Chunk,
    outer: ColumnId,
    dimension: &Dimension,
    rows: &mut Vec<u32>,
    at: &mut Vec<u32>,
) {
    if !words::is_empty(dimension.set_number(width, 0)) || rows.is_empty() {
        return;
    }
    places(&chunk.column(outer), rows, dimension.range, at);
    let mut count = 0;
    for (position, &place) in at.iter().enumerate() {
        // `count` never passes `position`: what is overwritten has been read.
        rows[count] = rows[position];
        count += usize::from(dimension.numbers[place as usize] != 0);
    }
    rows.truncate(count);
}

fn narrow_word(
    star: &Star,
    batch: &Batch<'_>,
    order: &mut Order,
    chunk: &Chunk,
    mut rows: Vec<u32>,
    sets: &QuerySets,
) -> Survivors {
    let mut words = row_words(sets, rows.len(), batch);
    let mut at = Vec::with_capacity(rows.len());
    for (position, (outer, dimension)) in roots(star, order).into_iter().enumerate() {
        let came = rows.len();
        places(&chunk.column(outer), &rows, dimension.range, &mut at);
        let count = intersect_word(&dimension.numbers, &dimension.sets, &at, &mut rows, &mut words);
        rows.truncate(count);
        words.truncate(count);
        order.saw(position, came, count);
    }
    order.sort();
    Survivors { rows, words }
}

/// Each row's set as one word.
fn row_words(sets: &QuerySets, rows: usize, batch: &Batch<'_>) -> Vec<u64> {
    match sets {
        QuerySets::Uniform(id) => vec![batch.sets.words(*id)[0]; rows],
        sets => sets.bitmaps(rows, batch.sets),
    }
}

/// Intersects each row's word with that of its place, and moves the rows that are left to the front: their number.
fn intersect_word(
    numbers: &[u16],
    sets: &[u64],
    at: &[u32],
    rows: &mut [u32],
    words: &mut [u64],
) -> usize {
    let mut count = 0;
    for (position, &place) in at.iter().enumerate() {
        let word = words[position] & sets[usize::from(numbers[place as usize])];
        // `count` never passes `position`: what is overwritten has been read.
        rows[count] = rows[position];
        words[count] = word;
        count += usize::from(word != 0);
    }
    count
}

/// The number of each row's set in each dimension, dimension after dimension.
fn numbers(
    star: &Star,
    order: Option<&Order>,
    chunk: &Chunk,
    rows: &[u32],
) -> Vec<(Vec<u16>, usize)> {
    let in_order = |order: &Order| order.seen.iter().map(|seen| seen.0).collect::<Vec<_>>();
    let order = order.map_or_else(|| (0..star.roots.len()).collect(), in_order);
    let mut at = Vec::with_capacity(rows.len());
    let number = |root: usize| {
        let (outer, dimension) = star.roots[root];
        let of = &star.dimensions[dimension];
        places(&chunk.column(outer), rows, of.range, &mut at);
        (at.iter().map(|&place| of.numbers[place as usize]).collect(), dimension)
    };
    order.into_iter().map(number).collect()
}

fn narrow_words<const WIDTH: usize>(
    star: &Star,
    batch: &Batch<'_>,
    order: &mut Order,
    chunk: &Chunk,
    rows: Vec<u32>,
    sets: &QuerySets,
) -> Survivors {
    let numbers = numbers(star, Some(order), chunk, &rows);
    let dimensions: Vec<(&[u16], &[[u64; WIDTH]])> = numbers
        .iter()
        .map(|(numbers, dimension)| {
            (&numbers[..], star.dimensions[*dimension].sets.as_chunks::<WIDTH>().0)
        })
        .collect();
    let mut own = OwnWords::<WIDTH>::new(sets, batch);
    let mut words = Vec::with_capacity(rows.len());
    words.extend((0..rows.len()).map(|row| *own.row(row, sets, batch)));
    let mut rows = rows;
    for (numbers, sets) in &dimensions {
        intersect_words(numbers, sets, &mut words);
    }
    let mut count = 0;
    for position in 0..rows.len() {
        // `count` never passes `position`: what is overwritten has been read.
        rows[count] = rows[position];
        words[count] = words[position];
        count += usize::from(words[position].iter().fold(0, |any, word| any | word) != 0);
    }
    rows.truncate(count);
    words.truncate(count);
    Survivors { rows, words: words.into_flattened() }
}

/// Intersects each row's words with those of its set's number.
fn intersect_words<const WIDTH: usize>(
    numbers: &[u16],
    sets: &[[u64; WIDTH]],
    words: &mut [[u64; WIDTH]],
) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { intersect_words_by_vectors(numbers, sets, words) };
    }
    intersect_words_anywhere(numbers, sets, words);
}

/// Four words an instruction instead of two.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn intersect_words_by_vectors<const WIDTH: usize>(
    numbers: &[u16],
    sets: &[[u64; WIDTH]],
    words: &mut [[u64; WIDTH]],
) {
    intersect_words_anywhere(numbers, sets, words);
}

#[inline(always)]
fn intersect_words_anywhere<const WIDTH: usize>(
    numbers: &[u16],
    sets: &[[u64; WIDTH]],
    words: &mut [[u64; WIDTH]],
) {
    for (words, &number) in words.iter_mut().zip(numbers) {
        let other = &sets[usize::from(number)];
        (0..WIDTH).for_each(|word| words[word] &= other[word]);
    }
}

/// The words of a scan's sets; equal neighbours are looked up once.
struct OwnWords<const WIDTH: usize> {
    last: Option<SetId>,
    words: [u64; WIDTH],
}

impl<const WIDTH: usize> OwnWords<WIDTH> {
    fn new(sets: &QuerySets, batch: &Batch<'_>) -> OwnWords<WIDTH> {
        let mut own = OwnWords { last: None, words: [0; WIDTH] };
        if let QuerySets::Uniform(id) = sets {
            own.set(RowSet::Id(*id), batch);
            own.last = Some(*id);
        }
        own
    }

    fn set(&mut self, set: RowSet<'_>, batch: &Batch<'_>) {
        self.words = [0; WIDTH];
        set.union_into(&mut self.words, batch.sets);
    }

    #[inline(always)]
    fn row(&mut self, row: usize, sets: &QuerySets, batch: &Batch<'_>) -> &[u64; WIDTH] {
        match sets {
            QuerySets::Uniform(_) => {}
            QuerySets::Interned(ids) if self.last == Some(ids[row]) => {}
            sets => {
                let set = sets.row(row);
                self.last = match set {
                    RowSet::Id(id) => Some(id),
                    _ => None,
                };
                self.set(set, batch);
            }
        }
        &self.words
    }
}

/// For batches of more slots than kernels are made for.
fn narrow_words_blocked(
    star: &Star,
    batch: &Batch<'_>,
    chunk: &Chunk,
    rows: Vec<u32>,
    sets: &QuerySets,
) -> Survivors {
    let width = star.width;
    let numbers = numbers(star, None, chunk, &rows);
    let mut survivors = Survivors::default();
    let mut words = vec![0; width];
    for (position, &row) in rows.iter().enumerate() {
        words.fill(0);
        sets.row(position).union_into(&mut words, batch.sets);
        for (numbers, dimension) in &numbers {
            let number = usize::from(numbers[position]);
            let other = &star.dimensions[*dimension].sets[number * width..][..width];
            words::intersect_into(&mut words, other);
        }
        if !words::is_empty(&words) {
            survivors.rows.push(row);
            survivors.words.extend_from_slice(&words);
        }
    }
    survivors
}
