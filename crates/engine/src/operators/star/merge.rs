//! The dimensions of several stars over one fact table as one: a row meets each of its references once for all.
//!
//! Each star keeps its own slots, sets and snapshot. The slots are numbered anew one star after the other, and the arrays
//! from key to number of a set are put together column by column: pairs of numbers are numbered, and the words of a pair
//! are those of both. What is left of a row is cut into each star's own words again. Putting an array together is one
//! pass over it; no dimension is read again, so that a star that comes later uses what the others have built.
//! Cost: places of the arrays × stars, then per chunk as much as one star of all slots.

use std::sync::Arc;

use super::dimension::FREE_SPAN;
use super::key_places::{ChunkPart, KeyRange, PartPlaces};
use super::narrow::{Filters, Narrowing, Order, Survivors, WIDEST, narrow};
use super::set_words::SetWords;
use super::{Dimension, Star};
use crate::query_set::{QuerySets, SetId, SetTable, words};
use crate::storage::TableView;
use crate::types::{ChunkId, ColumnId};

/// Pairs of sets' numbers that may be told apart: 2 MiB.
const PAIRS: usize = 1 << 20;

/// Bits of a word.
const WORD: usize = u64::BITS as usize;

/// Several stars' dimensions.
#[derive(Debug)]
pub struct MergedStars {
    fact: Arc<TableView>,
    /// Of all slots.
    table: SetTable,
    words: SetWords,
    /// By star; `None` for those whose rows all go into bins.
    members: Vec<Option<Member>>,
    dimensions: Vec<Dimension>,
    roots: Vec<(ColumnId, usize)>,
}

/// Where the bits of a star's words are.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// A star of up to 64 slots lies in one word, a larger one begins with a word.
    first: usize,
    bits: usize,
    /// Words of its own sets.
    width: usize,
    is_one: bool,
}

/// What one worker needs for it.
#[derive(Debug, Default)]
pub struct MergedScratch {
    /// How much each merged dimension drops.
    order: Option<Order>,
    places: PartPlaces,
}

impl MergedStars {
    /// Merges the dimensions of stars over the same table, each with the number of its batch's slots. `None` where the slots
    /// or the sets are too many, or there is nothing to merge: then each star is as well off alone.
    pub fn new(stars: &[(&Star, usize)]) -> Option<MergedStars> {
        let mut end = 0;
        let members = stars.iter().map(|(star, slots)| Member::new(star, *slots, &mut end));
        let members: Vec<Option<Member>> = members.collect();
        let words = SetWords::all(end);
        if words.width() > WIDEST || members.iter().flatten().count() < 2 {
            return None;
        }
        let mut columns: Vec<ColumnId> =
            stars.iter().flat_map(|(star, _)| &star.roots).map(|(column, _)| *column).collect();
        columns.sort_unstable();
        columns.dedup();
        let (fact, table) = (stars[0].0.fact.clone(), SetTable::new(end));
        let (dimensions, roots) = (Vec::new(), Vec::new());
        let mut merged = MergedStars { fact, table, words, members, dimensions, roots };
        for column in columns {
            let dimension = merged.dimension(stars, column)?;
            merged.roots.push((column, merged.dimensions.len()));
            merged.dimensions.push(dimension);
        }
        Some(merged)
    }

    /// All that the stars ask of what a column refers to.
    fn dimension(&self, stars: &[(&Star, usize)], column: ColumnId) -> Option<Dimension> {
        let mut merging = Merging::new(self.words.width());
        let mut kept = 0.0;
        for ((star, _), member) in stars.iter().zip(&self.members) {
            let Some(member) = member else { continue };
            let mut own = 1.0;
            for (_, number) in star.roots.iter().filter(|(outer, _)| *outer == column) {
                merging = merging.with(star, *number, *member)?;
                own *= star.dimensions[*number].kept;
            }
            kept += own;
        }
        let Merging { range, numbers, sets, .. } = merging;
        Some(Dimension::of_numbers(&self.fact, range, numbers, sets, f64::min(kept, 1.0)))
    }

