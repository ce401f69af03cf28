//! Validating a block's write set against the newest state.
//!
//! The rows that a block changes it has locked, and computed from their newest versions: they are as they were then. Where that is
//! not so (a table was stored anew, or somebody hands in a set without locks) it is 40001. Keys and foreign keys are checked
//! again, over all that is there by now.

use super::{Change, Moment, Relation, Workspace, WriteSet, check_changes};
use crate::types::{Error, Result, RowId, SqlState, Version};

fn conflict(what: &str) -> Error {
    Error::new(
        SqlState::SerializationFailure,
        format!("could not serialize access due to concurrent {what}"),
    )
}

/// Rows were made for a definition that their table no longer has.
pub(crate) fn definition_changed() -> Error {
    conflict("change of the table's definition")
}

/// A row is no longer what a REPEATABLE READ block's snapshot has of it.
pub(crate) fn changed_since(is_gone: bool) -> Error {
    conflict(if is_gone { "delete" } else { "update" })
}

/// Moves the changes of `source` into the workspace's (empty) set and checks them against the newest state.
pub(crate) fn rebase(workspace: &mut Workspace<'_>, source: &WriteSet) -> Result<()> {
    let mark = workspace.set.mark();
    for change in source.changes() {
        let (table, id) = change.row_key();
        // A table that is gone may have been stored anew under another id.
        let relation = workspace.relation(table).map_err(|_| definition_changed())?;
        let before = source.definition(table);
        if before.is_some_and(|before| !relation.schema.demands_the_same(before)) {
            return Err(definition_changed());
        }
        if change.row().is_some_and(|row| row.len() != relation.schema.columns.len()) {
            return Err(definition_changed());
        }
        if workspace.set.newest_change(table, id).is_none() {
            check_unchanged(&relation, id, change)?;
        }
        workspace.set.adopt(change.clone());
    }
    check_changes(workspace, mark, Moment::Commit)
}

/// 40001 where a stored row has changed since it was read.
fn check_unchanged(relation: &Relation, id: RowId, change: &Change) -> Result<()> {
    let Some(base) = change.base() else { return Ok(()) };
    match relation.table.newest(id) {
        Some((_, begin, end)) if end == Version::INFINITY => match begin > base {
            true => Err(changed_since(false)),
            false => Ok(()),
        },
        _ => Err(changed_since(true)),
    }
}
