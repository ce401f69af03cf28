//! A transaction's own changes, laid over a snapshot.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::transaction::{Change, WriteSet};
use engine::types::{RowId, TableId, Value};

/// What a transaction has changed in the tables that a query reads.
#[derive(Clone, Debug, Default)]
pub struct Overlay {
    tables: HashMap<TableId, Arc<TableOverlay>>,
}

/// What a transaction has changed in one table.
#[derive(Clone, Debug, Default)]
pub struct TableOverlay {
    /// Rows whose stored version is not to be read.
    pub replaced: HashSet<RowId>,
    /// New and changed rows, one value per column id.
    pub rows: Vec<(RowId, Vec<Value>)>,
}

impl Overlay {
    /// The changes of `set` in these tables.
    pub fn new(set: &WriteSet, tables: &[TableId]) -> Overlay {
        let touched = tables.iter().filter(|table| set.touches(**table));
        let tables = touched.map(|table| (*table, Arc::new(table_overlay(set, *table))));
        Overlay { tables: tables.collect() }
    }

    /// Whether nothing is laid over the snapshot.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// The same with other versions of stored rows: newer ones, or none where a row is gone.
    pub fn with(mut self, newest: &HashMap<(TableId, RowId), Option<Vec<Value>>>) -> Overlay {
        for ((table, id), row) in newest {
            let table = Arc::make_mut(self.tables.entry(*table).or_default());
            if table.replaced.insert(*id) {
                table.rows.extend(row.clone().map(|row| (*id, row)));
            }
        }
        self
    }

    /// The changes in one table.
    pub fn table(&self, table: TableId) -> Option<&Arc<TableOverlay>> {
        self.tables.get(&table)
    }
}

fn table_overlay(set: &WriteSet, table: TableId) -> TableOverlay {
    let changed = set.changes().filter_map(|change| match change {
        Change::Update { table: t, id, .. } | Change::Delete { table: t, id, .. } => {
            (*t == table).then_some(*id)
        }
        Change::Insert { .. } => None,
    });
    let changed = changed
        .filter(|id| !matches!(set.lookup(table, *id), engine::transaction::Overlay::Untouched));
    TableOverlay {
        replaced: changed.collect(),
        rows: set.rows(table).map(|(id, row)| (id, row.to_vec())).collect(),
    }
}
