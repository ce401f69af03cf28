//! A word per key: where sets are words and bounds lie close together, a row's set is narrowed by one look-up and one AND,
//! and no number of a set comes between.

use super::super::blocks::BLOCK;
use super::super::rows::Rows;
use super::ranks::of_integers;
use crate::query_set::{SetId, SetTable};
use crate::storage::{ColumnSlice, each_width};

/// Most keys: 64 KiB, an eighth of a core's second cache.
const MOST_KEYS: usize = 1 << 13;

/// The sets of keys that lie close together.
#[derive(Debug)]
pub struct WordTable {
    /// Keys up to this one have the first word,
    least: i64,
    /// and keys from this one on the last.
    most: i64,
    words: Vec<u64>,
}

impl WordTable {
    /// The sets of the keys from `first` on, and of those below and above; `None` where these are too many, or a set is more
    /// than a word.
    pub fn of(
        first: i64,
        sets: &[SetId],
        (below, above): (SetId, SetId),
        table: &SetTable,
    ) -> Option<WordTable> {
        if table.word_count() != 1 || sets.len() > MOST_KEYS {
            return None;
        }
        let (least, most) = (first.checked_sub(1)?, first.checked_add(sets.len() as i64)?);
        let all = [below].into_iter().chain(sets.iter().copied()).chain([above]);
        Some(WordTable { least, most, words: all.map(|set| table.words(set)[0]).collect() })
    }

    #[inline(always)]
    fn word(&self, key: i64) -> u64 {
        self.words[(key.clamp(self.least, self.most) - self.least) as usize]
    }

    /// Narrows each row's set to that of its key; `false` for columns other than of integers. No row is NULL.
    pub fn narrow(&self, column: &ColumnSlice<'_>, rows: Rows<'_>, words: &mut [u64]) -> bool {
        of_integers!(column, base, values => self.narrow_by(values, base, rows, words))
    }

    fn narrow_by<T: Copy + Into<i64>>(
        &self,
        values: &[T],
        base: i64,
        rows: Rows<'_>,
        words: &mut [u64],
    ) {
        let key = |row: usize| base + values[row].into();
        let mut words = words.iter_mut();
        rows.for_each(|row| *words.next().expect("a word for each row") &= self.word(key(row)));
    }

    /// Appends the rows whose key a slot of `wanted` wants; `false` for columns other than of integers. No row is NULL.
    pub fn select(
        &self,
        column: &ColumnSlice<'_>,
        rows: Rows<'_>,
        wanted: u64,
        out: &mut Vec<u32>,
    ) -> bool {
        of_integers!(column, base, values => self.select_by(values, base, rows, wanted, out))
    }

    fn select_by<T: Copy + Default + Into<i64>>(
        &self,
        values: &[T],
        base: i64,
        rows: Rows<'_>,
        wanted: u64,
        out: &mut Vec<u32>,
    ) {
        let (mut room, mut truths) = ([T::default(); BLOCK], [0u8; BLOCK]);
        for block in rows.blocks() {
            let truths = &mut truths[..block.len()];
            let values = block.values(values, &mut room);
            truths.iter_mut().zip(values).for_each(|(truth, &value)| {
                *truth = u8::from(self.word(base + value.into()) & wanted != 0);
            });
            block.append_where(truths, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{Nulls, Unsigned};
    use crate::types::Slot;

    fn check(column: &ColumnSlice<'_>, rows: Rows<'_>, key: impl Fn(usize) -> i64) {
        let table = SetTable::new(64);
        let set = |key: i64| match key {
            ..10 => table.singleton(Slot(63)),
            60.. => table.intern(&[0]),
            _ => table.intern(&[(key % 3) as u64 * 5]),
        };
        let sets: Vec<SetId> = (10..60).map(set).collect();
        let words = WordTable::of(10, &sets, (set(9), set(60)), &table).expect("few keys");
        let word = |row: usize| table.words(set(key(row)))[0];
        let mut narrowed = vec![!1; rows.len()];
        assert!(words.narrow(column, rows, &mut narrowed));
        let expected: Vec<u64> =
            (0..rows.len()).map(|index| word(rows.offset(index)) & !1).collect();
        assert_eq!(narrowed, expected);
        let wanted = 1 << 63 | 2 | 8;
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        assert!(words.select(column, rows, wanted, &mut found));
        rows.select(&mut expected, |row| word(row) & wanted != 0);
        assert_eq!(found, expected);
    }

    #[test]
    fn keys_inside_and_outside_have_their_sets_in_every_width() {
        let numbers: Vec<i64> = (0..3000).map(|row| row * 7919 % 101 - 20).collect();
        let ends: Vec<i64> = [i64::MIN, i64::MAX, 9, 10, 59, 60].repeat(3);
        let some: Vec<u32> = (0..3000).filter(|row| row % 3 == 0).collect();
        let bytes: Vec<u8> = numbers.iter().map(|&n| (n + 20) as u8).collect();
        for rows in [Rows::All(3000), Rows::Some(&some)] {
            check(&ColumnSlice::Int64(&numbers, Nulls::None), rows, |row| numbers[row]);
            let framed = ColumnSlice::Framed(-20, Unsigned::Bits8(&bytes), Nulls::None);
            check(&framed, rows, |row| numbers[row]);
        }
        check(&ColumnSlice::Int64(&ends, Nulls::None), Rows::All(18), |row| ends[row]);
    }

    #[test]
    fn keys_at_the_end_of_all_keys_have_no_table() {
        let table = SetTable::new(2);
        let sets = [SetId::EMPTY; 2];
        assert!(WordTable::of(i64::MIN, &sets, (SetId::EMPTY, sets[0]), &table).is_none());
        assert!(WordTable::of(i64::MAX - 1, &sets, (SetId::EMPTY, sets[0]), &table).is_none());
        let wide = SetTable::new(65);
        assert!(WordTable::of(0, &sets, (SetId::EMPTY, sets[0]), &wide).is_none());
    }
}
