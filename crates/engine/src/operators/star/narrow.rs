//! Fact rows meet the dimensions: what is left, and who wants it.
//!
//! One slot: rows are kept or dropped dimension by dimension. Up to 64 slots: a word per row, dropped when it is empty
//! and dropping it costs less than what it would meet yet. More: dimension by dimension too, but rows that nobody wants
//! are dropped at the end only: of so many slots somebody wants nearly every row until the last dimension.

use super::Dimension;
use super::by_place::each_number;
use super::key_places::{ChunkPart, PartPlaces, append_places, append_span_places};
use super::kinds::Kinds;
use super::set_words::SetWords;
use crate::query_set::{QuerySets, RowSet, SetId, SetTable, words};
use crate::types::ColumnId;

/// Rows of one chunk that somebody wants.
#[derive(Debug, Default)]
pub struct Survivors {
    /// Offsets in the chunk, ascending.
    pub(super) rows: Vec<u32>,
    /// Their positions among the part's rows, where places of all of these were looked up.
    pub(super) positions: Vec<u32>,
    /// Words of row after row; none where there is one slot.
    pub(super) words: Vec<u64>,
}

/// What fact rows meet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filters<'a> {
    /// The columns that refer to dimensions, and to which.
    pub roots: &'a [(ColumnId, usize)],
    pub dimensions: &'a [Dimension],
    /// By root, the kinds of its rows where they are told.
    pub kinds: &'a [Option<Kinds>],
    /// Whether there is one slot.
    pub is_one: bool,
}

/// How much each dimension drops: the one that drops most is asked first.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// (position among the roots, rows that came, rows that stayed)
    seen: Vec<(usize, f64, f64)>,
}

/// After so many rows what was seen earlier counts half: data that changes on the way changes the order.
const MEMORY: f64 = 1e6;

