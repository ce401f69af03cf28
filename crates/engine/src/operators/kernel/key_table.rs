//! Keys of any number of columns to dense ids: one table look-up per column and row, on 64-bit codes.

use arrow_array::ArrayRef;

use super::codes::{Codes, Interner, UNKNOWN};
use super::{DenseIds, NO_ID};

/// Distinct keys, numbered from 0 in order of first appearance. Column after column, the id of the key so far
/// and the next column's code give the next id, so that every step is a look-up of one number.
#[derive(Debug, Default)]
pub struct KeyTable {
    steps: Vec<Step>,
}

#[derive(Debug, Default)]
struct Step {
    interner: Interner,
    ids: DenseIds,
}

/// Set in the prefix of keys whose column is NULL; so a table holds at most 2^31 keys.
const NULL: u32 = 1 << 31;

/// Entries of the memo of longer keys.
const MEMO: usize = 256;

impl KeyTable {
    /// For keys of `columns` columns; `scales` are the digits after the point to which decimal columns are
    /// brought, 0 for others.
    pub fn new(scales: impl IntoIterator<Item = u8>) -> KeyTable {
        let step = |scale| Step { interner: Interner::new(scale), ..Step::default() };
        KeyTable { steps: scales.into_iter().map(step).collect() }
    }

    /// Distinct keys so far.
    pub fn len(&self) -> usize {
        self.steps.last().map_or(0, |step| step.ids.len())
    }

    /// Ids of the rows' keys, new ones where they have none. NULL is a value here, equal to itself.
    pub fn insert(&mut self, columns: &[ArrayRef]) -> Vec<u32> {
        debug_assert_eq!(columns.len(), self.steps.len());
        let mut keys: Vec<u32> = Vec::new();
        for (step, array) in self.steps.iter_mut().zip(columns) {
            let codes = step.interner.insert(array);
            step.insert(&codes, &mut keys);
        }
        keys
    }

    /// Like [`Self::insert`] for keys of one column that are already codes.
    pub fn insert_codes(&mut self, codes: &Codes) -> Vec<u32> {
        let mut keys = Vec::new();
        self.steps[0].insert(codes, &mut keys);
        keys
    }

    /// Ids of the rows' keys; [`NO_ID`] for keys never inserted and for keys with a NULL: those equal nothing.
    pub fn find(&self, columns: &[ArrayRef]) -> Vec<u32> {
        let mut keys: Vec<u32> = Vec::new();
        for (step, array) in self.steps.iter().zip(columns) {
            let codes = step.interner.find(array);
            step.find(&codes, Interner::wide(array), &mut keys);
        }
        keys
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.steps.iter().map(Step::memory).sum()
    }
}

impl Step {
    fn insert(&mut self, codes: &Codes, keys: &mut Vec<u32>) {
        let is_first = keys.is_empty();
        let mut ends = (0, 0);
        if is_first {
            ends = least_and_most(&codes.codes);
            self.ids.expect(codes.codes.len(), ends.0, ends.1);
            keys.resize(codes.codes.len(), 0);
        }
        match &codes.nulls {
            None if is_first && self.ids.insert_all(&codes.codes, ends, keys) => {}
            None if is_first => {
                // Rows of a key often follow each other, as those of an order do.
                let mut last = (0, NO_ID);
                for (key, &code) in keys.iter_mut().zip(&codes.codes) {
                    if last.1 == NO_ID || last.0 != code {
                        last = (code, self.ids.insert(0, code));
                    }
                    *key = last.1;
                }
            }
            None => self.insert_all(keys.iter_mut().zip(codes.codes.iter().copied())),
            Some(nulls) => {
                for ((key, &code), valid) in keys.iter_mut().zip(&codes.codes).zip(nulls.iter()) {
                    let (prefix, code) = if valid { (*key, code) } else { (*key | NULL, 0) };
                    *key = self.ids.insert(prefix, code);
                }
            }
        }
        assert!(self.ids.len() < NULL as usize, "a key table holds at most 2^31 keys");
    }

