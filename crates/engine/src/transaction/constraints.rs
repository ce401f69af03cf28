//! What rows must obey together: unique keys and foreign keys, over own and stored rows.

use std::sync::Arc;

use super::display;
use super::lost_keys::{LostKey, lost_keys};
use super::{Change, LockMode, Mark, Overlay, Reference, Relation, Workspace, WriteSet, every_row};
use crate::storage::{Index, Load, TableView};
use crate::types::{ColumnId, Error, Location, Result, RowId, SqlState, Value, ValueRef, limit};

/// Levels of cascading after which something is wrong with the definitions rather than with the data.
const DEEPEST_CASCADE: usize = 10_000_000;

/// Changes that are checked before it is asked whether the statement goes on.
const CHANGES_BETWEEN_CHECKS: usize = 64;

/// When changes are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// At the end of the statement that made them.
    Statement,
    /// When the block whose statements made them commits. What these did to keys and to rows that refer to them is among the
    /// changes.
    Commit,
}

/// Checks all changes since `mark`, and adds the changes that foreign keys' actions make. Rows that refer to the keys that some
/// changes take away are looked for before any of them changes: what follows a key to its new value does not follow it further
/// where another key is changed from that value.
pub(crate) fn check_changes(
    workspace: &mut Workspace<'_>,
    mark: Mark,
    moment: Moment,
) -> Result<()> {
    let (mut position, mut lost) = (mark.position(), Vec::new());
    while position < workspace.set.len() {
        for position in position..workspace.set.len() {
            assert!(position < DEEPEST_CASCADE, "cascades end");
            if position.is_multiple_of(CHANGES_BETWEEN_CHECKS) {
                limit::check()?;
            }
            check_change(workspace, position, moment, &mut lost)?;
        }
        position = workspace.set.len();
        lost.drain(..).try_for_each(|key: LostKey| key.settle(workspace))?;
    }
    Ok(())
}

fn check_change(
    workspace: &mut Workspace<'_>,
    position: usize,
    moment: Moment,
    lost: &mut Vec<LostKey>,
) -> Result<()> {
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
        (old, false) => lost_keys(workspace, &relation, (old, new), moment, lost),
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
pub(super) enum OldRow {
    /// There was none.
    None,
    /// The transaction's own.
    Own(Arc<[Value]>),
    /// Where storage has it.
    Stored(Arc<TableView>, Location),
}

impl OldRow {
    pub fn cell(&self, column: ColumnId) -> ValueRef<'_> {
        match self {
            OldRow::None => ValueRef::Null,
            OldRow::Own(row) => row[column.index()].borrow(),
            OldRow::Stored(view, location) => view.cell(column, *location),
        }
    }

    /// Whether it was there and had the same values in some columns.
    pub fn same(&self, columns: &[ColumnId], new: &[Value]) -> bool {
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

pub(super) fn shown_key(relation: &Relation, columns: &[ColumnId], key: &[ValueRef<'_>]) -> String {
    let names = relation.column_names(columns);
    format!("Key ({names})=({})", display::list(key.iter().copied()))
}

/// The key by which a row refers to another one; `None` where it refers to none.
fn referring<'r>(
    relation: &Relation,
    reference: &Reference,
    cell: impl Fn(ColumnId) -> ValueRef<'r>,
) -> Result<Option<Vec<ValueRef<'r>>>> {
    let key: Vec<_> = reference.child_columns.iter().map(|column| cell(*column)).collect();
    match key.iter().filter(|value| value.is_null()).count() {
        0 => Ok(Some(key)),
        nulls if reference.key.is_full && nulls < key.len() => Err(mixed_key(relation, reference)),
        _ => Ok(None),
    }
}

fn mixed_key(relation: &Relation, reference: &Reference) -> Error {
    let detail = "MATCH FULL does not allow mixing of null and nonnull key values.";
    violated(&relation.schema.name, &reference.key.name).detail(detail)
}

/// 23503 of a row that refers to others.
fn violated(child: &str, name: &str) -> Error {
    let message =
        format!("insert or update on table \"{child}\" violates foreign key constraint \"{name}\"");
    Error::new(SqlState::ForeignKeyViolation, message).constraint(child, name)
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
        let cell = |column: ColumnId| new[column.index()].borrow();
        let Some(key) = referring(relation, reference, cell)? else { continue };
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
        if reference.key.is_full
            && let Some(row) = load.first_mixed(&reference.child_columns)
        {
            return Err((row, mixed_key(relation, reference)));
        }
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

pub(super) fn has_parent(
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
    let parent = workspace.relation(reference.key.parent)?;
    let columns = &reference.key.columns;
    let shown = shown_key(relation, columns, &reference.in_its_order(key));
    let detail = format!("{shown} is not present in table \"{}\".", parent.schema.name);
    Ok(violated(&relation.schema.name, &reference.key.name).detail(detail))
}

/// A new foreign key over rows that are there: whether a row has what it refers to.
pub(crate) fn check_stored_parent<'r>(
    workspace: &mut Workspace<'_>,
    relation: &Relation,
    reference: &Reference,
    cell: impl Fn(ColumnId) -> ValueRef<'r>,
) -> Result<()> {
    let Some(key) = referring(relation, reference, cell)? else { return Ok(()) };
    match has_parent(workspace, reference, &key)? {
        true => Ok(()),
        false => Err(parent_missing(workspace, relation, reference, &key)?),
    }
}
