//! The index over 64-bit keys: bounds, and the fastest way to a key's interval.

use super::super::filter::float_key;
use super::super::rows::Rows;
use super::KeyIndex;
use super::ranks::{narrow_by_ranks, select_by_ranks};
use super::word_table::WordTable;
use crate::query_set::{SetId, SetTable};
use crate::storage::{ColumnSlice, each_width};

/// Up to so many bounds a search is as fast as anything.
const FEW_BOUNDS: usize = 8;
/// Rows that tell whether most of a chunk are wanted.
const SAMPLE_ROWS: usize = 1024;
/// Most bounds of one bucket: beyond, a search is faster than walking.
const BUCKET_BOUNDS: usize = 8;
/// Largest table of one set per key: 256 KiB, which stays in a core's second cache.
const TABLE_KEYS: u64 = 1 << 16;

/// Key sets over 64-bit keys.
#[derive(Debug)]
pub struct NarrowIndex {
    keys: KeyIndex<i64>,
    lookup: Lookup,
    /// What [`Lookup::Table`] has, where that fits.
    words: Option<WordTable>,
}

#[derive(Debug)]
enum Lookup {
    /// Sorted bounds only.
    Search,
    /// Sorted bounds with a way in.
    Buckets(Buckets),
    /// One set per key from `first` on; other keys have the set below or above.
    Table { first: i64, sets: Vec<SetId>, below: SetId, above: SetId },
    /// Single keys, open addressing; all other keys have the same set.
    Points { slots: Vec<(i64, SetId)>, shift: u32, gap: SetId },
}

impl NarrowIndex {
    /// `rows`: about how many rows are going to be looked up.
    pub fn new(keys: KeyIndex<i64>, rows: usize, table: &SetTable) -> NarrowIndex {
        let lookup = lookup(&keys, rows);
        let words = match &lookup {
            Lookup::Table { first, sets, below, above } => {
                WordTable::of(*first, sets, (*below, *above), table)
            }
            _ => None,
        };
        NarrowIndex { keys, lookup, words }
    }

    /// The bounds.
    pub fn keys(&self) -> &KeyIndex<i64> {
        &self.keys
    }

    /// The set for NULL.
    pub fn nulls(&self) -> SetId {
        self.keys.nulls()
    }

    /// The set for a key.
    #[inline]
    pub fn find(&self, key: i64) -> SetId {
        match &self.lookup {
            Lookup::Search => self.keys.find(&key),
            Lookup::Buckets(buckets) => self.keys.set(buckets.rank(self.keys.bounds(), key)),
            Lookup::Table { first, sets, below, above } => {
                find_in_table(*first, sets, *below, *above, key)
            }
            Lookup::Points { slots, shift, gap } => find_point(slots, *shift, *gap, key),
        }
    }

    /// Appends the set of each row, taking NULL for any key.
    pub fn probe(&self, column: &ColumnSlice<'_>, rows: Rows<'_>, out: &mut Vec<SetId>) {
        match column {
            ColumnSlice::Boolean(values, _) => self.probe_by(values, i64::from, rows, out),
            ColumnSlice::Int16(values, _) => self.probe_by(values, i64::from, rows, out),
            ColumnSlice::Int32(values, _) => self.probe_by(values, i64::from, rows, out),
            ColumnSlice::Int64(values, _) => self.probe_by(values, |value| value, rows, out),
            ColumnSlice::Framed(base, distances, _) => each_width!(*distances, distances => {
                self.probe_by(distances, |distance| base + i64::from(distance), rows, out);
            }),
            ColumnSlice::Float32(values, _) => {
                self.probe_by(values, |value| float_key(f64::from(value)), rows, out)
            }
            ColumnSlice::Float64(values, _) => self.probe_by(values, float_key, rows, out),
            other => unreachable!("{other:?} has no 64-bit keys"),
        }
    }

    fn probe_by<T: Copy>(
        &self,
        values: &[T],
        key: impl Fn(T) -> i64,
        rows: Rows<'_>,
        out: &mut Vec<SetId>,
    ) {
        out.reserve(rows.len());
        match &self.lookup {
            Lookup::Search => rows.for_each(|row| out.push(self.keys.find(&key(values[row])))),
            Lookup::Buckets(buckets) => {
                let bounds = self.keys.bounds();
                rows.for_each(|row| {
                    out.push(self.keys.set(buckets.rank(bounds, key(values[row]))));
                });
            }
            Lookup::Table { first, sets, below, above } => rows.for_each(|row| {
                out.push(find_in_table(*first, sets, *below, *above, key(values[row])));
            }),
            Lookup::Points { slots, shift, gap } => {
                rows.for_each(|row| out.push(find_point(slots, *shift, *gap, key(values[row]))));
            }
        }
    }

