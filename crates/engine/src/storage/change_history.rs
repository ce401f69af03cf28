//! When a table's rows changed: whether two snapshots see the same of it, without looking at its rows.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::Table;
use crate::types::Version;

/// Versions kept: as many commits to one table as may pass while a reader asks about an older snapshot.
const KEPT: usize = 64;

/// The last versions that changed rows. Rows that are moved to reclaim their chunk do not change.
#[derive(Debug, Default)]
pub(super) struct ChangeHistory {
    /// The newest of `kept`, so that a write heartbeat's later rows take no lock.
    newest: AtomicU64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Ascending.
    versions: VecDeque<Version>,
    /// There were older ones.
    has_forgotten: bool,
}

impl ChangeHistory {
    /// Writer: rows change at `version`.
    pub fn note(&self, version: Version) {
        if version.0 <= self.newest.load(Ordering::Relaxed) {
            return;
        }
        let mut kept = self.kept.lock();
        if kept.versions.len() == KEPT {
            kept.versions.pop_front();
            kept.has_forgotten = true;
        }
        kept.versions.push_back(version);
        self.newest.store(version.0, Ordering::Relaxed);
    }

    fn last(&self, version: Version) -> Option<Version> {
        let kept = self.kept.lock();
        let before = kept.versions.partition_point(|change| *change <= version);
        match before.checked_sub(1) {
            Some(last) => Some(kept.versions[last]),
            None => (!kept.has_forgotten).then_some(Version(0)),
        }
    }
}

impl Table {
    /// The last version up to `version`, which is published, that changed a row; `None` where too many have changed
    /// rows since. Snapshots with the same one see the same rows.
    pub fn last_change(&self, version: Version) -> Option<Version> {
        self.changes.last(version)
    }
}

#[cfg(test)]
mod tests {
    use super::super::twin::stored_table;
    use super::*;
    use crate::types::{DataType, RowId, Value};

    #[test]
    fn changes_are_found_and_moves_are_none() {
        let (store, table) = stored_table(&[DataType::Integer]);
        let row = |value| [Value::Integer(value)];
        assert_eq!(table.last_change(Version(9)), Some(Version(0)));
        let rows: Vec<_> = (0..1_000).map(row).collect();
        table.insert_rows(&rows, Version(2));
        table.update(RowId(0), &row(-1), Version(4));
        for gone in 1..999 {
            table.delete(RowId(gone), Version(6));
        }
        store.publish(Version(6));
        // Moves what is left.
        store.reclaim(Version(7), usize::MAX);
        store.publish(Version(7));
        let changes: Vec<u64> =
            (1..9).map(|v| table.last_change(Version(v)).expect("all are kept").0).collect();
        assert_eq!(changes, [0, 2, 2, 4, 4, 6, 6, 6]);
        table.truncate(Version(8));
        assert_eq!(table.last_change(Version(9)), Some(Version(8)));
    }

    #[test]
    fn what_is_forgotten_is_not_known() {
        let (_store, table) = stored_table(&[DataType::Integer]);
        for version in 1..=KEPT as u64 + 2 {
            table.insert(&[Value::Integer(0)], Version(version));
        }
        assert_eq!(table.last_change(Version(2)), None);
        assert_eq!(table.last_change(Version(3)), Some(Version(3)));
    }
}
