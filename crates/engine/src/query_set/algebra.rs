//! Row-wise set algebra between two columns of sets: CJOIN's filter, outer and anti joins, union.
//!
//! Interned sets meet through a small memo of pairs of ids. Where most pairs are new (two columns with many
//! distinct sets each) a memo costs more than the words themselves, so the column turns into bitmaps.

use super::{QuerySets, SetId, SetTable, one_word, words};
use crate::types::Slot;

/// Entries of a kernel's own memo: 12 bytes each, so that it stays in the core's first cache.
const MEMO_ENTRIES: usize = 1024;
/// After so many rows a kernel looks at how often its memo failed.
const TRIAL_ROWS: usize = 512;

/// One row-wise operation, in the three shapes that kernels need.
#[derive(Clone, Copy)]
struct Algebra {
    ids: fn(&SetTable, SetId, SetId) -> SetId,
    words: fn(&mut [u64], &[u64]),
    /// Of sets that are a word each, rows of another column with them.
    word: fn(&mut [u64], &QuerySets, &SetTable),
}

const INTERSECT: Algebra = Algebra {
    ids: SetTable::intersect,
    words: words::intersect_into,
    word: |words, other, table| one_word::combine(words, other, table, |a, b| a & b),
};
const UNION: Algebra = Algebra {
    ids: SetTable::union,
    words: words::union_into,
    word: |words, other, table| one_word::combine(words, other, table, |a, b| a | b),
};
const SUBTRACT: Algebra = Algebra {
    ids: SetTable::difference,
    words: words::subtract_into,
    word: |words, other, table| one_word::combine(words, other, table, |a, b| a & !b),
};

impl QuerySets {
    /// Row by row, slots that are in both columns. The result may have rows with empty sets.
    pub fn intersect(&self, other: &QuerySets, rows: usize, table: &SetTable) -> QuerySets {
        match (self, other) {
            (_, QuerySets::Uniform(id)) if *id == table.all() => self.clone(),
            (QuerySets::Uniform(id), _) if *id == table.all() => other.clone(),
            (QuerySets::Single(slots), _) => keep_singles(slots, other, table),
            (_, QuerySets::Single(slots)) => keep_singles(slots, self, table),
            (QuerySets::Pairs { .. }, _) => keep_pairs(self, other, rows, table),
            (_, QuerySets::Pairs { .. }) => keep_pairs(other, self, rows, table),
            _ => combine(self, other, rows, table, INTERSECT),
        }
    }

    /// Row by row, slots that are in the column and in the set `ids[row]`: a row's own set AND its dimension
    /// row's (CJOIN).
    pub fn intersect_ids(&self, ids: &[SetId], table: &SetTable) -> QuerySets {
        match self {
            QuerySets::Uniform(all) if *all == table.all() => QuerySets::Interned(ids.to_vec()),
            QuerySets::Interned(own) => combine_ids(own, ids, table, INTERSECT),
            QuerySets::Bitmaps { words_per_row, words } => {
                let mut words = words.clone();
                if *words_per_row == 1 {
                    one_word::intersect_ids(&mut words, ids, table);
                } else if *words_per_row > 0 {
                    for (set, &id) in words.chunks_exact_mut(*words_per_row).zip(ids) {
                        words::intersect_into(set, table.words(id));
                    }
                }
                QuerySets::Bitmaps { words_per_row: *words_per_row, words }
            }
            _ => self.intersect(&QuerySets::Interned(ids.to_vec()), ids.len(), table),
        }
    }

    /// Like [`Self::intersect_ids`], and drops the rows that nobody wants any more: the positions of those that
    /// stay (`None` for all of them) and their sets. What a scan does for every column where a set is more than a word.
    pub fn meet(self, ids: &[SetId], table: &SetTable) -> (Option<Vec<u32>>, QuerySets) {
        let sets = match &self {
            QuerySets::Uniform(all) if *all == table.all() => QuerySets::Interned(ids.to_vec()),
            QuerySets::Uniform(set) => combine_uniform(ids, *set, table, INTERSECT),
            QuerySets::Interned(own) => match combine_ids_by_memo(own, ids, table, INTERSECT) {
                Some(sets) => sets,
                None => return meet_words(own, ids, table),
            },
            _ => self.intersect_ids(ids, table),
        };
        sets.only_wanted(ids.len())
    }

    /// The same set AND every row's.
    pub fn restrict(&self, id: SetId, rows: usize, table: &SetTable) -> QuerySets {
        self.intersect(&QuerySets::Uniform(id), rows, table)
    }

    /// Row by row, slots that are in either column.
    pub fn union(&self, other: &QuerySets, rows: usize, table: &SetTable) -> QuerySets {
        combine(self, other, rows, table, UNION)
    }

