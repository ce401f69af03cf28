//! The keys that one side of a join has, for the scan below its other side: rows that nobody can join with are dropped
//! before anything else reads them.
//!
//! In come keys with the slots that want them, out comes an array from key to slots: a bit per key where all keys are
//! wanted by the same slots (a batch of one, mostly) or lie so far apart that more would not pay, else the number of a
//! set ("sideways information passing"; CJOIN's filters on any column instead of a star's). Made by `heartbeat`, asked by
//! [`super::TableBatch`]. A filter only spares work: the join behind it asks again, so leaving one out changes no answer.

use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{Array, ArrayRef};
use hashbrown::HashMap;

use super::blocks::{BLOCK, Block, append_set};
use super::clock_scan::ChunkRows;
use super::rows::Rows;
use crate::query_set::{QuerySets, Recall, SetId, SetTable, drop_unwanted};
use crate::storage::{ColumnSlice, Nulls, each_width};
use crate::types::{DataType, Value, for_each_integer};

/// Places that an array may have, whatever the number of keys: 1 MiB of bits.
const FREE_SPAN: u64 = 1 << 23;
/// Places per key beyond that: a sparser array costs more cache misses than its rows' joins.
const SPARSENESS: u64 = 64;
/// Places per row that will be asked, where a place is a bit: clearing a byte costs a few hundredths of a row's join.
const BITS_PER_ROW: u64 = 8;
/// Distinct sets of a filter's keys: beyond that they say little of each slot and fill the batch's table of sets.
const MOST_SETS: usize = 8192;
/// Rows after which a filter is judged:
const TRIAL_ROWS: usize = 1 << 16;
/// one that keeps more than this share is not asked any more,
const USELESS: f64 = 0.9;
/// and one that keeps more than this not before the predicates. Looking a key up takes about as long as one predicate.
const LATER: f64 = 0.5;

/// Who can join rows, by key.
#[derive(Debug)]
pub struct KeyFilter {
    least: i64,
    places: u64,
    marks: Marks,
    /// Who takes rows of other keys: slots that the join is not for.
    others: SetId,
    /// Where a set is a word: those that keys are marked with, that of other keys first.
    words: Vec<u64>,
    /// Of the rows that scans have left.
    narrowed: Share,
    /// Of the rows that were looked up before anything was asked of them.
    looked_up: Share,
}

/// How many of the rows seen so far were kept.
#[derive(Debug, Default)]
struct Share {
    seen: AtomicUsize,
    kept: AtomicUsize,
}

impl Share {
    fn add(&self, seen: usize, kept: usize) {
        self.seen.fetch_add(seen, Ordering::Relaxed);
        self.kept.fetch_add(kept, Ordering::Relaxed);
    }

    /// Whether enough rows were seen, and more than `share` of them kept.
    fn exceeds(&self, share: f64) -> bool {
        let seen = self.seen.load(Ordering::Relaxed);
        seen > TRIAL_ROWS && self.kept.load(Ordering::Relaxed) as f64 > seen as f64 * share
    }
}

#[derive(Debug)]
enum Marks {
    /// A bit per key, the last word empty, and who takes the rows of those that have one.
    Bits(Vec<u64>, SetId),
    /// By key, the position of a set, and such bits for keys that somebody joining wants: most rows are dropped by bits,
    /// which take a sixteenth of the cache.
    Sets(Vec<u16>, Vec<SetId>, Vec<u64>),
}

/// A run of keys, and who wants which.
pub type Keys<'a> = (ArrayRef, &'a QuerySets);

impl KeyFilter {
    /// Whether columns of these types can be compared by an array of keys.
    pub fn is_for(a: DataType, b: DataType) -> bool {
        let integer = |t| matches!(t, DataType::SmallInt | DataType::Integer | DataType::BigInt);
        (integer(a) && integer(b)) || (a == DataType::Date && b == DataType::Date)
    }

