//! From a validated set to the log and to storage.

use std::sync::Arc;

use super::room::stored_bytes;
use crate::log::Encoder;
use crate::transaction::{Change, Relation, Relations, WriteSet, check_stored_form};
use crate::types::{ColumnId, Result, RowId, Value, ValueRef, Version};

/// What becomes of one row.
#[derive(Clone, Copy, Debug)]
enum Fate<'a> {
    Insert(&'a [Value]),
    Update(&'a [Value]),
    Delete,
}

/// One row's change, ready to be logged and applied.
#[derive(Debug)]
pub(super) struct RowChange<'a> {
    relation: Arc<Relation>,
    id: RowId,
    fate: Fate<'a>,
}

/// The net change of every row of a set, in the order in which the rows were first touched. New rows get their
/// ids here. Fails where storage could not keep a row, so that what is applied cannot.
pub(super) fn net_changes<'a>(
    relations: &Relations,
    set: &'a WriteSet,
) -> Result<Vec<RowChange<'a>>> {
    let mut changes = Vec::with_capacity(set.len());
    for position in 0..set.len() {
        let (first, newest) = set.first_and_newest(position);
        if !first {
            continue;
        }
        let (table, id) = newest.row_key();
        let is_new = WriteSet::is_provisional(id);
        let fate = match newest {
            Change::Delete { .. } if is_new => continue,
            Change::Delete { .. } => Fate::Delete,
            Change::Insert { row, .. } | Change::Update { row, .. } if is_new => Fate::Insert(row),
            Change::Insert { row, .. } | Change::Update { row, .. } => Fate::Update(row),
        };
        let relation = relations.get(table)?.clone();
        if let Fate::Insert(row) | Fate::Update(row) = fate {
            check_stored_form(&relation, row)?;
        }
        let id = if is_new { relation.table.reserve_row_id() } else { id };
        changes.push(RowChange { relation, id, fate });
    }
    Ok(changes)
}

impl RowChange<'_> {
    /// Adds the change to a log record. It was not applied yet.
    pub fn encode(&self, published: Version, to: &mut Encoder) {
        let table = self.relation.schema.id;
        match self.fate {
            Fate::Insert(row) => to.insert(table, self.id, row),
            Fate::Delete => to.delete(table, self.id),
            Fate::Update(row) => {
                let (location, ..) =
                    self.relation.table.newest(self.id).expect("a validated row is stored");
                let view = self.relation.table.view(published);
                let old = |column: usize| -> ValueRef<'_> {
                    view.cell(ColumnId(column as u32), location)
                };
                to.update(table, self.id, old, row);
            }
        }
    }

    /// About what it adds to the tables.
    pub fn stored_bytes(&self) -> usize {
        match self.fate {
            Fate::Insert(row) => stored_bytes(row, self.relation.indexes.len()),
            // Entries of keys that stay are not touched.
            Fate::Update(row) => stored_bytes(row, 0),
            Fate::Delete => 0,
        }
    }

    fn inserts_into(&self, relation: &Arc<Relation>) -> bool {
        matches!(self.fate, Fate::Insert(_)) && Arc::ptr_eq(&self.relation, relation)
    }
}

/// Changes storage; runs of new rows of one table go in together.
pub(super) fn apply(changes: &[RowChange<'_>], version: Version) {
    let mut position = 0;
    while let Some(change) = changes.get(position) {
        let table = &change.relation.table;
        match change.fate {
            Fate::Update(row) => table.update(change.id, row, version),
            Fate::Delete => table.delete(change.id, version),
            Fate::Insert(_) => {
                let rest = &changes[position..];
                let run = rest.iter().take_while(|next| next.inserts_into(&change.relation));
                let (ids, rows): (Vec<RowId>, Vec<&[Value]>) = run.map(RowChange::new_row).unzip();
                table.insert_rows_with_ids(&ids, &rows, version);
                position += ids.len() - 1;
            }
        }
        position += 1;
    }
}

impl<'a> RowChange<'a> {
    fn new_row(&self) -> (RowId, &'a [Value]) {
        match self.fate {
            Fate::Insert(row) | Fate::Update(row) => (self.id, row),
            Fate::Delete => (self.id, &[]),
        }
    }
}
