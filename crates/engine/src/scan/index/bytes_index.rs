//! The index over strings: a hash of constants, sorted bounds, and a table over dictionary codes.

use std::sync::OnceLock;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::super::rows::Rows;
use super::KeyIndex;
use crate::query_set::SetId;
use crate::storage::{ColumnSlice, Dictionary, each_width};

/// Key sets over bytes.
#[derive(Debug)]
pub struct BytesIndex {
    keys: KeyIndex<Box<[u8]>>,
    points: Option<Points>,
    /// The set of each dictionary code, made when the first chunk with codes comes.
    codes: OnceLock<Vec<SetId>>,
}

/// An index that consists of single keys: these, and the set of all others.
#[derive(Debug)]
struct Points {
    sets: HashMap<Box<[u8]>, SetId, FixedState>,
    gap: SetId,
}

impl BytesIndex {
    /// An index over these bounds.
    pub fn new(keys: KeyIndex<Box<[u8]>>) -> BytesIndex {
        let points = keys.as_points().map(|(points, gap)| Points {
            sets: points.into_iter().map(|(key, set)| (key.clone(), set)).collect(),
            gap,
        });
        BytesIndex { keys, points, codes: OnceLock::new() }
    }

    /// The bounds.
    pub fn keys(&self) -> &KeyIndex<Box<[u8]>> {
        &self.keys
    }

    /// The set for NULL.
    pub fn nulls(&self) -> SetId {
        self.keys.nulls()
    }

    /// The set for a string.
    #[inline]
    pub fn find(&self, bytes: &[u8]) -> SetId {
        match &self.points {
            Some(points) => points.sets.get(bytes).copied().unwrap_or(points.gap),
            None => self.keys.find_by(|bound| &**bound <= bytes),
        }
    }

    /// Appends the set of each row, taking NULL for any string.
    pub fn probe(&self, column: &ColumnSlice<'_>, rows: Rows<'_>, out: &mut Vec<SetId>) {
        out.reserve(rows.len());
        match column {
            ColumnSlice::Codes(codes, dictionary, _) => {
                let sets = self.codes.get_or_init(|| self.evaluate(dictionary));
                each_width!(*codes, codes => {
                    rows.for_each(|row| out.push(sets[codes[row] as usize]));
                });
            }
            ColumnSlice::Strings(strings, _) | ColumnSlice::Bytes(strings, _) => {
                rows.for_each(|row| out.push(self.find(strings.bytes(row))));
            }
            other => unreachable!("{other:?} has no bytes"),
        }
    }

    /// The set of every dictionary code: for single keys only these are looked up, whatever its size.
    fn evaluate(&self, dictionary: &Dictionary) -> Vec<SetId> {
        let codes = dictionary.len();
        let Some(points) = &self.points else {
            let find = |code| self.find(dictionary.get(code).as_bytes());
            return (0..codes as u32).map(find).collect();
        };
        let mut sets = vec![points.gap; codes];
        for (key, set) in &points.sets {
            let text = std::str::from_utf8(key).ok();
            let code = text.and_then(|text| dictionary.code(text));
            if let Some(place) = code.and_then(|code| sets.get_mut(code as usize)) {
                *place = *set;
            }
        }
        sets
    }

    /// What EXPLAIN calls it.
    pub fn kind(&self) -> &'static str {
        match (self.codes.get(), &self.points) {
            (Some(_), _) => "dictionary table",
            (None, Some(_)) => "hash",
            (None, None) => "sorted bounds",
        }
    }
}
