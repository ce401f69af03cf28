//! Predicate indexes: a batch's predicates on one column, probed with the column's values.
//!
//! In come the filters or patterns of the slots that have one on a column; out comes, for each row, the set of
//! slots that this column does not rule out (slots without a predicate on it are always in). Crescando's
//! "Index Union Join" (section 5.2), with sets in place of candidate lists, so that several columns meet by
//! intersection.

mod bytes_index;
mod gram_table;
mod key_index;
mod literal_matcher;
mod narrow_index;
mod pattern_index;
mod ranks;
mod word_table;

pub use bytes_index::BytesIndex;
pub use key_index::KeyIndex;
pub use narrow_index::NarrowIndex;
pub use pattern_index::PatternIndex;
pub use ranks::select_by_ranks;

use super::filter::{ColumnFilter, narrow_key};
use super::key_set::KeySet;
use super::rows::Rows;
use crate::query_set::{SetId, SetTable, intersect_ids};
use crate::storage::{ColumnSlice, Nulls, Zone};
use crate::types::{Slot, Value, ValueRef};

/// An index over predicates on one column.
#[derive(Debug)]
pub enum ColumnIndex {
    /// Key sets over 64-bit keys.
    Narrow(NarrowIndex),
    /// Key sets over 128-bit keys.
    Wide(KeyIndex<i128>),
    /// Key sets over bytes.
    Bytes(BytesIndex),
    /// LIKE patterns.
    Patterns(Box<PatternIndex>),
}

impl ColumnIndex {
    /// An index over key sets, all of one kind. `others` are the slots that have none on this column; about
    /// `rows` rows are going to be looked up.
    pub fn of_filters(
        filters: &[(Slot, &ColumnFilter)],
        others: &[u64],
        rows: usize,
        table: &SetTable,
    ) -> ColumnIndex {
        match filters[0].1 {
            ColumnFilter::Narrow(_) => {
                let keys = of_kind(filters, |filter| match filter {
                    ColumnFilter::Narrow(keys) => Some(keys),
                    _ => None,
                });
                ColumnIndex::Narrow(NarrowIndex::new(
                    KeyIndex::new(&keys, others, table),
                    rows,
                    table,
                ))
            }
            ColumnFilter::Wide(_) => {
                let keys = of_kind(filters, |filter| match filter {
                    ColumnFilter::Wide(keys) => Some(keys),
                    _ => None,
                });
                ColumnIndex::Wide(KeyIndex::new(&keys, others, table))
            }
            ColumnFilter::Bytes(_) => {
                let keys = of_kind(filters, |filter| match filter {
                    ColumnFilter::Bytes(keys) => Some(keys),
                    _ => None,
                });
                ColumnIndex::Bytes(BytesIndex::new(KeyIndex::new(&keys, others, table)))
            }
        }
    }

    /// Appends the set of each row to `out`.
    pub fn probe(
        &self,
        column: &ColumnSlice<'_>,
        rows: Rows<'_>,
        table: &SetTable,
        out: &mut Vec<SetId>,
    ) {
        if let ColumnSlice::Constant(value, _) = column {
            let set = self.probe_value(value.borrow(), table);
            return out.resize(out.len() + rows.len(), set);
        }
        let start = out.len();
        let nulls = match self {
            ColumnIndex::Narrow(index) => {
                index.probe(column, rows, out);
                index.nulls()
            }
            ColumnIndex::Wide(index) => {
                let ColumnSlice::Int128(values, _) = column else {
                    unreachable!("wide numerics are stored in 128 bits")
                };
                rows.for_each(|row| out.push(index.find(&values[row])));
                index.nulls()
            }
            ColumnIndex::Bytes(index) => {
                index.probe(column, rows, out);
                index.nulls()
            }
            ColumnIndex::Patterns(index) => {
                index.probe(column, rows, table, out);
                index.nulls()
            }
        };
        set_nulls(column.nulls(), rows, nulls, &mut out[start..]);
    }

    /// Takes slots that this column rules out from each row's set; sets are a word each.
    pub fn narrow(
        &self,
        column: &ColumnSlice<'_>,
        rows: Rows<'_>,
        table: &SetTable,
        words: &mut [u64],
    ) {
        if let (ColumnIndex::Narrow(index), Nulls::None) = (self, column.nulls())
            && index.narrow(column, rows, table, words)
        {
            return;
        }
        let mut ids = Vec::with_capacity(rows.len());
        self.probe(column, rows, table, &mut ids);
        intersect_ids(words, &ids, table);
    }