    /// A filter for the slots of `joining`, of which about `asked` rows will be asked; all others of the batch pass. `None`
    /// where the keys lie too far apart. Those that lie rather far apart, or are wanted by too many different sets, are
    /// told apart by no set: rows of any key pass for all who want some.
    pub fn new(
        runs: &[Keys<'_>],
        joining: SetId,
        sets: &SetTable,
        asked: u64,
    ) -> Option<KeyFilter> {
        let others = sets.difference(sets.all(), joining);
        let ranges = runs.iter().filter_map(|(keys, _)| range(keys));
        let range = ranges.reduce(|(least, most), (l, m)| (least.min(l), most.max(m)));
        let (least, places) = match range {
            Some((least, most)) => (least, most.abs_diff(least).checked_add(1)?),
            None => (0, 0),
        };
        let keys: usize = runs.iter().map(|(keys, _)| keys.len()).sum();
        let few = FREE_SPAN.max(keys as u64 * SPARSENESS);
        if places > few.max(asked.saturating_mul(BITS_PER_ROW)) {
            return None;
        }
        let is_told_apart = places <= few && uniform(runs).is_none();
        let numbers = is_told_apart.then(|| numbers(runs, least, places, joining, others, sets));
        let marks = numbers.flatten().unwrap_or_else(|| {
            let wanted = sets.intersect(wanted(runs, sets), joining);
            Marks::Bits(bits(runs, least, places), sets.union(wanted, others))
        });
        let words = match &marks {
            _ if sets.word_count() != 1 => Vec::new(),
            Marks::Bits(_, wanted) => [others, *wanted].map(|set| sets.words(set)[0]).to_vec(),
            Marks::Sets(_, known, _) => known.iter().map(|&set| sets.words(set)[0]).collect(),
        };
        let (narrowed, looked_up) = (Share::default(), Share::default());
        Some(KeyFilter { least, places, marks, others, words, narrowed, looked_up })
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let marks = match &self.marks {
            Marks::Bits(bits, _) => bits.len() * 8,
            Marks::Sets(numbers, sets, bits) => numbers.len() * 2 + sets.len() * 4 + bits.len() * 8,
        };
        marks + self.words.len() * 8
    }

    /// The rows of a chunk that somebody can still join, by their keys in `column`.
    pub(super) fn narrow(
        &self,
        column: &ColumnSlice<'_>,
        found: ChunkRows,
        sets: &SetTable,
    ) -> ChunkRows {
        if self.is_idle() {
            return found;
        }
        let seen = found.rows.len();
        let narrowed = match (&self.marks, &found.sets) {
            (Marks::Bits(bits, wanted), QuerySets::Uniform(set))
                if sets.intersect(self.others, *set) == SetId::EMPTY =>
            {
                let kept = QuerySets::Uniform(sets.intersect(*set, *wanted));
                let rows = self.rows_with_bits(bits, column, Rows::Some(&found.rows));
                ChunkRows { rows, sets: kept, errors: found.errors }
            }
            (Marks::Bits(bits, _) | Marks::Sets(_, _, bits), _)
                if self.others == SetId::EMPTY && seen > 0 =>
            {
                let mut places = Vec::with_capacity(seen);
                let mut first = 0;
                self.with_bits(bits, column, Rows::Some(&found.rows), |block, truths| {
                    append_set(truths, |place| (first + place) as u32, &mut places);
                    first += block.len();
                });
                let rows = places.iter().map(|&place| found.rows[place as usize]).collect();
                let own = found.sets.take(&places);
                self.meet(column, ChunkRows { rows, sets: own, errors: found.errors }, sets)
            }
            _ => self.meet(column, found, sets),
        };
        self.narrowed.add(seen, narrowed.rows.len());
        narrowed
    }

    /// Whether it has proved useless; only where nobody passes do the rows kept tell.
    fn is_idle(&self) -> bool {
        self.others == SetId::EMPTY && self.narrowed.exceeds(USELESS)
    }

    /// Whether rows should be looked up before their predicates are asked: nobody takes rows of other keys, and so far
    /// few rows had one of these.
    pub(super) fn comes_first(&self) -> bool {
        self.others == SetId::EMPTY && !self.looked_up.exceeds(LATER)
    }

    /// The rows whose key somebody has, whoever that is.
    pub(super) fn look_up(&self, column: &ColumnSlice<'_>, rows: Rows<'_>) -> Vec<u32> {
        let (Marks::Bits(bits, _) | Marks::Sets(_, _, bits)) = &self.marks;
        let kept = self.rows_with_bits(bits, column, rows);
        self.looked_up.add(rows.len(), kept.len());
        kept
    }

    /// What [`Self::narrow`] leaves of rows that all have been looked up.
    pub(super) fn narrow_known(
        &self,
        column: &ColumnSlice<'_>,
        found: ChunkRows,
        sets: &SetTable,
    ) -> ChunkRows {
        match (&self.marks, &found.sets) {
            (Marks::Bits(_, wanted), QuerySets::Uniform(set)) => {
                let kept = QuerySets::Uniform(sets.intersect(*set, *wanted));
                ChunkRows { sets: kept, ..found }
            }
            _ => self.meet(column, found, sets),
        }
    }

    fn rows_with_bits(&self, bits: &[u64], column: &ColumnSlice<'_>, rows: Rows<'_>) -> Vec<u32> {
        let mut kept = Vec::with_capacity(rows.len());
        self.with_bits(bits, column, rows, |block, truths| block.append_where(truths, &mut kept));
        kept
    }

    /// Asks block by block who has a key, and hands each block to `visit` with a byte for each row: 1 where its key has a bit.
    fn with_bits(
        &self,
        bits: &[u64],
        column: &ColumnSlice<'_>,
        rows: Rows<'_>,
        mut visit: impl FnMut(Block<'_>, &[u8]),
    ) {
        let mut truths = [0; BLOCK];
        for_each_block_of_keys(column, rows, self.least, |block, places| {
            let truths = &mut truths[..block.len()];
            are_set(bits, places, truths);
            visit(block, truths);
        });
    }

    fn meet(&self, column: &ColumnSlice<'_>, found: ChunkRows, sets: &SetTable) -> ChunkRows {
        if sets.word_count() == 1 {
            return self.meet_words(column, found, sets);
        }
        let ChunkRows { rows, sets: own, errors } = found;
        let mut ids = Vec::with_capacity(rows.len());
        for_each_block_of_keys(column, Rows::Some(&rows), self.least, |_, places| {
            ids.extend(places.iter().map(|&place| self.set(place)));
        });
        let (kept, own) = own.meet(&ids, sets);
        let rows = match kept {
            Some(kept) => kept.into_iter().map(|place| rows[place as usize]).collect(),
            None => rows,
        };
        ChunkRows { rows, sets: own, errors }
    }

    /// The same where a set is a word: only keys of rows that somebody joining wants are looked up.
    fn meet_words(&self, column: &ColumnSlice<'_>, found: ChunkRows, sets: &SetTable) -> ChunkRows {
        let ChunkRows { rows, sets: own, errors } = found;
        let mut words = own.into_bitmaps(rows.len(), sets);
        match self.places_of_joining(&words) {
            None => {
                let mut own = words.iter_mut();
                self.for_each_word(column, &rows, |word| *own.next().expect("a row each") &= word);
            }
            Some(places) => {
                let joining: Vec<u32> = places.iter().map(|&place| rows[place as usize]).collect();
                let mut places = places.into_iter();
                self.for_each_word(column, &joining, |word| {
                    words[places.next().expect("a row each") as usize] &= word;
                });
            }
        }
        let mut rows = Some(rows);
        drop_unwanted(&mut words, &mut rows);
        let rows = rows.expect("not all");
        ChunkRows { rows, sets: QuerySets::Bitmaps { words_per_row: 1, words }, errors }
    }

    /// Where somebody joining wants the row; `None` where that is everywhere.
    fn places_of_joining(&self, words: &[u64]) -> Option<Vec<u32>> {
        if self.others == SetId::EMPTY {
            return None;
        }
        let joining = words.iter().map(|word| word & !self.words[0]).collect();
        let joining = QuerySets::Bitmaps { words_per_row: 1, words: joining };
        joining.wanted_rows(words.len())
    }

    /// Calls `visit` with the set of each row's key.
    fn for_each_word(&self, column: &ColumnSlice<'_>, rows: &[u32], mut visit: impl FnMut(u64)) {
        let mut truths = [0; BLOCK];
        for_each_block_of_keys(column, Rows::Some(rows), self.least, |block, places| {
            match &self.marks {
                Marks::Bits(bits, _) => {
                    let truths = &mut truths[..block.len()];
                    are_set(bits, places, truths);
                    truths.iter().for_each(|&truth| visit(self.words[usize::from(truth)]));
                }
                Marks::Sets(numbers, ..) => places.iter().for_each(|&place| {
                    let number = numbers.get(place as usize).copied().unwrap_or(0);
                    visit(self.words[usize::from(number)]);
                }),
            }
        });
    }

    #[inline]
    fn set(&self, place: u64) -> SetId {
        if place >= self.places {
            return self.others;
        }
        let place = place as usize;
        match &self.marks {
            Marks::Bits(bits, wanted) => match bits[place / 64] >> (place % 64) & 1 {
                1 => *wanted,
                _ => self.others,
            },
            Marks::Sets(numbers, sets, _) => sets[usize::from(numbers[place])],
        }
    }
}

/// Whether each place has a bit: 1 or 0. The last word is empty, and places beyond all keys come to it: no branch that could
/// be guessed wrong.
#[inline(never)]
fn are_set(bits: &[u64], places: &[u64], truths: &mut [u8]) {
    let last = bits.len() as u64 - 1;
    places.iter().zip(truths).for_each(|(&place, truth)| {
        *truth = (bits[(place / 64).min(last) as usize] >> (place % 64)) as u8 & 1;
    });
}

/// The set of all keys, where they have only one.
fn uniform(runs: &[Keys<'_>]) -> Option<SetId> {
    let mut found = None;
    for (_, sets) in runs.iter().filter(|(keys, _)| !keys.is_empty()) {
        let QuerySets::Uniform(set) = sets else { return None };
        if found.is_some_and(|other| other != *set) {
            return None;
        }
        found = Some(*set);
    }
    Some(found.unwrap_or(SetId::EMPTY))
}

/// All who want some key.
fn wanted(runs: &[Keys<'_>], sets: &SetTable) -> SetId {
    let wanted = runs.iter().map(|(keys, own)| own.wanted(keys.len(), sets));
    wanted.fold(SetId::EMPTY, |all, set| sets.union(all, set))
}

/// A bit for each place, and a word beyond.
fn no_bits(places: usize) -> Vec<u64> {
    vec![0; places.div_ceil(64) + 1]
}

fn bits(runs: &[Keys<'_>], least: i64, places: u64) -> Vec<u64> {
    let mut bits = no_bits(places as usize);
    for (keys, _) in runs {
        for_each_integer(keys, |_, key| {
            let place = key.wrapping_sub(least) as usize;
            bits[place / 64] |= 1 << (place % 64);
        });
    }
    bits
}

fn numbers(
    runs: &[Keys<'_>],
    least: i64,
    places: u64,
    joining: SetId,
    others: SetId,
    sets: &SetTable,
) -> Option<Marks> {
    let (mut numbers, mut bits) = (vec![0u16; places as usize], no_bits(places as usize));
    let mut known = vec![others];
    let mut by_id: HashMap<SetId, u16> = HashMap::from([(others, 0)]);
    // Of a number and a further set, the number of their union; 0 with nobody is 0.
    let mut unions: HashMap<(u16, SetId), u16> = HashMap::new();
    let mut lately = Recall::new(0, 0);
    for (keys, own) in runs {
        let ids = own.ids(keys.len(), sets);
        let mut failed = false;
        for_each_integer(keys, |row, key| {
            let place = key.wrapping_sub(least) as usize;
            let number = &mut numbers[place];
            let mut union = || {
                let wanted = sets.intersect(ids[row], joining);
                let union = sets.union(known[usize::from(*number)], wanted);
                *by_id.entry(union).or_insert_with(|| {
                    known.push(union);
                    failed |= known.len() > MOST_SETS;
                    (known.len() - 1) as u16
                })
            };
            let pair = u64::from(*number) << 32 | u64::from(ids[row].0);
            *number =
                lately.get(pair, || *unions.entry((*number, ids[row])).or_insert_with(&mut union));
            bits[place / 64] |= u64::from(*number != 0) << (place % 64);
        });
        if failed {
            return None;
        }
    }
    Some(Marks::Sets(numbers, known, bits))
}

/// The smallest and the largest key.
fn range(keys: &ArrayRef) -> Option<(i64, i64)> {
    let mut range: Option<(i64, i64)> = None;
    for_each_integer(keys, |_, key| {
        let (least, most) = range.unwrap_or((key, key));
        range = Some((least.min(key), most.max(key)));
    });
    range
}

/// The place of what is no key of anybody.
const NOWHERE: u64 = u64::MAX;

/// Calls `visit` with each block of rows and how far each row's key lies above `least`: places beyond all keys for those that
/// lie below it and for NULL.
#[inline(always)]
fn for_each_block_of_keys(
    column: &ColumnSlice<'_>,
    rows: Rows<'_>,
    least: i64,
    mut visit: impl FnMut(Block<'_>, &[u64]),
) {
    let mut places = [NOWHERE; BLOCK];
    for block in rows.blocks() {
        let places = &mut places[..block.len()];
        places_of_block(column, block, least, places);
        visit(block, places);
    }
}

fn places_of_block(column: &ColumnSlice<'_>, block: Block<'_>, least: i64, places: &mut [u64]) {
    match column {
        ColumnSlice::Int16(values, _) => distances(values, block, 0, least, places),
        ColumnSlice::Int32(values, _) => distances(values, block, 0, least, places),
        ColumnSlice::Int64(values, _) => distances(values, block, 0, least, places),
        ColumnSlice::Framed(base, values, _) => each_width!(*values, values => {
            distances(values, block, *base, least, places);
        }),
        ColumnSlice::Constant(value, _) => {
            let key = match value {
                Value::SmallInt(value) => Some(i64::from(*value)),
                Value::Integer(value) | Value::Date(value) => Some(i64::from(*value)),
                Value::BigInt(value) => Some(*value),
                _ => None,
            };
            places.fill(key.map_or(NOWHERE, |key| key.wrapping_sub(least) as u64));
        }
        other => unreachable!("{other:?} has no key of an array"),
    }
    let nulls = column.nulls();
    if !matches!(nulls, Nulls::None) {
        for (index, place) in places.iter_mut().enumerate() {
            if nulls.is_null(block.offset(index)) {
                *place = NOWHERE;
            }
        }
    }
}

/// How far `base` and each row's value lie above `least`.
fn distances<T: Copy + Default + Into<i64>>(
    values: &[T],
    block: Block<'_>,
    base: i64,
    least: i64,
    places: &mut [u64],
) {
    let added = base.wrapping_sub(least);
    let mut room = [T::default(); BLOCK];
    let values = block.values(values, &mut room).iter();
    places.iter_mut().zip(values).for_each(|(place, &value)| {
        *place = value.into().wrapping_add(added) as u64;
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int32Array;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::types::Slot;

    /// Sets of `rows` rows in some encoding.
    fn random_sets(random: &mut StdRng, rows: usize, sets: &SetTable) -> QuerySets {
        let mut set = |_| {
            let slots = (0..sets.slots() as u32).filter(|_| random.random_bool(0.4)).map(Slot);
            sets.intern_slots(slots.collect::<Vec<_>>())
        };
        match rows % 3 {
            0 => QuerySets::Uniform(set(0)),
            1 => QuerySets::Uniform(sets.all()),
            _ => QuerySets::Interned((0..rows).map(set).collect()),
        }
    }

    fn random_keys(random: &mut StdRng, count: usize) -> Vec<Option<i32>> {
        let key = |_| random.random_bool(0.9).then(|| random.random_range(-20..60));
        (0..count).map(key).collect()
    }

    /// The pairs of a row and a slot that are left, asked one by one.
    fn twin(
        wanted: &[(Option<i32>, Slot)],
        joining: &[Slot],
        rows: &[(u32, Option<i32>, Slot)],
    ) -> Vec<(u32, Slot)> {
        let passes = |(_, key, slot): &&(u32, Option<i32>, Slot)| {
            !joining.contains(slot) || (key.is_some() && wanted.contains(&(*key, *slot)))
        };
        rows.iter().filter(passes).map(|(row, _, slot)| (*row, *slot)).collect()
    }

    fn pairs(rows: &[u32], own: &QuerySets, sets: &SetTable) -> Vec<(u32, Slot)> {
        let mut pairs = Vec::new();
        for (place, &row) in rows.iter().enumerate() {
            own.row(place).for_each(sets, |slot| pairs.push((row, slot)));
        }
        pairs
    }

    fn round(seed: u64) {
        let mut random = StdRng::seed_from_u64(seed);
        let sets = SetTable::new([1, 3, 70][seed as usize % 3]);
        let all: Vec<Slot> = sets.members(sets.all()).collect();
        let share = [0.7, 1.0][seed as usize % 2];
        let joining: Vec<Slot> =
            all.iter().copied().filter(|_| random.random_bool(share)).collect();
        let runs: Vec<(Vec<Option<i32>>, QuerySets)> = (0..random.random_range(0..4))
            .map(|_| {
                let count = random.random_range(0..30);
                (random_keys(&mut random, count), random_sets(&mut random, count, &sets))
            })
            .collect();
        let mut wanted = Vec::new();
        for (keys, own) in &runs {
            for (place, key) in keys.iter().enumerate() {
                own.row(place).for_each(&sets, |slot| wanted.push((*key, slot)));
            }
        }
        let arrays: Vec<ArrayRef> =
            runs.iter().map(|(keys, _)| Arc::new(Int32Array::from(keys.clone())) as _).collect();
        let keys: Vec<Keys<'_>> = arrays.into_iter().zip(runs.iter().map(|(_, own)| own)).collect();
        let joined = sets.intern_slots(joining.iter().copied());
        let filter = KeyFilter::new(&keys, joined, &sets, 0).expect("keys lie close together");

        let column = random_keys(&mut random, 100);
        let rows: Vec<u32> = (0..100).filter(|_| random.random_bool(0.8)).collect();
        let own = random_sets(&mut random, rows.len(), &sets);
        let before = pairs(&rows, &own, &sets);
        let keyed: Vec<(u32, Option<i32>, Slot)> =
            before.iter().map(|(row, slot)| (*row, column[*row as usize], *slot)).collect();
        let values: Vec<i32> = column.iter().map(|key| key.unwrap_or(7)).collect();
        let words: Vec<std::sync::atomic::AtomicU64> = (0..2)
            .map(|word| {
                let rows = column.iter().enumerate().skip(word * 64).take(64);
                let null =
                    |(row, key): (usize, &Option<i32>)| u64::from(key.is_none()) << (row % 64);
                std::sync::atomic::AtomicU64::new(rows.map(null).sum())
            })
            .collect();
        let slice = ColumnSlice::Int32(&values, Nulls::Bits(&words));
        let expected = twin(&wanted, &joining, &keyed);
        if filter.comes_first() {
            let kept = filter.look_up(&slice, Rows::Some(&rows));
            let place = |row| rows.binary_search(row).expect("one of the rows") as u32;
            let own = own.take(&kept.iter().map(place).collect::<Vec<_>>());
            let found = ChunkRows { rows: kept, sets: own, errors: Vec::new() };
            let known = filter.narrow_known(&slice, found, &sets);
            assert_eq!(pairs(&known.rows, &known.sets, &sets), expected, "seed {seed}");
        }
        let found = ChunkRows { rows, sets: own, errors: Vec::new() };
        let narrowed = filter.narrow(&slice, found, &sets);
        assert_eq!(pairs(&narrowed.rows, &narrowed.sets, &sets), expected, "seed {seed}");
    }

    #[test]
    fn rows_are_left_to_those_who_can_join_them() {
        (0..600).for_each(round);
    }

    #[test]
    fn keys_too_far_apart_make_no_filter() {
        let sets = SetTable::new(1);
        let own = QuerySets::Uniform(sets.all());
        let keys: ArrayRef = Arc::new(Int32Array::from(vec![i32::MIN, i32::MAX]));
        assert!(KeyFilter::new(&[(keys, &own)], sets.all(), &sets, 1 << 28).is_none());
    }

    #[test]
    fn keys_far_apart_pass_for_all_who_want_some() {
        let sets = SetTable::new(3);
        let set = |slots: &[u32]| sets.intern_slots(slots.iter().copied().map(Slot));
        let (one, both, all) = (set(&[0]), set(&[0, 1]), sets.all());
        let own = QuerySets::Interned(vec![one, both]);
        let span = 1 << 24;
        let keys: ArrayRef = Arc::new(Int32Array::from(vec![5, 5 + span]));
        let keys = [(keys, &own)];
        assert!(KeyFilter::new(&keys, both, &sets, span as u64 / BITS_PER_ROW).is_none());
        let filter = KeyFilter::new(&keys, both, &sets, span as u64).expect("many rows are asked");
        let values = [4, 5, 6, 5 + span, 6 + span];
        let found = ChunkRows {
            rows: (0..values.len() as u32).collect(),
            sets: QuerySets::Uniform(all),
            errors: Vec::new(),
        };
        let kept = filter.narrow(&ColumnSlice::Int32(&values, Nulls::None), found, &sets);
        assert_eq!(kept.rows, [0, 1, 2, 3, 4], "the third slot takes all");
        assert_eq!(kept.sets.ids(5, &sets), [set(&[2]), all, set(&[2]), all, set(&[2])]);
    }

    #[test]
    fn a_filter_that_drops_nothing_is_not_asked_any_more() {
        let sets = SetTable::new(1);
        let own = QuerySets::Uniform(sets.all());
        let keys: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let filter = KeyFilter::new(&[(keys, &own)], sets.all(), &sets, 0).expect("two keys");
        let all = |value| {
            let values = vec![value; TRIAL_ROWS + 1];
            let rows = (0..=TRIAL_ROWS as u32).collect();
            let found = ChunkRows { rows, sets: own.clone(), errors: Vec::new() };
            filter.narrow(&ColumnSlice::Int32(&values, Nulls::None), found, &sets).rows.len()
        };
        assert_eq!([all(1), all(3)], [TRIAL_ROWS + 1; 2]);
    }
}