    /// Keys of few distinct values are found in a memo that stays in the first cache.
    fn insert_all<'a>(&mut self, keys: impl Iterator<Item = (&'a mut u32, u64)>) {
        let mut memo = [(0, 0, NO_ID); MEMO];
        for (key, code) in keys {
            let mixed = (code ^ (u64::from(*key) << 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let place = &mut memo[(mixed >> 32) as usize % MEMO];
            if place.2 == NO_ID || (place.0, place.1) != (*key, code) {
                *place = (*key, code, self.ids.insert(*key, code));
            }
            *key = place.2;
        }
    }

    fn find(&self, codes: &Codes, wide: bool, keys: &mut Vec<u32>) {
        if keys.is_empty() {
            keys.resize(codes.codes.len(), 0);
        }
        for (row, (key, &code)) in keys.iter_mut().zip(&codes.codes).enumerate() {
            if *key != NO_ID {
                let unknown = (wide && code == UNKNOWN) || codes.is_null(row);
                *key = if unknown { NO_ID } else { self.ids.find(*key, code) };
            }
        }
    }

    fn memory(&self) -> usize {
        self.interner.memory() + self.ids.memory()
    }
}

/// The smallest and the largest code, 0 and 0 of none. Four of each at a time: one would wait for the one before.
fn least_and_most(codes: &[u64]) -> (u64, u64) {
    let (mut least, mut most) = ([u64::MAX; 4], [0; 4]);
    let fours = codes.chunks_exact(4);
    for &code in fours.remainder() {
        (least[0], most[0]) = (least[0].min(code), most[0].max(code));
    }
    for four in fours {
        for (i, &code) in four.iter().enumerate() {
            (least[i], most[i]) = (least[i].min(code), most[i].max(code));
        }
    }
    let most = most.into_iter().fold(0, u64::max);
    (least.into_iter().fold(most, u64::min), most)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Decimal128Array, Float64Array, Int32Array, Int64Array, StringViewArray};

    use super::*;

    fn key(columns: &[&[Option<i32>]]) -> Vec<ArrayRef> {
        columns
            .iter()
            .map(|column| Arc::new(Int32Array::from(column.to_vec())) as ArrayRef)
            .collect()
    }

    #[test]
    fn null_is_a_group_of_its_own_and_joins_nothing() {
        let mut table = KeyTable::new([0, 0]);
        let rows =
            key(&[&[Some(1), None, Some(1), None, Some(2)], &[None, Some(3), None, Some(3), None]]);
        assert_eq!(table.insert(&rows), [0, 1, 0, 1, 2]);
        assert_eq!(table.len(), 3);
        assert_eq!(table.find(&rows), [NO_ID; 5]);
    }

    #[test]
    fn integers_of_all_widths_are_one_key() {
        let mut table = KeyTable::new([0]);
        let narrow: ArrayRef = Arc::new(Int32Array::from(vec![-1, 7]));
        let wide: ArrayRef = Arc::new(Int64Array::from(vec![7, -1, 1 << 40]));
        assert_eq!(table.insert(&[narrow]), [0, 1]);
        assert_eq!(table.find(&[wide]), [1, 0, NO_ID]);
    }

    #[test]
    fn zeros_and_nans_are_equal() {
        let mut table = KeyTable::new([0]);
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0, f64::NAN, -f64::NAN]));
        assert_eq!(table.insert(&[floats]), [0, 0, 1, 1]);
    }

    #[test]
    fn decimals_of_different_scales_are_equal_by_value() {
        let decimals = |values: Vec<i128>, scale| -> ArrayRef {
            Arc::new(Decimal128Array::from(values).with_precision_and_scale(38, scale).unwrap())
        };
        let mut table = KeyTable::new([2]);
        assert_eq!(table.insert(&[decimals(vec![150, 151], 2)]), [0, 1]);
        assert_eq!(table.find(&[decimals(vec![15, i128::MAX / 5], 1)]), [0, NO_ID]);
    }

    #[test]
    fn strings_and_numbers_make_one_key() {
        let mut table = KeyTable::new([0, 0]);
        let names: ArrayRef = Arc::new(StringViewArray::from(vec!["a", "b", "a", "a"]));
        let numbers = key(&[&[Some(1), Some(1), Some(2), Some(1)]]).remove(0);
        assert_eq!(table.insert(&[names, numbers.clone()]), [0, 1, 2, 0]);
        let others: ArrayRef = Arc::new(StringViewArray::from(vec!["b", "b", "c", "a"]));
        assert_eq!(table.find(&[others, numbers]), [1, 1, NO_ID, 0]);
    }
}
