//! What rows must obey together: unique keys and foreign keys, over own and stored rows.

use std::sync::Arc;

use super::display;
use super::{Change, LockMode, Mark, Overlay, Reference, Relation, Workspace, WriteSet, every_row};
use crate::storage::{Index, Load, TableView};
use crate::types::{
    ColumnId, Error, ForeignKeyAction, Location, Result, RowId, SqlState, Value, ValueRef, limit,
};

/// Levels of cascading after which something is wrong with the definitions rather than with the data.
const DEEPEST_CASCADE: usize = 10_000_000;

/// Changes that are checked before it is asked whether the statement goes on.
const CHANGES_BETWEEN_CHECKS: usize = 64;

/// Checks all changes since `mark`, and adds the changes that foreign keys' actions make.
pub(crate) fn check_changes(workspace: &mut Workspace<'_>, mark: Mark) -> Result<()> {
    let mut position = mark.position();
    while position < workspace.set.len() {
        assert!(position < DEEPEST_CASCADE, "cascades end");
        if position.is_multiple_of(CHANGES_BETWEEN_CHECKS) {
            limit::check()?;
        }
        check_change(workspace, position)?;
        position += 1;
    }
    Ok(())
}

fn check_change(workspace: &mut Workspace<'_>, position: usize) -> Result<()> {
    let (table, id) = workspace.set.change(position).row_key();
    let relation = workspace.relation(table)?;
    let has_keys = !relation.indexes.is_empty() || !relation.parents.is_empty();
    if !workspace.has_locks() && !has_keys && relation.children.is_empty() {
        return Ok(());
    }
    let old = workspace.old_row(&relation, id, position);
    let new = workspace.set.own_row(table, id);
    lock(workspace, &relation, id, &old, new.as_deref())?;
    if let Some(new) = &new {
        check_unique(workspace, &relation, id, &old, new)?;
        check_parents(workspace, &relation, &old, new)?;
    }
    match (&old, relation.children.is_empty()) {
        (OldRow::None, _) | (_, true) => Ok(()),
        (old, false) => check_children(workspace, &relation, old, new.as_deref()),
    }
}

/// Locks a row that changes, and the unique keys that it gets or loses.
fn lock(
    workspace: &mut Workspace<'_>,
    relation: &Relation,
    id: RowId,
    old: &OldRow,
    new: Option<&[Value]>,
) -> Result<()> {
    if !workspace.has_locks() {
        return Ok(());
    }
    let unique = || relation.indexes.iter().filter(|index| index.schema().unique);
    let keeps = |columns: &[ColumnId]| new.is_some_and(|new| old.same(columns, new));
    if !WriteSet::is_provisional(id) {
        let keeps_keys = unique().all(|index| keeps(&index.schema().columns));
        let mode = if keeps_keys { LockMode::NoKeyUpdate } else { LockMode::Update };
        workspace.lock_row(relation, id, mode)?;
    }
    for index in unique() {
        let columns = &index.schema().columns;
        if keeps(columns) {
            continue;
        }
        let lost: Vec<ValueRef<'_>> = columns.iter().map(|column| old.cell(*column)).collect();
        workspace.lock_key(relation, index, &lost, false)?;
        if let Some(key) = new.and_then(|new| key(new, columns)) {
            workspace.lock_key(relation, index, &key, true)?;
        }
    }
    Ok(())
}

/// A row before a change.
enum OldRow {
    /// There was none.
    None,
    /// The transaction's own.
    Own(Arc<[Value]>),
    /// Where storage has it.
    Stored(Arc<TableView>, Location),
}

impl OldRow {
    fn cell(&self, column: ColumnId) -> ValueRef<'_> {
        match self {
            OldRow::None => ValueRef::Null,
            OldRow::Own(row) => row[column.index()].borrow(),
            OldRow::Stored(view, location) => view.cell(column, *location),
        }
    }

    /// Whether it was there and had the same values in some columns.
    fn same(&self, columns: &[ColumnId], new: &[Value]) -> bool {
        let equal = |column: &ColumnId| {
            let (a, b) = (self.cell(*column), new[column.index()].borrow());
            a.is_null() && b.is_null() || a.compare(b).is_eq()
        };
        !matches!(self, OldRow::None) && columns.iter().all(equal)
    }
}

impl Workspace<'_> {
    /// The row as it was before the change at `position`.
    fn old_row(&mut self, relation: &Relation, id: RowId, position: usize) -> OldRow {
        if WriteSet::is_provisional(id)
            && matches!(self.set.change(position), Change::Insert { .. })
        {
            return OldRow::None;
        }
        match self.set.before(position) {
            Overlay::Row(row) => OldRow::Own(row.into()),
            Overlay::Deleted => OldRow::None,
            Overlay::Untouched => match self.stored(relation, id) {
                Some((view, location)) => OldRow::Stored(view, location),
                None => OldRow::None,
            },
        }
    }
}

