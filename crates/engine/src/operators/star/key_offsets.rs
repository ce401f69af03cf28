//! Keys in a chunk to places in a dimension's arrays: a subtraction and a comparison.

use crate::scan::Rows;
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
    pub fn place(self, key: i64) -> usize {
        let offset = (key as u64).wrapping_sub(self.least as u64);
        if offset < self.span { offset as usize + 1 } else { 0 }
    }
}

/// Calls `visit` with the position of each row and the place of its key. One loop per representation, so that each has
/// nothing to decide per row.
#[inline(always)]
pub fn for_each_place(
    keys: &ColumnSlice<'_>,
    rows: Rows<'_>,
    range: KeyRange,
    mut visit: impl FnMut(usize, usize),
) {
    match *keys {
        ColumnSlice::Int32(values, nulls) => {
            each(rows, nulls, |row| range.place(i64::from(values[row])), visit);
        }
        ColumnSlice::Int64(values, nulls) => each(rows, nulls, |row| range.place(values[row]), visit),
        ColumnSlice::Int16(values, nulls) => {
            each(rows, nulls, |row| range.place(i64::from(values[row])), visit);
        }
        ColumnSlice::Constant(value, _) => {
            let place = integer(value).map_or(0, |key| range.place(key));
            (0..rows.len()).for_each(|position| visit(position, place));
        }
        _ => unreachable!("a dimension's key is an integer or a date"),
    }
}

#[inline(always)]
fn each(
    rows: Rows<'_>,
    nulls: Nulls<'_>,
    place: impl Fn(usize) -> usize,
    mut visit: impl FnMut(usize, usize),
) {
    let mut position = 0;
    match nulls {
        Nulls::None => rows.for_each(|row| {
            visit(position, place(row));
            position += 1;
        }),
        nulls => rows.for_each(|row| {
            visit(position, if nulls.is_null(row) { 0 } else { place(row) });
            position += 1;
        }),
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