    /// What is left of rows of a chunk for each of `wanted`: stars by position, the sets of its batch, and which of its slots
    /// want the rows. `None` for stars whose rows all go into bins.
    pub fn narrow(
        &self,
        scratch: &mut MergedScratch,
        (chunk, rows): (ChunkId, &[u32]),
        wanted: &[(usize, &Star, &SetTable, SetId)],
    ) -> Vec<Option<Survivors>> {
        let filters =
            Filters { roots: &self.roots, dimensions: &self.dimensions, kinds: &[], is_one: false };
        let mut all = vec![0; self.table.word_count()];
        for (star, own, table, set) in wanted {
            let Some(member) = self.members[*star] else { continue };
            let set = table.difference(*set, own.binned);
            member.place(&own.narrowed_words().of_set(table, set), &mut all);
        }
        if words::is_empty(&all) {
            return wanted.iter().map(|_| None).collect();
        }
        let MergedScratch { order, places } = scratch;
        let order = order.get_or_insert_with(|| Order::new(filters));
        places.start(self.roots.len());
        let part = ChunkPart { id: chunk, chunk: wanted[0].1.fact.chunk(chunk), rows };
        let sets = QuerySets::Uniform(self.table.intern(&all));
        let (table, words) = (&self.table, &self.words);
        let left = narrow(&Narrowing { filters, table, words, part, sets: &sets }, order, places);
        let width = self.words.width();
        let cut = |star: usize| Some(self.members[star]?.cut(&left, width));
        wanted.iter().map(|(star, ..)| cut(*star)).collect()
    }
}

impl Member {
    fn new(star: &Star, slots: usize, end: &mut usize) -> Option<Member> {
        let words = star.narrowed_words();
        let bits = if star.binned == SetId::EMPTY { slots } else { words.bits() };
        if bits == 0 {
            return None;
        }
        let fits = bits <= WORD - *end % WORD;
        let first = if fits { *end } else { end.next_multiple_of(WORD) };
        *end = first + bits;
        Some(Member { first, bits, width: words.width(), is_one: star.only.is_some() })
    }

    /// Sets the bits of a star's set among those of all.
    fn place(self, own: &[u64], all: &mut [u64]) {
        let (first, shift) = (self.first / WORD, self.first % WORD);
        for (target, word) in all[first..].iter_mut().zip(own) {
            *target |= word << shift;
        }
    }

    /// Clears a star's slots that are not in its set.
    fn restrict(self, all: &mut [u64], own: &[u64]) {
        let (first, shift) = (self.first / WORD, self.first % WORD);
        for (n, target) in all[first..first + self.words()].iter_mut().enumerate() {
            let bits = (self.bits - n * WORD).min(WORD);
            let mask = (u64::MAX >> (WORD - bits)) << shift;
            *target &= own[n] << shift | !mask;
        }
    }

    /// A star's rows among those that are left: the ones that its slots want.
    fn cut(self, left: &Survivors, width: usize) -> Survivors {
        let (first, shift, count) = (self.first / WORD, self.first % WORD, self.words());
        let last = u64::MAX >> (count * WORD - self.bits);
        let sets = || left.words.chunks_exact(width).map(|set| &set[first..first + count]);
        let end = |set: &[u64]| set[count - 1] >> shift & last;
        let kept = kept(left.rows.len(), sets().map(|set| or(&set[..count - 1]) | end(set)));
        let of = |numbers: &[u32]| kept.iter().map(|&row| numbers[row as usize]).collect();
        let positions = if left.positions.is_empty() { Vec::new() } else { of(&left.positions) };
        let mut own = Survivors { rows: of(&left.rows), positions, words: Vec::new() };
        if self.is_one {
            return own;
        }
        own.words.reserve(kept.len() * self.width);
        for &row in &kept {
            let set = &left.words[row as usize * width + first..][..count];
            own.words.extend_from_slice(&set[..count - 1]);
            own.words.push(end(set));
            own.words.extend(std::iter::repeat_n(0, self.width - count));
        }
        own
    }

    /// How many words its bits take.
    fn words(self) -> usize {
        words::word_count(self.bits)
    }
}