    /// Row by row, slots that are in this column and not in the other (anti join, the NULL side of outer joins).
    pub fn difference(&self, other: &QuerySets, rows: usize, table: &SetTable) -> QuerySets {
        combine(self, other, rows, table, SUBTRACT)
    }

    /// The union of the sets of each group's rows: `groups[row]` is below `group_count`. Semi joins, DISTINCT
    /// and outer joins ask it: who found a partner for which left row.
    pub fn union_by(&self, groups: &[u32], group_count: usize, table: &SetTable) -> QuerySets {
        if let QuerySets::Uniform(id) = self {
            let mut sets = vec![SetId::EMPTY; group_count];
            groups.iter().for_each(|&group| sets[group as usize] = *id);
            return QuerySets::Interned(sets);
        }
        let width = table.word_count();
        let mut words = vec![0; group_count * width];
        if let QuerySets::Bitmaps { words_per_row: 1, words: own } = self {
            own.iter().zip(groups).for_each(|(word, &group)| words[group as usize] |= word);
            return QuerySets::Bitmaps { words_per_row: 1, words }.compact(group_count, table);
        }
        for (row, &group) in groups.iter().enumerate() {
            let target = &mut words[group as usize * width..][..width];
            self.row(row).union_into(target, table);
        }
        QuerySets::Bitmaps { words_per_row: width, words }.compact(group_count, table)
    }
}

fn combine(
    a: &QuerySets,
    b: &QuerySets,
    rows: usize,
    table: &SetTable,
    algebra: Algebra,
) -> QuerySets {
    match (a, b) {
        (QuerySets::Uniform(x), QuerySets::Uniform(y)) => {
            QuerySets::Uniform((algebra.ids)(table, *x, *y))
        }
        (QuerySets::Interned(x), QuerySets::Interned(y)) => combine_ids(x, y, table, algebra),
        (QuerySets::Interned(x), QuerySets::Uniform(y)) => combine_uniform(x, *y, table, algebra),
        _ => combine_words(a, b, rows, table, algebra),
    }
}

fn combine_words(
    a: &QuerySets,
    b: &QuerySets,
    rows: usize,
    table: &SetTable,
    algebra: Algebra,
) -> QuerySets {
    let width = table.word_count();
    let mut words = a.bitmaps(rows, table);
    if width == 1 {
        (algebra.word)(&mut words, b, table);
    } else if width > 0 {
        let mut scratch = vec![0; width];
        for (row, target) in words.chunks_exact_mut(width).enumerate() {
            scratch.fill(0);
            b.row(row).union_into(&mut scratch, table);
            (algebra.words)(target, &scratch);
        }
    }
    QuerySets::Bitmaps { words_per_row: width, words }
}

fn combine_uniform(a: &[SetId], b: SetId, table: &SetTable, algebra: Algebra) -> QuerySets {
    let mut memo = Memo::new(a.len());
    QuerySets::Interned(a.iter().map(|&a| memo.get(a, b, table, algebra)).collect())
}

fn combine_ids(a: &[SetId], b: &[SetId], table: &SetTable, algebra: Algebra) -> QuerySets {
    combine_ids_by_memo(a, b, table, algebra)
        .unwrap_or_else(|| combine_ids_as_words(a, b, table, algebra))
}

/// `None` where the memo does not pay.
fn combine_ids_by_memo(
    a: &[SetId],
    b: &[SetId],
    table: &SetTable,
    algebra: Algebra,
) -> Option<QuerySets> {
    debug_assert_eq!(a.len(), b.len());
    let mut memo = Memo::new(a.len());
    let mut ids = Vec::with_capacity(a.len());
    for (row, (&x, &y)) in a.iter().zip(b).enumerate() {
        ids.push(memo.get(x, y, table, algebra));
        if row == TRIAL_ROWS && (memo.misses > TRIAL_ROWS / 2 || table.crowded()) {
            return None;
        }
    }
    Some(QuerySets::Interned(ids))
}

/// Intersects word by word and writes down only what is left, as pairs: two columns with many distinct sets
/// each have small intersections.
fn meet_words(a: &[SetId], b: &[SetId], table: &SetTable) -> (Option<Vec<u32>>, QuerySets) {
    let words = WordsById::new(a.iter().chain(b), table);
    let (mut kept, mut offsets, mut slots) = (Vec::new(), vec![0], Vec::new());
    for (row, (&a, &b)) in a.iter().zip(b).enumerate() {
        let before = slots.len();
        for (word, (a, b)) in words.get(a).iter().zip(words.get(b)).enumerate() {
            let mut rest = a & b;
            while rest != 0 {
                slots.push(Slot((word * 64) as u32 + rest.trailing_zeros()));
                rest &= rest - 1;
            }
        }
        if slots.len() > before {
            kept.push(row as u32);
            offsets.push(slots.len() as u32);
        }
    }
    let kept = (kept.len() < a.len()).then_some(kept);
    (kept, QuerySets::Pairs { offsets, slots })
}