    /// Takes slots that do not want a row's key from its set, a word; `false` where [`Self::probe`] has to tell. No row is
    /// NULL.
    pub fn narrow(
        &self,
        column: &ColumnSlice<'_>,
        rows: Rows<'_>,
        table: &SetTable,
        words: &mut [u64],
    ) -> bool {
        if let Some(own) = &self.words {
            return own.narrow(column, rows, words);
        }
        if !self.has_few_bounds() {
            return false;
        }
        let mut sets = [0; FEW_BOUNDS + 1];
        let own = sets.iter_mut().take(self.keys.bounds().len() + 1).enumerate();
        own.for_each(|(rank, set)| *set = table.words(self.keys.set(rank))[0]);
        narrow_by_ranks(column, rows, self.keys.bounds(), &sets, words)
    }

    /// The rows whose key a slot of `wanted`, a word, wants; `None` where that is most of them, going by the first, or
    /// [`Self::probe`] has to tell. No row is NULL.
    pub fn select(
        &self,
        column: &ColumnSlice<'_>,
        rows: Rows<'_>,
        table: &SetTable,
        wanted: u64,
    ) -> Option<Vec<u32>> {
        if let Some(own) = &self.words {
            return select_fewer(rows, |rows, kept| own.select(column, rows, wanted, kept));
        }
        if !self.has_few_bounds() {
            return None;
        }
        let bounds = self.keys.bounds();
        let is_wanted = |rank| table.words(self.keys.set(rank))[0] & wanted != 0;
        let toggles = (1..=bounds.len()).filter(|&rank| is_wanted(rank) != is_wanted(rank - 1));
        let toggles = toggles.map(|rank| bounds[rank - 1]);
        let below = is_wanted(0).then_some(i64::MIN);
        let cuts: Vec<i64> = below.into_iter().chain(toggles).collect();
        select_fewer(rows, |rows, kept| select_by_ranks(column, rows, &cuts, kept))
    }

    fn has_few_bounds(&self) -> bool {
        matches!(self.lookup, Lookup::Search) && self.keys.bounds().len() <= FEW_BOUNDS
    }

    /// What EXPLAIN calls it.
    pub fn kind(&self) -> &'static str {
        match self.lookup {
            Lookup::Search => "sorted bounds",
            Lookup::Buckets(_) => "bucketed bounds",
            Lookup::Table { .. } => "table",
            Lookup::Points { .. } => "hash",
        }
    }
}