impl Order {
    pub fn new(filters: Filters<'_>) -> Order {
        let kept = |(_, dimension): &(ColumnId, usize)| filters.dimensions[*dimension].kept;
        // What statistics say counts like a first thousand rows.
        let seen = filters.roots.iter().enumerate().map(|(root, of)| (root, 1e3, 1e3 * kept(of)));
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

/// What all kernels need.
pub(super) struct Narrowing<'a> {
    pub filters: Filters<'a>,
    pub table: &'a SetTable,
    /// The words of sets that count.
    pub words: &'a SetWords,
    pub part: ChunkPart<'a>,
    /// Who wants the part's rows as the scan leaves them.
    pub sets: &'a QuerySets,
}

/// Words of a set that kernels are made for.
pub(super) const WIDEST: usize = 16;

/// Keeps the rows of a part that somebody wants.
pub(super) fn narrow(
    narrowing: &Narrowing<'_>,
    order: &mut Order,
    places: &mut PartPlaces,
) -> Survivors {
    if narrowing.filters.is_one {
        return narrow_one(narrowing, order);
    }
    match narrowing.words.width() {
        1 => narrow_word(narrowing, order),
        2 => narrow_words::<2>(narrowing, order, places),
        4 => narrow_words::<4>(narrowing, order, places),
        8 => narrow_words::<8>(narrowing, order, places),
        WIDEST => narrow_words::<WIDEST>(narrowing, order, places),
        _ => narrow_words_blocked(narrowing, places),
    }
}

/// The roots' referring columns and dimensions, the one that drops most first.
fn roots(filters: Filters<'_>, order: &Order) -> Vec<(ColumnId, usize)> {
    order.seen.iter().map(|seen| filters.roots[seen.0]).collect()
}

fn narrow_one(narrowing: &Narrowing<'_>, order: &mut Order) -> Survivors {
    let mut rows = narrowing.part.rows.to_vec();
    let mut at = Vec::with_capacity(rows.len());
    for (position, (outer, dimension)) in roots(narrowing.filters, order).into_iter().enumerate() {
        let came = rows.len();
        keep_wanted(narrowing, outer, dimension, &mut rows, &mut at);
        order.saw(position, came, rows.len());
    }
    order.sort();
    Survivors { rows, ..Survivors::default() }
}

/// A row stays where its set is that of the one slot; there the sets are numbered 0, nobody, and 1. Where the slot passes
/// it is in set 0.
fn keep_wanted(
    narrowing: &Narrowing<'_>,
    outer: ColumnId,
    dimension: usize,
    rows: &mut Vec<u32>,
    at: &mut Vec<u32>,
) {
    let dimensions = narrowing.filters.dimensions;
    if !narrowing.words.is_empty(dimensions, dimension, 0) || rows.is_empty() {
        return;
    }
    let (dimension, keys) = (&dimensions[dimension], narrowing.part.chunk.column(outer));
    at.clear();
    let first = rows[0];
    if append_span_places(&keys, rows, dimension.range, at) {
        let place = |_, row| at[(row - first) as usize];
        each_number!(&dimension.numbers, number => keep(rows, number, place));
    } else {
        append_places(&keys, rows, dimension.range, at);
        let place = |position: usize, _| at[position];
        each_number!(&dimension.numbers, number => keep(rows, number, place));
    }
}

/// So many rows are looked up before they are moved: what is said of them stays in the first cache.
pub(super) const ROWS_AT_ONCE: usize = 1024;

/// Keeps the rows in whose place somebody's set is; `place` is asked by position and row. Looking up and moving are loops
/// of their own: where the target of a store waits for a look-up, the look-ups of later rows do too.
#[inline(always)]
fn keep(rows: &mut Vec<u32>, number: impl Fn(u32) -> u32, place: impl Fn(usize, u32) -> u32) {
    let mut wanted = [false; ROWS_AT_ONCE];
    let mut count = 0;
    for start in (0..rows.len()).step_by(ROWS_AT_ONCE) {
        let end = rows.len().min(start + ROWS_AT_ONCE);
        let own = wanted.iter_mut().zip(start..).zip(&rows[start..end]);
        for ((wanted, position), &row) in own {
            *wanted = number(place(position, row)) != 0;
        }
        for position in start..end {
            // `count` never passes `position`: what is overwritten has been read.
            rows[count] = rows[position];
            count += usize::from(wanted[position - start]);
        }
    }
    rows.truncate(count);
}

/// What it costs a row to meet one more dimension, in what it costs to be moved to the front.
const MEETING: usize = 3;

fn narrow_word(narrowing: &Narrowing<'_>, order: &mut Order) -> Survivors {
    let dimensions = narrowing.filters.dimensions;
    let mut rows = narrowing.part.rows.to_vec();
    let mut words = row_words(narrowing);
    let mut at = Vec::with_capacity(rows.len());
    let roots = roots(narrowing.filters, order);
    let mut left = rows.len();
    for (position, &(outer, dimension)) in roots.iter().enumerate() {
        let came = left;
        let sets = narrowing.words.sets(dimensions, dimension);
        let dimension = &dimensions[dimension];
        at.clear();
        append_places(&narrowing.part.chunk.column(outer), &rows, dimension.range, &mut at);
        let unwanted = each_number!(&dimension.numbers, number => {
            intersect_word(number, sets, &at, &mut words)
        });
        left = rows.len() - unwanted;
        let to_come = roots.len() - position - 1;
        if unwanted * to_come * MEETING > rows.len() {
            keep_wanted_words(&mut rows, &mut words);
        }
        order.saw(position, came, left);
    }
    if left < rows.len() {
        keep_wanted_words(&mut rows, &mut words);
    }
    order.sort();
    Survivors { rows, positions: Vec::new(), words }
}

/// Each row's set as one word.
fn row_words(narrowing: &Narrowing<'_>) -> Vec<u64> {
    let (rows, table) = (narrowing.part.rows.len(), narrowing.table);
    match narrowing.sets {
        QuerySets::Uniform(id) => vec![narrowing.words.of_set(table, *id)[0]; rows],
        sets => sets.bitmaps(rows, table),
    }
}

/// Intersects each row's word with that of its place: the number of rows that nobody wants.
#[inline(always)]
fn intersect_word(
    number: impl Fn(u32) -> u32,
    sets: &[u64],
    at: &[u32],
    words: &mut [u64],
) -> usize {
    let mut unwanted = 0;
    for (word, &place) in words.iter_mut().zip(at) {
        *word &= sets[number(place) as usize];
        unwanted += usize::from(*word == 0);
    }
    unwanted
}

/// Moves the rows that somebody wants to the front, with their words.
fn keep_wanted_words(rows: &mut Vec<u32>, words: &mut Vec<u64>) {
    let mut count = 0;
    for position in 0..rows.len() {
        // `count` never passes `position`: what is overwritten has been read.
        rows[count] = rows[position];
        words[count] = words[position];
        count += usize::from(words[position] != 0);
    }
    rows.truncate(count);
    words.truncate(count);
}

/// The number of each row's set in each dimension, dimension after dimension.
fn numbers(
    narrowing: &Narrowing<'_>,
    order: impl Iterator<Item = usize>,
    places: &mut PartPlaces,
) -> Vec<(Vec<u16>, usize)> {
    let filters = narrowing.filters;
    let number = |root: usize| {
        let dimension = filters.roots[root].1;
        let kinds = filters.kinds.get(root).and_then(Option::as_ref);
        if let (Some(kinds), Some(own)) = (kinds, places.kinds_of(root)) {
            return (own.iter().map(|&kind| kinds.sets[usize::from(kind)]).collect(), dimension);
        }
        places.look_up(filters, &narrowing.part, root);
        let at = places.of(root).expect("it was looked up");
        let own = each_number!(&filters.dimensions[dimension].numbers, number => {
            at.iter().map(|&place| number(place) as u16).collect()
        });
        (own, dimension)
    };
    order.map(number).collect()
}

/// Bytes of rows' words that meet all dimensions before the next rows do: they and the sets that they meet stay in the
/// core's second cache.
const WORDS_AT_ONCE: usize = 64 << 10;

fn narrow_words<const WIDTH: usize>(
    narrowing: &Narrowing<'_>,
    order: &Order,
    places: &mut PartPlaces,
) -> Survivors {
    let (table, sets) = (narrowing.table, narrowing.sets);
    let numbers = numbers(narrowing, order.seen.iter().map(|seen| seen.0), places);
    let mut own = OwnWords::<WIDTH>::new(narrowing);
    let mut survivors = Survivors::default();
    // Those of the rows that are left, behind them those of the rows at hand.
    let mut words: Vec<[u64; WIDTH]> = Vec::new();
    let at_once = WORDS_AT_ONCE / size_of::<[u64; WIDTH]>();
    for (part, rows) in narrowing.part.rows.chunks(at_once).enumerate() {
        let (first, left) = (part * at_once, words.len());
        words.extend((first..first + rows.len()).map(|row| *own.row(row, sets, table)));
        for (numbers, dimension) in &numbers {
            let sets = narrowing.words.sets(narrowing.filters.dimensions, *dimension);
            intersect_words(&numbers[first..], sets.as_chunks().0, &mut words[left..]);
        }
        let positions = keep_wanted_rows(&mut words[left..]);
        words.truncate(left + positions.len());
        survivors.rows.extend(positions.iter().map(|&position| rows[position as usize]));
        survivors.positions.extend(positions.iter().map(|&position| first as u32 + position));
    }
    survivors.words = words.into_flattened();
    survivors
}

/// Moves the words of rows that somebody wants to the front: the positions where they were.
fn keep_wanted_rows<const WIDTH: usize>(words: &mut [[u64; WIDTH]]) -> Vec<u32> {
    let mut positions = vec![0; words.len()];
    let mut count = 0;
    for position in 0..words.len() {
        // `count` never passes `position`: what is overwritten has been read.
        positions[count] = position as u32;
        words[count] = words[position];
        count += usize::from(words[position].iter().fold(0, |any, word| any | word) != 0);
    }
    positions.truncate(count);
    positions
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
    fn new(narrowing: &Narrowing<'_>) -> OwnWords<WIDTH> {
        let mut own = OwnWords { last: None, words: [0; WIDTH] };
        if let QuerySets::Uniform(id) = narrowing.sets {
            own.words.copy_from_slice(&narrowing.words.of_set(narrowing.table, *id));
            own.last = Some(*id);
        }
        own
    }

    fn set(&mut self, set: RowSet<'_>, table: &SetTable) {
        self.words = [0; WIDTH];
        set.union_into(&mut self.words, table);
    }

    #[inline(always)]
    fn row(&mut self, row: usize, sets: &QuerySets, table: &SetTable) -> &[u64; WIDTH] {
        match sets {
            QuerySets::Uniform(_) => {}
            QuerySets::Interned(ids) if self.last == Some(ids[row]) => {}
            sets => {
                let set = sets.row(row);
                self.last = match set {
                    RowSet::Id(id) => Some(id),
                    _ => None,
                };
                self.set(set, table);
            }
        }
        &self.words
    }
}

/// For batches of more slots than kernels are made for.
fn narrow_words_blocked(narrowing: &Narrowing<'_>, places: &mut PartPlaces) -> Survivors {
    let (filters, table, width) = (narrowing.filters, narrowing.table, narrowing.words.width());
    let numbers = numbers(narrowing, 0..filters.roots.len(), places);
    let uniform = match narrowing.sets {
        QuerySets::Uniform(id) => Some(narrowing.words.of_set(table, *id)),
        _ => None,
    };
    let mut survivors = Survivors::default();
    let mut words = vec![0; width];
    for (position, &row) in narrowing.part.rows.iter().enumerate() {
        match &uniform {
            Some(uniform) => words.copy_from_slice(uniform),
            None => {
                words.fill(0);
                narrowing.sets.row(position).union_into(&mut words, table);
            }
        }
        for (numbers, dimension) in &numbers {
            let number = usize::from(numbers[position]);
            let sets = narrowing.words.sets(filters.dimensions, *dimension);
            words::intersect_into(&mut words, &sets[number * width..][..width]);
        }
        if !words::is_empty(&words) {
            survivors.rows.push(row);
            survivors.positions.push(position as u32);
            survivors.words.extend_from_slice(&words);
        }
    }
    survivors
}
