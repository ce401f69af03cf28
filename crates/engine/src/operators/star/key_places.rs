//! Keys in a chunk to places in a dimension's arrays: a subtraction and a comparison.

use super::Star;
use crate::storage::{Chunk, ColumnSlice, Nulls};
use crate::types::{ChunkId, Value};

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

/// Rows of one chunk of the fact table.
#[derive(Clone, Copy)]
pub struct ChunkPart<'a> {
    /// The chunk's name.
    pub id: ChunkId,
    /// The chunk.
    pub chunk: &'a Chunk,
    /// Offsets, ascending.
    pub rows: &'a [u32],
}

/// The places that a part's rows refer to in each root, looked up when first asked for.
#[derive(Debug, Default)]
pub struct PartPlaces {
    by_root: Vec<Vec<u32>>,
    known: Vec<bool>,
}

impl PartPlaces {
    /// Forgets the last part.
    pub fn start(&mut self, roots: usize) {
        self.by_root.resize_with(roots, Vec::new);
        self.known.clear();
        self.known.resize(roots, false);
    }

    /// Looks a root's references up.
    pub fn look_up(&mut self, star: &Star, part: &ChunkPart<'_>, root: usize) {
        if !std::mem::replace(&mut self.known[root], true) {
            let (outer, dimension) = star.roots[root];
            let range = star.dimensions[dimension].range;
            self.by_root[root].clear();
            append_places(&part.chunk.column(outer), part.rows, range, &mut self.by_root[root]);
        }
    }

    /// The places of all rows of the part, in their order, where they were looked up.
    pub fn of(&self, root: usize) -> Option<&[u32]> {
        self.known[root].then(|| &self.by_root[root][..])
    }
}

/// Appends the places of the keys of `rows`.
pub fn append_places(keys: &ColumnSlice<'_>, rows: &[u32], range: KeyRange, places: &mut Vec<u32>) {
    let first = places.len();
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
            let place = integer(value).map_or(0, |key| range.place(key));
            places.resize(first + rows.len(), place);
        }
        _ => unreachable!("a dimension's key is an integer or a date"),
    }
    let nulls = keys.nulls();
    if !matches!(nulls, Nulls::None) {
        for (place, &row) in places[first..].iter_mut().zip(rows) {
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