/// The words of the sets that a column uses, one look-up away.
struct WordsById<'a> {
    words: Vec<&'a [u64]>,
}

impl<'a> WordsById<'a> {
    fn new<'b>(ids: impl Iterator<Item = &'b SetId>, table: &'a SetTable) -> WordsById<'a> {
        let mut words: Vec<&[u64]> = Vec::new();
        for id in ids {
            if id.index() >= words.len() {
                words.resize(id.index() + 1, &[]);
            }
            if words[id.index()].is_empty() {
                words[id.index()] = table.words(*id);
            }
        }
        WordsById { words }
    }

    #[inline]
    fn get(&self, id: SetId) -> &'a [u64] {
        self.words[id.index()]
    }
}

fn combine_ids_as_words(a: &[SetId], b: &[SetId], table: &SetTable, algebra: Algebra) -> QuerySets {
    let width = table.word_count();
    let mut words = Vec::with_capacity(a.len() * width);
    for (&a, &b) in a.iter().zip(b) {
        let start = words.len();
        words.extend_from_slice(table.words(a));
        (algebra.words)(&mut words[start..], table.words(b));
    }
    QuerySets::Bitmaps { words_per_row: width, words }
}

/// The last results of a kernel, by a hash of the pair: saves the shared memo's lock.
struct Memo {
    entries: Vec<(SetId, SetId, SetId)>,
    misses: usize,
}

impl Memo {
    fn new(rows: usize) -> Memo {
        // The empty set meets itself in the empty set under all operations: a valid entry to start with.
        let empty = (SetId::EMPTY, SetId::EMPTY, SetId::EMPTY);
        let entries = rows.next_power_of_two().clamp(1, MEMO_ENTRIES);
        Memo { entries: vec![empty; entries], misses: 0 }
    }

    #[inline]
    fn get(&mut self, a: SetId, b: SetId, table: &SetTable, algebra: Algebra) -> SetId {
        let hash = a.0.wrapping_mul(0x9E37_79B1) ^ b.0.wrapping_mul(0x85EB_CA77);
        let mask = self.entries.len() - 1;
        let entry = &mut self.entries[(hash >> 16 ^ hash) as usize & mask];
        if (entry.0, entry.1) != (a, b) {
            *entry = (a, b, (algebra.ids)(table, a, b));
            self.misses += 1;
        }
        entry.2
    }
}

fn keep_singles(slots: &[Slot], other: &QuerySets, table: &SetTable) -> QuerySets {
    let rows = slots.iter().enumerate();
    match other {
        QuerySets::Bitmaps { words_per_row: 1, words } => keep_where(
            slots,
            || rows.clone().map(|(row, slot)| words[row] >> slot.0 & 1 == 1),
            table,
        ),
        QuerySets::Single(others) => {
            keep_where(slots, || rows.clone().map(|(row, slot)| others[row] == *slot), table)
        }
        other => {
            let contains = |(row, slot): (usize, &Slot)| other.row(row).contains(*slot, table);
            keep_where(slots, || rows.clone().map(contains), table)
        }
    }
}

/// Of each row's slot nothing where `is_kept` says no.
#[inline(always)]
fn keep_where<I: Iterator<Item = bool>>(
    slots: &[Slot],
    is_kept: impl Fn() -> I,
    table: &SetTable,
) -> QuerySets {
    if is_kept().fold(true, |all, own| all & own) {
        return QuerySets::Single(slots.to_vec());
    }
    let kept = slots.iter().zip(is_kept());
    let set = |(&slot, is_kept): (&Slot, bool)| match is_kept {
        true => table.singleton(slot),
        false => SetId::EMPTY,
    };
    QuerySets::Interned(kept.map(set).collect())
}

fn keep_pairs(pairs: &QuerySets, other: &QuerySets, rows: usize, table: &SetTable) -> QuerySets {
    let mut offsets = Vec::with_capacity(rows + 1);
    let mut slots = Vec::new();
    offsets.push(0);
    for row in 0..rows {
        let set = other.row(row);
        pairs.row(row).for_each(table, |slot| {
            if set.contains(slot, table) {
                slots.push(slot);
            }
        });
        offsets.push(slots.len() as u32);
    }
    QuerySets::Pairs { offsets, slots }
}
