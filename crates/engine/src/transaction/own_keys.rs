//! Finding a transaction's own rows by key without walking over all of them.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{Change, WriteSet};
use crate::types::{ColumnId, RowId, TableId, Value, ValueRef, midnight};

/// Sets of up to this many changes are walked over: shorter than any look-up.
const WALKED: usize = 16;

/// Hashes of (table, key columns, key) to rows. Entries may be stale (the row has changed, the change was rolled
/// back): whoever looks up compares the key.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnKeys {
    indexes: Vec<KeyIndex>,
}

#[derive(Clone, Debug)]
struct KeyIndex {
    table: TableId,
    columns: Vec<ColumnId>,
    /// The changes before this position are in.
    covered: usize,
    /// By hash, the newest entry.
    newest: HashMap<u64, u32, RandomState>,
    /// Rows, each with the entry of the same hash before it.
    entries: Vec<(RowId, u32)>,
}

/// No entry before.
const END: u32 = u32::MAX;

impl OwnKeys {
    pub(crate) fn truncate(&mut self, length: usize) {
        if length == 0 {
            self.indexes.clear();
        }
        for index in &mut self.indexes {
            index.covered = index.covered.min(length);
        }
    }
}

/// A number of any type that equals another hashes like it: integers of all widths as one; other numbers by
/// their value as a double, which is equal where the values are.
fn hash_value(value: ValueRef<'_>) -> u64 {
    let state = foldhash::fast::FixedState::with_seed(0);
    match value {
        ValueRef::Null => 0,
        ValueRef::Boolean(v) => state.hash_one(v),
        ValueRef::Text(v) => state.hash_one(v),
        ValueRef::Bytea(v) => state.hash_one(v),
        // A day that no timestamp reaches equals none.
        ValueRef::Date(v) => state.hash_one(midnight(v).unwrap_or(0)),
        ValueRef::Timestamp(v) | ValueRef::TimestampTz(v) => state.hash_one(v),
        ValueRef::SmallInt(v) => hash_double(f64::from(v)),
        ValueRef::Integer(v) => hash_double(f64::from(v)),
        ValueRef::BigInt(v) => hash_double(v as f64),
        ValueRef::Real(v) => hash_double(f64::from(v)),
        ValueRef::Double(v) => hash_double(v),
        ValueRef::Numeric(v, s) => hash_double(v as f64 / 10f64.powi(i32::from(s))),
    }
}

fn hash_double(value: f64) -> u64 {
    let canonical = if value.is_nan() { f64::NAN } else { value + 0.0 };
    foldhash::fast::FixedState::with_seed(0).hash_one(canonical.to_bits())
}

fn hash_key<'a>(key: impl Iterator<Item = ValueRef<'a>>) -> u64 {
    key.fold(0, |hash, value| hash.rotate_left(5) ^ hash_value(value).wrapping_mul(31))
}

fn has_key(row: &[Value], columns: &[ColumnId], key: &[ValueRef<'_>]) -> bool {
    columns.iter().zip(key).all(|(column, value)| {
        let cell = row[column.index()].borrow();
        !cell.is_null() && !value.is_null() && cell.compare(*value).is_eq()
    })
}

impl WriteSet {
    /// The transaction's own rows (new and changed ones) of a table whose `columns` equal `key`; a NULL equals
    /// nothing.
    pub(crate) fn rows_by_key(
        &mut self,
        table: TableId,
        columns: &[ColumnId],
        key: &[ValueRef<'_>],
        out: &mut Vec<RowId>,
    ) {
        if self.len() <= WALKED {
            out.extend(self.rows(table).filter(|(_, row)| has_key(row, columns, key)).map(|r| r.0));
            return;
        }
        let position = self.cover(table, columns);
        let index = &self.keys.indexes[position];
        let first = out.len();
        for id in index.candidates(hash_key(key.iter().copied())) {
            if let super::Overlay::Row(row) = self.lookup(table, id)
                && has_key(row, columns, key)
                && !out[first..].contains(&id)
            {
                out.push(id);
            }
        }
        out[first..].sort_unstable();
    }

    /// Brings the index over these columns up to date, making it if there is none; gives its position.
    fn cover(&mut self, table: TableId, columns: &[ColumnId]) -> usize {
        let mut keys = std::mem::take(&mut self.keys);
        let found = keys.indexes.iter().position(|i| i.table == table && i.columns == columns);
        let position = found.unwrap_or_else(|| {
            let (columns, newest) = (columns.to_vec(), HashMap::default());
            keys.indexes.push(KeyIndex { table, columns, covered: 0, newest, entries: Vec::new() });
            keys.indexes.len() - 1
        });
        let index = &mut keys.indexes[position];
        for change in (index.covered..self.len()).map(|i| self.change(i)) {
            index.add(change);
        }
        index.covered = self.len();
        self.keys = keys;
        position
    }
}

impl KeyIndex {
    fn add(&mut self, change: &Change) {
        let (table, id) = change.row_key();
        if let Change::Insert { row, .. } | Change::Update { row, .. } = change
            && table == self.table
        {
            let hash = hash_key(self.columns.iter().map(|column| row[column.index()].borrow()));
            let before = self.newest.get(&hash).copied().unwrap_or(END);
            // A row that changes again and again under one key is there once.
            if self.entries.get(before as usize).is_none_or(|entry| entry.0 != id) {
                self.newest.insert(hash, self.entries.len() as u32);
                self.entries.push((id, before));
            }
        }
    }

    fn candidates(&self, hash: u64) -> impl Iterator<Item = RowId> {
        let mut next = self.newest.get(&hash).copied().unwrap_or(END);
        std::iter::from_fn(move || {
            let (id, before) = *self.entries.get(next as usize)?;
            next = before;
            Some(id)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_set_finds_rows_like_a_small_one() {
        let (table, columns) = (TableId(1), [ColumnId(0)]);
        let mut set = WriteSet::new();
        let ids: Vec<RowId> =
            (0..40).map(|i| set.insert(table, Box::new([Value::Integer(i % 20)]))).collect();
        let find = |set: &mut WriteSet, key: i64| {
            let mut out = Vec::new();
            set.rows_by_key(table, &columns, &[ValueRef::BigInt(key)], &mut out);
            out
        };
        assert_eq!(find(&mut set, 3), [ids[3], ids[23]]);
        let mark = set.mark();
        set.update(table, ids[3], crate::types::Version(0), Box::new([Value::Integer(99)]));
        assert_eq!(find(&mut set, 3), [ids[23]]);
        assert_eq!(find(&mut set, 99), [ids[3]]);
        set.rollback_to(mark);
        assert_eq!(find(&mut set, 3), [ids[3], ids[23]]);
        assert_eq!(find(&mut set, 99), []);
    }
}
