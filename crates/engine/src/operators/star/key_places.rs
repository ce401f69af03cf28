//! Keys in a chunk to places in a dimension's arrays: a subtraction and a comparison.

use crate::storage::{ColumnSlice, Nulls};
use crate::types::Value;

/// The keys `least..least + span` have the places `1..=span`; all others, and NULL, have place 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyRange {
    /// The smallest key.
    pub least: i64,
    /// How many keys there may be.
    pub span: u64,
}

impl KeyRange {
    /// The place of a key.
    #[inline(always)]
    pub fn place(self, key: i64) -> u32 {
        let offset = (key as u64).wrapping_sub(self.least as u64);
        if offset < self.span { offset as u32 + 1 } else { 0 }
    }
}

/// Overwrites `places` with those of the keys of `rows`.
pub fn places(keys: &ColumnSlice<'_>, rows: &[u32], range: KeyRange, places: &mut Vec<u32>) {
    places.clear();
    match *keys {
        ColumnSlice::Int32(values, _) => {
            places.extend(rows.iter().map(|&row| range.place(i64::from(values[row as usize]))));
        }
        ColumnSlice::Int64(values, _) => {
            places.extend(rows.iter().map(|&row| range.place(values[row as usize])));
        }
        ColumnSlice::Int16(values, _) => {
            places.extend(rows.iter().map(|&row| range.place(i64::from(values[row as usize]))));
        }
        ColumnSlice::Constant(value, _) => {
            places.resize(rows.len(), integer(value).map_or(0, |key| range.place(key)));
        }
        _ => unreachable!("a dimension's key is an integer or a date"),
    }
    let nulls = keys.nulls();
    if !matches!(nulls, Nulls::None) {
        for (place, &row) in places.iter_mut().zip(rows) {
            if nulls.is_null(row as usize) {
                *place = 0;
            }
        }
    }
}

fn integer(value: &Value) -> Option<i64> {
    match *value {
        Value::SmallInt(value) => Some(i64::from(value)),
        Value::Integer(value) | Value::Date(value) => Some(i64::from(value)),
        Value::BigInt(value) => Some(value),
        _ => None,
    }
}