/// The key of a row; `None` if part of it is NULL.
fn key<'r>(row: &'r [Value], columns: &[ColumnId]) -> Option<Vec<ValueRef<'r>>> {
    let values = columns.iter().map(|column| row[column.index()].borrow());
    values.map(|value| (!value.is_null()).then_some(value)).collect()
}

fn check_unique(
    workspace: &mut Workspace<'_>,
    relation: &Relation,
    id: RowId,
    old: &OldRow,
    new: &[Value],
) -> Result<()> {
    for index in relation.indexes.iter().filter(|index| index.schema().unique) {
        let columns = &index.schema().columns;
        if old.same(columns, new) {
            continue;
        }
        let Some(key) = key(new, columns) else { continue };
        if workspace.holder(relation, index, &key, Some(id)).is_some() {
            return Err(duplicate_key(relation, index, &key));
        }
    }
    Ok(())
}

/// 23505 in PostgreSQL's words.
pub(crate) fn duplicate_key(relation: &Relation, index: &Index, key: &[ValueRef<'_>]) -> Error {
    let schema = index.schema();
    let message = format!("duplicate key value violates unique constraint \"{}\"", schema.name);
    let detail = format!("{} already exists.", shown_key(relation, &schema.columns, key));
    Error::new(SqlState::UniqueViolation, message)
        .detail(detail)
        .constraint(&*relation.schema.name, &*schema.name)
}

fn shown_key(relation: &Relation, columns: &[ColumnId], key: &[ValueRef<'_>]) -> String {
    let names = relation.column_names(columns);
    format!("Key ({names})=({})", display::list(key.iter().copied()))
}

fn check_parents(
    workspace: &mut Workspace<'_>,
    relation: &Relation,
    old: &OldRow,
    new: &[Value],
) -> Result<()> {
    for reference in &relation.parents {
        if old.same(&reference.child_columns, new) {
            continue;
        }
        let Some(key) = key(new, &reference.child_columns) else { continue };
        lock_parent(workspace, reference, &key)?;
        if !has_parent(workspace, reference, &key)? {
            return Err(parent_missing(workspace, relation, reference, &key)?);
        }
    }
    Ok(())
}

/// Sees to it that a parent keeps its key.
fn lock_parent(
    workspace: &mut Workspace<'_>,
    reference: &Reference,
    key: &[ValueRef<'_>],
) -> Result<()> {
    match &reference.parent_index {
        Some(index) if workspace.has_locks() => {
            let parent = workspace.relation(reference.key.parent)?;
            workspace.lock_parent(&parent, index, key)
        }
        _ => Ok(()),
    }
}

/// Whether all parents of a load's rows are there, stored or among the rows themselves; else the first row that
/// lacks one, and its fault.
pub(crate) fn check_loaded_parents(
    workspace: &mut Workspace<'_>,
    relation: &Relation,
    load: &Load,
) -> Result<(), (usize, Error)> {
    for reference in &relation.parents {
        let own = (reference.key.parent == relation.schema.id).then_some(&reference.parent_index);
        for (position, row) in load.distinct(&reference.child_columns) {
            let key: Vec<_> = reference.child_columns.iter().map(|c| row.cell(*c)).collect();
            let among = own.is_some_and(|i| i.as_ref().is_some_and(|i| load.has_key(i, &key)));
            let at = |error| (position, error);
            if !among {
                lock_parent(workspace, reference, &key).map_err(at)?;
            }
            if !among && !has_parent(workspace, reference, &key).map_err(at)? {
                return Err(at(
                    parent_missing(workspace, relation, reference, &key).unwrap_or_else(|e| e)
                ));
            }
        }
    }
    Ok(())
}

/// Whether the rows of other tables that refer to some columns of a table find their parents among its new rows, which
/// a load holds.
pub(crate) fn check_kept_children(
    workspace: &mut Workspace<'_>,
    relation: &Relation,
    changed: &[ColumnId],
    load: &Load,
) -> Result<()> {
    let outside = relation.children.iter().filter(|key| key.child != relation.schema.id);
    for reference in outside.filter(|key| changed.iter().any(|c| key.parent_columns.contains(c))) {
        let index = reference.parent_index.as_ref().expect("a foreign key has a unique index");
        let child = workspace.relation(reference.child)?;
        let view = workspace.view(&child);
        let mut orphan = None;
        every_row(&view, |location| {
            let cells = reference.child_columns.iter().map(|column| view.cell(*column, location));
            let key: Vec<ValueRef<'_>> = cells.collect();
            let is_null = key.iter().any(|value| value.is_null());
            if orphan.is_none() && !is_null && !load.has_key(index, &key) {
                orphan = Some(location);
            }
        });
        if let Some(location) = orphan {
            let cells = reference.child_columns.iter().map(|column| view.cell(*column, location));
            let key: Vec<ValueRef<'_>> = cells.collect();
            return Err(parent_missing(workspace, &child, reference, &key)?);
        }
    }
    Ok(())
}

fn has_parent(
    workspace: &mut Workspace<'_>,
    reference: &Reference,
    key: &[ValueRef<'_>],
) -> Result<bool> {
    let parent = workspace.relation(reference.key.parent)?;
    Ok(match &reference.parent_index {
        Some(index) => workspace.holder(&parent, index, key, None).is_some(),
        None => !workspace.rows_with(&parent, &reference.parent_columns, key).is_empty(),
    })
}

fn parent_missing(
    workspace: &Workspace<'_>,
    relation: &Relation,
    reference: &Reference,
    key: &[ValueRef<'_>],
) -> Result<Error> {
    let (child, name) = (&relation.schema.name, &reference.key.name);
    let parent = workspace.relation(reference.key.parent)?;
    let columns = &reference.child_columns;
    let message =
        format!("insert or update on table \"{child}\" violates foreign key constraint \"{name}\"");
    let shown = shown_key(relation, columns, key);
    Ok(Error::new(SqlState::ForeignKeyViolation, message)
        .detail(format!("{shown} is not present in table \"{}\".", parent.schema.name))
        .constraint(&**child, &**name))
}

/// A row has lost its key: what refers to it must go too, or stop the change.
fn check_children(
    workspace: &mut Workspace<'_>,
    relation: &Relation,
    old: &OldRow,
    new: Option<&[Value]>,
) -> Result<()> {
    for reference in &relation.children {
        if new.is_some_and(|new| old.same(&reference.parent_columns, new)) {
            continue;
        }
        let lost: Vec<ValueRef<'_>> =
            reference.parent_columns.iter().map(|column| old.cell(*column)).collect();
        if lost.iter().any(|value| value.is_null()) {
            continue;
        }
        if has_parent(workspace, reference, &lost)? {
            // Another row has the key now.
            continue;
        }
        let child = workspace.relation(reference.child)?;
        let rows = workspace.rows_with(&child, &reference.child_columns, &lost);
        if rows.is_empty() {
            continue;
        }
        let action = if new.is_some() { reference.key.on_update } else { reference.key.on_delete };
        if action == ForeignKeyAction::NoAction {
            return Err(still_referenced(relation, &child, reference, old));
        }
        for row in rows {
            act(workspace, &child, reference, row, action, new)?;
        }
    }
    Ok(())
}

fn act(
    workspace: &mut Workspace<'_>,
    child: &Arc<Relation>,
    reference: &Reference,
    id: RowId,
    action: ForeignKeyAction,
    new_parent: Option<&[Value]>,
) -> Result<()> {
    let (table, base) = (child.schema.id, workspace.base());
    let Some(mut row) = workspace.row(child, id) else { return Ok(()) };
    let pairs = reference.child_columns.iter().zip(&reference.parent_columns);
    let new_key: Vec<(ColumnId, Value)> = match (action, new_parent) {
        (ForeignKeyAction::Cascade, None) => {
            workspace.set.delete(table, id, base);
            return workspace.set.make_room();
        }
        (ForeignKeyAction::Cascade, Some(parent)) => {
            pairs.map(|(child, of_parent)| (*child, parent[of_parent.index()].clone())).collect()
        }
        (ForeignKeyAction::SetNull, _) => pairs.map(|(child, _)| (*child, Value::Null)).collect(),
        (ForeignKeyAction::NoAction, _) => unreachable!("refused before"),
    };
    for (column, value) in &new_key {
        row[column.index()] = value.clone();
    }
    super::check_row(child, &mut row, &[])?;
    workspace.set.update_row(table, id, base, row);
    workspace.set.make_room()
}

fn still_referenced(
    parent: &Relation,
    child: &Relation,
    reference: &Reference,
    old: &OldRow,
) -> Error {
    let (name, child) = (&reference.key.name, &child.schema.name);
    let table = &parent.schema.name;
    let columns = &reference.key.parent_columns;
    let key: Vec<_> = columns.iter().map(|column| old.cell(*column)).collect();
    let message = format!(
        "update or delete on table \"{table}\" violates foreign key constraint \"{name}\" on \
         table \"{child}\""
    );
    let detail =
        format!("{} is still referenced from table \"{child}\".", shown_key(parent, columns, &key));
    Error::new(SqlState::ForeignKeyViolation, message).detail(detail).constraint(&**child, &**name)
}