/// The rows that `select` appends; `None` where it cannot tell, or of the first it appends most.
fn select_fewer(
    rows: Rows<'_>,
    select: impl Fn(Rows<'_>, &mut Vec<u32>) -> bool,
) -> Option<Vec<u32>> {
    let mut kept = Vec::new();
    let sample = rows.first(SAMPLE_ROWS);
    if !select(sample, &mut kept) || kept.len() * 2 > sample.len() {
        return None;
    }
    // As many as the first let expect, and some more.
    let share = (kept.len() + 1) as f64 / sample.len().max(1) as f64;
    kept = Vec::with_capacity(rows.len().min((rows.len() as f64 * share * 1.25) as usize));
    select(rows, &mut kept);
    Some(kept)
}

fn lookup(keys: &KeyIndex<i64>, rows: usize) -> Lookup {
    let bounds = keys.bounds();
    if bounds.len() <= FEW_BOUNDS {
        return Lookup::Search;
    }
    let (first, last) = (bounds[0], bounds[bounds.len() - 1]);
    let span = last.abs_diff(first);
    if span <= TABLE_KEYS.min(4 * rows as u64) {
        return table(keys, first, span);
    }
    match keys.as_points() {
        Some((points, gap)) => hash(&points, gap),
        None => buckets(bounds).unwrap_or(Lookup::Search),
    }
}

/// For each run of `1 << shift` keys from `first` on, how many bounds lie before it.
#[derive(Debug)]
struct Buckets {
    first: i64,
    shift: u32,
    starts: Vec<u32>,
    /// Bounds of the fullest bucket.
    fullest: usize,
}

impl Buckets {
    /// Bounds that are not above `key`. Compares as often for every key: which bounds a key passes is
    /// anybody's guess, and a wrong guess of the branch predictor costs more than a few comparisons.
    #[inline(always)]
    fn rank(&self, bounds: &[i64], key: i64) -> usize {
        let bucket = (key.wrapping_sub(self.first) as u64 >> self.shift) as usize;
        let bucket = if key < self.first { 0 } else { bucket.min(self.starts.len() - 1) };
        let mut rank = self.starts[bucket] as usize;
        for _ in 0..self.fullest {
            let at = rank.min(bounds.len() - 1);
            rank += usize::from((bounds[at] <= key) & (at == rank));
        }
        rank
    }
}

/// About two buckets per bound; `None` where bounds are so uneven that many share one.
fn buckets(bounds: &[i64]) -> Option<Lookup> {
    let (first, last) = (bounds[0], bounds[bounds.len() - 1]);
    let span = last.abs_diff(first);
    let wanted = (bounds.len() * 2).next_power_of_two().ilog2();
    let shift = (u64::BITS - span.leading_zeros()).saturating_sub(wanted);
    let mut starts = vec![0u32; (span >> shift) as usize + 2];
    bounds.iter().for_each(|bound| starts[(bound.abs_diff(first) >> shift) as usize + 1] += 1);
    let fullest = starts.iter().max().map_or(0, |most| *most as usize);
    (1..starts.len()).for_each(|bucket| starts[bucket] += starts[bucket - 1]);
    let buckets = Buckets { first, shift, starts, fullest };
    (fullest <= BUCKET_BOUNDS).then_some(Lookup::Buckets(buckets))
}

fn table(keys: &KeyIndex<i64>, first: i64, span: u64) -> Lookup {
    let bounds = keys.bounds();
    let mut sets = Vec::with_capacity(span as usize);
    for pair in bounds.windows(2) {
        let set = keys.find(&pair[0]);
        sets.resize(sets.len() + pair[1].abs_diff(pair[0]) as usize, set);
    }
    let last = bounds[bounds.len() - 1];
    let below = if first == i64::MIN { SetId::EMPTY } else { keys.find(&(first - 1)) };
    Lookup::Table { first, sets, below, above: keys.find(&last) }
}

#[inline(always)]
fn find_in_table(first: i64, sets: &[SetId], below: SetId, above: SetId, key: i64) -> SetId {
    // Keys below `first` wrap to beyond the table.
    match sets.get(key.wrapping_sub(first) as u64 as usize) {
        Some(&set) => set,
        None if key < first => below,
        None => above,
    }
}

#[inline(always)]
fn place(key: i64, shift: u32) -> usize {
    ((key as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift) as usize
}

/// Free slots hold the gap's set, so that a key equal to their filler finds the right answer as well.
fn hash(points: &[(&i64, SetId)], gap: SetId) -> Lookup {
    let capacity = (points.len() * 4).next_power_of_two().max(16);
    let shift = 64 - capacity.ilog2();
    let filler = (0, gap);
    let mut slots = vec![filler; capacity];
    for &(&key, set) in points {
        let mut at = place(key, shift);
        while slots[at].1 != gap {
            at = (at + 1) & (capacity - 1);
        }
        slots[at] = (key, set);
    }
    Lookup::Points { slots, shift, gap }
}

#[inline(always)]
fn find_point(slots: &[(i64, SetId)], shift: u32, gap: SetId, key: i64) -> SetId {
    let mut at = place(key, shift);
    loop {
        let (found, set) = slots[at];
        if found == key || set == gap {
            return set;
        }
        at = (at + 1) & (slots.len() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::key_set::KeySet;
    use super::*;
    use crate::types::Slot;

    fn check(keys: &[KeySet<i64>], kind: &str) {
        let table = SetTable::new(keys.len());
        let filters: Vec<_> =
            keys.iter().enumerate().map(|(slot, keys)| (Slot(slot as u32), keys)).collect();
        let none = vec![0; table.word_count()];
        let index = NarrowIndex::new(KeyIndex::new(&filters, &none, &table), 1_000_000, &table);
        assert_eq!(index.kind(), kind);
        let ends = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
        for key in (-50..3000).chain(ends) {
            for (slot, set) in &filters {
                assert_eq!(table.contains(index.find(key), *slot), set.contains(&key), "{key}");
            }
        }
    }

    #[test]
    fn every_lookup_agrees_with_the_key_sets() {
        let spread: Vec<_> = (0..100).map(|i| KeySet::point(i * 1_000_003 % 7_919_777)).collect();
        check(&spread, "hash");
        check(&(0..100).map(|i| KeySet::point(i * 17)).collect::<Vec<_>>(), "table");
        let ranges: Vec<_> = (0..50).map(|i| KeySet::span(Some(i * 7), Some(i * 40))).collect();
        check(&ranges, "table");
        let even: Vec<_> =
            (0..50).map(|i| KeySet::span(Some(i * 9_001 - 40_000), Some(i * 10_007))).collect();
        check(&even, "bucketed bounds");
        let wide: Vec<_> = (0..50).map(|i| KeySet::span(Some(i * 7), Some(i << 40))).collect();
        check(&wide, "sorted bounds");
        check(&[KeySet::point(3), KeySet::all()], "sorted bounds");
        let not: Vec<_> = (0..20).map(|i| KeySet::point(i << 33).complement()).collect();
        check(&not, "hash");
    }
}
