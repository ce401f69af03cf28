//! Sets of at most 64 slots: a word is a whole set, and a column of such sets is a loop over words. Where one has to become
//! a number, or another set, few distinct ones are asked for again and again: a small memo answers for most rows.

use super::{QuerySets, RowSet, SetId, SetTable};

/// Entries of a memo: 16 bytes each, a fraction of the core's first cache.
const ENTRIES: usize = 256;

/// What sets were turned into lately, by a hash of them.
pub struct Recall<V> {
    entries: Vec<(u64, V)>,
}

impl<V: Copy> Recall<V> {
    /// Knows one answer.
    pub fn new(key: u64, value: V) -> Recall<V> {
        Recall { entries: vec![(key, value); ENTRIES] }
    }

    /// The answer for a set, by `make` where it is not remembered.
    #[inline]
    pub fn get(&mut self, key: u64, make: impl FnOnce() -> V) -> V {
        let place = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - ENTRIES.ilog2());
        let entry = &mut self.entries[place as usize];
        if entry.0 != key {
            *entry = (key, make());
        }
        entry.1
    }
}

/// The number of each set.
pub(super) fn ids_of_words(words: &[u64], table: &SetTable) -> Vec<SetId> {
    let mut known = Recall::new(0, SetId::EMPTY);
    words.iter().map(|&word| known.get(word, || table.intern(&[word]))).collect()
}

/// The members of each set.
fn words_of_ids(ids: &[SetId], table: &SetTable) -> impl Iterator<Item = u64> {
    let mut known = Recall::new(0, 0);
    ids.iter().map(move |&id| known.get(id.0.into(), || table.words(id)[0]))
}

/// Appends each row's set.
pub(super) fn append_words(sets: &QuerySets, rows: usize, table: &SetTable, out: &mut Vec<u64>) {
    match sets {
        QuerySets::Uniform(id) => out.resize(out.len() + rows, table.words(*id)[0]),
        QuerySets::Interned(ids) => out.extend(words_of_ids(&ids[..rows], table)),
        QuerySets::Bitmaps { words, .. } => out.extend_from_slice(&words[..rows]),
        QuerySets::Single(slots) => out.extend(slots[..rows].iter().map(|slot| 1 << slot.0)),
        QuerySets::Pairs { .. } => out.extend((0..rows).map(|row| match sets.row(row) {
            RowSet::List(slots) => slots.iter().fold(0, |set, slot| set | 1 << slot.0),
            _ => unreachable!("pairs are lists"),
        })),
    }
}

/// Each row's set and another's.
#[inline(always)]
pub(super) fn combine(
    words: &mut [u64],
    other: &QuerySets,
    table: &SetTable,
    of: impl Fn(u64, u64) -> u64,
) {
    match other {
        QuerySets::Uniform(id) => {
            let other = table.words(*id)[0];
            words.iter_mut().for_each(|word| *word = of(*word, other));
        }
        QuerySets::Interned(ids) => {
            let others = words.iter_mut().zip(words_of_ids(ids, table));
            others.for_each(|(word, other)| *word = of(*word, other));
        }
        QuerySets::Bitmaps { words: others, .. } => {
            words.iter_mut().zip(others).for_each(|(word, &other)| *word = of(*word, other));
        }
        QuerySets::Single(slots) => {
            words.iter_mut().zip(slots).for_each(|(word, slot)| *word = of(*word, 1 << slot.0));
        }
        QuerySets::Pairs { .. } => {
            let mut others = Vec::with_capacity(words.len());
            append_words(other, words.len(), table, &mut others);
            words.iter_mut().zip(others).for_each(|(word, other)| *word = of(*word, other));
        }
    }
}

/// Drops the rows that nobody wants: their sets from `words` and themselves from `rows`, where `None` are all. In place and
/// without a branch per row.
pub fn drop_unwanted(words: &mut Vec<u64>, rows: &mut Option<Vec<u32>>) {
    let unwanted = words.iter().map(|&word| usize::from(word == 0)).sum::<usize>();
    if unwanted == 0 {
        return;
    }
    let own = rows.get_or_insert_with(|| (0..words.len() as u32).collect());
    let own = &mut own[..words.len()];
    let mut kept = 0;
    for place in 0..own.len() {
        // `kept` never passes the rows looked at.
        let (word, row) = (words[place], own[place]);
        (words[kept], own[kept]) = (word, row);
        kept += usize::from(word != 0);
    }
    words.truncate(kept);
    rows.as_mut().expect("written above").truncate(kept);
}

/// Narrows each row's set to the members of another.
pub fn intersect_ids(words: &mut [u64], ids: &[SetId], table: &SetTable) {
    words.iter_mut().zip(words_of_ids(ids, table)).for_each(|(word, other)| *word &= other);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwanted_rows_are_dropped_with_their_sets() {
        let (mut words, mut rows) = (vec![0, 5, 0, 0, 7, 1], None);
        drop_unwanted(&mut words, &mut rows);
        assert_eq!((&words, &rows), (&vec![5, 7, 1], &Some(vec![1, 4, 5])));
        words[1] = 0;
        drop_unwanted(&mut words, &mut rows);
        assert_eq!((&words, &rows), (&vec![5, 1], &Some(vec![1, 5])));
        drop_unwanted(&mut words, &mut rows);
        assert_eq!((words, rows), (vec![5, 1], Some(vec![1, 5])));
        let (mut words, mut rows) = (vec![3; 4], None);
        drop_unwanted(&mut words, &mut rows);
        assert_eq!((words, rows), (vec![3; 4], None));
    }
}