fn or(words: &[u64]) -> u64 {
    words.iter().fold(0, |any, word| any | word)
}

/// The positions of what is not 0, without a branch for each.
fn kept(count: usize, words: impl Iterator<Item = u64>) -> Vec<u32> {
    let mut kept = vec![0; count + 1];
    let mut found = 0;
    for (position, word) in (0..).zip(words) {
        // `found` never passes `position`.
        kept[found] = position;
        found += usize::from(word != 0);
    }
    kept.truncate(found);
    kept
}

/// Arrays from key to number of a set, merged so far.
struct Merging {
    range: KeyRange,
    /// By place.
    numbers: Vec<u16>,
    /// Words of set after set.
    sets: Vec<u64>,
    width: usize,
}

impl Merging {
    /// Everybody passes, whatever the key.
    fn new(width: usize) -> Merging {
        let (numbers, sets) = (vec![0], vec![u64::MAX; width]);
        Merging { range: KeyRange::default(), numbers, sets, width }
    }

    /// One star more.
    fn with(self, star: &Star, dimension: usize, member: Member) -> Option<Merging> {
        let other = &star.dimensions[dimension];
        let other_sets = star.narrowed_words().sets(&star.dimensions, dimension);
        let range = union(self.range, other.range)?;
        let columns = other_sets.len() / member.width;
        let mut pairs = Pairs::new(self.sets.len() / self.width, columns)?;
        let mut numbers = Vec::with_capacity(range.span as usize + 1);
        numbers.push(pairs.number(self.numbers[0], other.numbers.get(0) as u16)?);
        for offset in 0..range.span as i64 {
            let key = range.least.wrapping_add(offset);
            let own = self.numbers[self.range.place(key) as usize];
            let others = other.numbers.get(other.range.place(key));
            numbers.push(pairs.number(own, others as u16)?);
        }
        let mut sets = Vec::with_capacity(pairs.known.len() * self.width);
        for (own, others) in pairs.known {
            let own = &self.sets[usize::from(own) * self.width..][..self.width];
            let others = &other_sets[usize::from(others) * member.width..][..member.width];
            sets.extend_from_slice(own);
            let start = sets.len() - self.width;
            member.restrict(&mut sets[start..], others);
        }
        Some(Merging { range, numbers, sets, width: self.width })
    }
}

/// Pairs of numbers, numbered in the order in which they come.
struct Pairs {
    columns: usize,
    numbers: Vec<u16>,
    known: Vec<(u16, u16)>,
}

/// No number yet.
const UNNUMBERED: u16 = u16::MAX;

impl Pairs {
    fn new(rows: usize, columns: usize) -> Option<Pairs> {
        let all = rows * columns;
        (all <= PAIRS).then(|| Pairs { columns, numbers: vec![UNNUMBERED; all], known: Vec::new() })
    }

    #[inline(always)]
    fn number(&mut self, row: u16, column: u16) -> Option<u16> {
        let at = usize::from(row) * self.columns + usize::from(column);
        let known = self.numbers[at];
        if known == UNNUMBERED { self.add(at, (row, column)) } else { Some(known) }
    }

    #[cold]
    fn add(&mut self, at: usize, pair: (u16, u16)) -> Option<u16> {
        let number = u16::try_from(self.known.len()).ok().filter(|n| *n != UNNUMBERED)?;
        self.numbers[at] = number;
        self.known.push(pair);
        Some(number)
    }
}

/// The keys of both; `None` where they lie so far apart that an array of them would be much larger than both.
fn union(a: KeyRange, b: KeyRange) -> Option<KeyRange> {
    if a.span == 0 || b.span == 0 {
        return Some(if a.span == 0 { b } else { a });
    }
    let least = a.least.min(b.least);
    let end = |range: KeyRange| i128::from(range.least) + i128::from(range.span);
    let span = u64::try_from(end(a).max(end(b)) - i128::from(least)).ok()?;
    (span <= FREE_SPAN.max(2 * (a.span + b.span))).then_some(KeyRange { least, span })
}