    /// The rows that a slot of `wanted`, a word, wants as far as this column tells; `None` where that is most of them, or
    /// only asking row by row would tell.
    pub fn select(
        &self,
        column: &ColumnSlice<'_>,
        rows: Rows<'_>,
        table: &SetTable,
        wanted: u64,
    ) -> Option<Vec<u32>> {
        match (self, column.nulls()) {
            (ColumnIndex::Narrow(index), Nulls::None) => index.select(column, rows, table, wanted),
            _ => None,
        }
    }

    /// The set for one value.
    pub fn probe_value(&self, value: ValueRef<'_>, table: &SetTable) -> SetId {
        match (self, value) {
            (ColumnIndex::Narrow(index), _) => {
                narrow_key(value).map_or(index.nulls(), |key| index.find(key))
            }
            (ColumnIndex::Wide(index), ValueRef::Numeric(key, _)) => index.find(&key),
            (ColumnIndex::Wide(index), _) => index.nulls(),
            (ColumnIndex::Bytes(index), ValueRef::Text(text)) => index.find(text.as_bytes()),
            (ColumnIndex::Bytes(index), ValueRef::Bytea(bytes)) => index.find(bytes),
            (ColumnIndex::Bytes(index), _) => index.nulls(),
            (ColumnIndex::Patterns(index), ValueRef::Text(text)) => index.find(text, table),
            (ColumnIndex::Patterns(index), _) => index.nulls(),
        }
    }

    /// Adds to `wanted` every slot that may want a row of a chunk with this zone; `None` where the zone does
    /// not tell.
    pub fn probe_zone(&self, zone: &Zone, table: &SetTable, wanted: &mut [u64]) -> Option<()> {
        let bounds = zone.min.as_ref().zip(zone.max.as_ref());
        match self {
            ColumnIndex::Narrow(index) => {
                let keys = bounds.map(|(min, max)| (narrow_key_of(min), narrow_key_of(max)));
                index.keys().union_between(keys, zone.nulls > 0, table, wanted)
            }
            ColumnIndex::Wide(index) => {
                let keys = bounds.map(|(min, max)| (wide_key_of(min), wide_key_of(max)));
                index.union_between(keys, zone.nulls > 0, table, wanted)
            }
            ColumnIndex::Bytes(index) => {
                let keys = bounds.map(|(min, max)| (bytes_of(min), bytes_of(max)));
                index.keys().union_between(keys, zone.nulls > 0, table, wanted)
            }
            ColumnIndex::Patterns(_) => None,
        }
    }

    /// What EXPLAIN calls it.
    pub fn kind(&self) -> &'static str {
        match self {
            ColumnIndex::Narrow(index) => index.kind(),
            ColumnIndex::Wide(_) => "sorted bounds",
            ColumnIndex::Bytes(index) => index.kind(),
            ColumnIndex::Patterns(_) => "pattern automaton",
        }
    }
}

fn of_kind<'a, K>(
    filters: &[(Slot, &'a ColumnFilter)],
    keys: impl Fn(&'a ColumnFilter) -> Option<&'a KeySet<K>>,
) -> Vec<(Slot, &'a KeySet<K>)> {
    let keyed = filters.iter().filter_map(|&(slot, filter)| Some((slot, keys(filter)?)));
    let keyed: Vec<_> = keyed.collect();
    assert_eq!(keyed.len(), filters.len(), "filters of one column have one kind");
    keyed
}

/// Overwrites the sets of rows that are NULL.
fn set_nulls(nulls: Nulls<'_>, rows: Rows<'_>, set: SetId, out: &mut [SetId]) {
    if matches!(nulls, Nulls::None) {
        return;
    }
    for (index, id) in out.iter_mut().enumerate() {
        if nulls.is_null(rows.offset(index)) {
            *id = set;
        }
    }
}

fn narrow_key_of(value: &Value) -> i64 {
    narrow_key(value.borrow()).expect("zone bounds are not NULL")
}

fn wide_key_of(value: &Value) -> i128 {
    match value {
        Value::Numeric(key, _) => *key,
        other => unreachable!("{other:?} is no wide numeric"),
    }
}

fn bytes_of(value: &Value) -> Box<[u8]> {
    match value {
        Value::Text(text) => text.as_bytes().into(),
        Value::Bytea(bytes) => bytes.clone(),
        other => unreachable!("{other:?} has no bytes"),
    }
}
