//! Validating a block's write set against the newest state: first committer wins.
//!
//! A row that has changed since the block read it is a conflict (40001) under REPEATABLE READ. Under READ
//! COMMITTED the change is computed again from the newest version, as PostgreSQL does after waiting for the
//! row's lock; it is 40001 only where the client has been told something that would now differ: it has seen the
//! pending row, or the row no longer meets the WHERE clause (the client was told that it was changed).

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashSet;

use super::{
    Change, Evaluation, Isolation, Joined, Overlay, Parameters, Reevaluation, Relation, Workspace,
    WriteSet, check_changes, check_row,
};
use crate::types::{Error, Result, RowId, SqlState, TableId, Value, Version};

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

/// Moves the changes of `source` into the workspace's (empty) set, computed anew where rows have changed, and
/// checks them against the newest state.
pub(crate) fn rebase(
    workspace: &mut Workspace<'_>,
    source: &WriteSet,
    isolation: Isolation,
) -> Result<()> {
    let mark = workspace.set.mark();
    let mut recomputed = HashSet::with_hasher(RandomState::default());
    let mut on_conflict = false;
    for change in source.changes() {
        let (table, id) = change.row_key();
        // A table that is gone may have been stored anew under another id.
        let relation = workspace.relation(table).map_err(|_| definition_changed())?;
        let before = source.definition(table);
        if before.is_some_and(|before| !relation.schema.demands_the_same(before)) {
            return Err(definition_changed());
        }
        on_conflict |= matches!(change, Change::Insert { on_conflict: true, .. });
        let move_on = Rebase { source, isolation, relation: &relation, change };
        move_on.run(workspace, (table, id), &mut recomputed)?;
    }
    check_changes(workspace, mark).map_err(|error| {
        if on_conflict && error.state == SqlState::UniqueViolation {
            // The row that ON CONFLICT would have found came after the statement.
            return conflict("insert");
        }
        error
    })
}

struct Rebase<'a> {
    source: &'a WriteSet,
    isolation: Isolation,
    relation: &'a Relation,
    change: &'a Change,
}

impl Rebase<'_> {
    fn run(
        &self,
        workspace: &mut Workspace<'_>,
        key: (TableId, RowId),
        recomputed: &mut HashSet<(TableId, RowId), RandomState>,
    ) -> Result<()> {
        if let Change::Insert { row, .. } | Change::Update { row, .. } = self.change
            && row.len() != self.relation.schema.columns.len()
        {
            return Err(definition_changed());
        }
        let first = workspace.set.newest_change(key.0, key.1).is_none();
        let is_insert = matches!(self.change, Change::Insert { .. });
        let outdated =
            if first && !is_insert { self.has_changed(key.1)? } else { recomputed.contains(&key) };
        if !outdated {
            workspace.set.adopt(self.change.clone());
            return Ok(());
        }
        let again = self.again(key)?;
        recomputed.insert(key);
        self.compute_again(workspace, key, again)
    }

    /// Whether the row has changed since it was read; 40001 if it is gone.
    fn has_changed(&self, id: RowId) -> Result<bool> {
        let base = self.change.base().unwrap_or(Version::INFINITY);
        match self.relation.table.newest(id) {
            Some((_, begin, end)) if end == Version::INFINITY => Ok(begin > base),
            _ => Err(conflict("delete")),
        }
    }

    fn again(&self, key: (TableId, RowId)) -> Result<&Reevaluation> {
        let again = match self.change {
            Change::Update { again, .. } | Change::Delete { again, .. } => again.as_deref(),
            Change::Insert { .. } | Change::Expect { .. } => None,
        };
        let allowed =
            self.isolation == Isolation::ReadCommitted && !self.source.exposed.contains(key);
        again.filter(|_| allowed).ok_or_else(|| conflict("update"))
    }

    fn compute_again(
        &self,
        workspace: &mut Workspace<'_>,
        (table, id): (TableId, RowId),
        again: &Reevaluation,
    ) -> Result<()> {
        let row = workspace.row(self.relation, id).ok_or_else(|| conflict("delete"))?;
        let row = again.apply(self.relation, row)?.ok_or_else(|| conflict("update"))?;
        let base = workspace.base();
        match self.change {
            Change::Delete { .. } => workspace.set.delete(table, id, base, None),
            _ => workspace.set.update_row(table, id, base, row, None),
        }
        Ok(())
    }
}

impl Reevaluation {
    /// The new values of a row; `None` where the WHERE clause does not hold.
    pub(crate) fn apply(&self, relation: &Relation, row: Vec<Value>) -> Result<Option<Vec<Value>>> {
        let excluded = self.excluded.as_deref().unwrap_or_default();
        let types = [&relation.types[..], &relation.types[..]].concat();
        let parameters = Parameters { values: &self.parameters, types: &self.parameter_types };
        let joined = Joined(&row, excluded);
        let evaluation = Evaluation { row: &joined, types: &types, parameters };
        if !evaluation.all(&self.predicates)? {
            return Ok(None);
        }
        let mut new = row.clone();
        for (column, value) in &self.assignments {
            new[column.index()] = evaluation.scalar(value)?;
        }
        check_row(relation, &mut new, &self.checks)?;
        Ok(Some(new))
    }
}

/// Computes the pending changes of one row again from a newer snapshot, before its client sees them. Leaves
/// them as they are where that is not possible: then commit will say so.
pub(crate) fn refresh(workspace: &mut Workspace<'_>, table: TableId, id: RowId) -> Result<()> {
    let relation = workspace.relation(table)?;
    let Some((view, location)) = workspace.stored(&relation, id) else { return Ok(()) };
    let mut row = view.row(location);
    let chain = workspace.set.chain(table, id);
    let mut recomputed = Vec::new();
    for &position in &chain {
        let again = match workspace.set.change(position) {
            Change::Update { again: Some(again), .. }
            | Change::Delete { again: Some(again), .. } => again.clone(),
            _ => return Ok(()),
        };
        let Some(new) = again.apply(&relation, row)? else { return Ok(()) };
        recomputed.push((position, Arc::from(&new[..])));
        row = new;
    }
    let base = workspace.base();
    for (position, row) in recomputed {
        workspace.set.recompute(position, base, row);
    }
    debug_assert!(matches!(workspace.set.lookup(table, id), Overlay::Row(_) | Overlay::Deleted));
    Ok(())
}
