//! Keys that rows lose, and what becomes of the rows that refer to them.

use std::sync::Arc;

use super::constraints::{Moment, OldRow, has_parent, shown_key};
use super::{Reference, Relation, Workspace, check_row};
use crate::types::{
    ColumnDefault, ColumnId, Error, ForeignKeyAction, Result, RowId, SqlState, Value, ValueRef,
};

/// A key that a row has lost while others refer to it.
pub(super) struct LostKey {
    reference: Arc<Reference>,
    /// In the order of the reference's columns of the parent.
    key: Vec<Value>,
    /// The row with its new key; `None`: the row is gone.
    new: Option<Arc<[Value]>>,
    /// The rows that referred to it when it was lost.
    children: Vec<RowId>,
}

/// The keys that a change takes away and others refer to.
pub(super) fn lost_keys(
    workspace: &mut Workspace<'_>,
    relation: &Relation,
    (old, new): (&OldRow, Option<Arc<[Value]>>),
    moment: Moment,
    lost: &mut Vec<LostKey>,
) -> Result<()> {
    for reference in &relation.children {
        if new.as_deref().is_some_and(|new| old.same(&reference.parent_columns, new)) {
            continue;
        }
        let columns = reference.parent_columns.iter();
        let key: Vec<ValueRef<'_>> = columns.map(|column| old.cell(*column)).collect();
        if key.iter().any(|value| value.is_null()) {
            continue;
        }
        let may_be_another = moment == Moment::Commit
            || action(reference, new.is_some()) == ForeignKeyAction::NoAction;
        if may_be_another && has_parent(workspace, reference, &key)? {
            // Another row has the key now.
            continue;
        }
        let child = workspace.relation(reference.child)?;
        let children = workspace.rows_with(&child, &reference.child_columns, &key);
        if !children.is_empty() {
            let key = key.iter().map(|value| ValueRef::to_owned(*value)).collect();
            let (reference, new) = (reference.clone(), new.clone());
            lost.push(LostKey { reference, key, new, children });
        }
    }
    Ok(())
}

fn action(reference: &Reference, is_update: bool) -> ForeignKeyAction {
    if is_update { reference.key.on_update } else { reference.key.on_delete }
}

impl LostKey {
    /// What refers to the key goes, changes, or stops the statement.
    pub fn settle(self, workspace: &mut Workspace<'_>) -> Result<()> {
        let child = workspace.relation(self.reference.child)?;
        let action = action(&self.reference, self.new.is_some());
        match action {
            ForeignKeyAction::NoAction | ForeignKeyAction::Restrict => {
                self.refuse_children(workspace, &child)
            }
            ForeignKeyAction::Cascade if self.new.is_none() => self.delete(workspace, &child),
            ForeignKeyAction::Cascade | ForeignKeyAction::SetNull => {
                self.update(workspace, &child, action)
            }
            ForeignKeyAction::SetDefault => {
                self.update(workspace, &child, action)?;
                // The default may be the key that is gone.
                self.refuse_children(workspace, &child)
            }
        }
    }

    fn refuse_children(&self, workspace: &mut Workspace<'_>, child: &Arc<Relation>) -> Result<()> {
        let key: Vec<ValueRef<'_>> = self.key.iter().map(Value::borrow).collect();
        match workspace.rows_with(child, &self.reference.child_columns, &key).is_empty() {
            true => Ok(()),
            false => Err(self.still_referenced(workspace, child)?),
        }
    }

    fn delete(&self, workspace: &mut Workspace<'_>, child: &Arc<Relation>) -> Result<()> {
        let (table, base) = (child.schema.id, workspace.base());
        for id in &self.children {
            if workspace.row(child, *id).is_some() {
                workspace.set.delete(table, *id, base);
                workspace.set.make_room()?;
            }
        }
        Ok(())
    }

    fn update(
        &self,
        workspace: &mut Workspace<'_>,
        child: &Arc<Relation>,
        action: ForeignKeyAction,
    ) -> Result<()> {
        let (table, base) = (child.schema.id, workspace.base());
        let (new_key, rules) = (self.new_key(child, action)?, child.rules()?);
        for id in &self.children {
            let Some(mut row) = workspace.row(child, *id) else { continue };
            for (column, value) in &new_key {
                row[column.index()] = value.clone();
            }
            check_row(child, &mut row, &rules)?;
            workspace.set.update_row(table, *id, base, row);
            workspace.set.make_room()?;
        }
        Ok(())
    }

    /// The values that the referring columns get.
    fn new_key(
        &self,
        child: &Relation,
        action: ForeignKeyAction,
    ) -> Result<Vec<(ColumnId, Value)>> {
        let pairs = self.reference.child_columns.iter().zip(&self.reference.parent_columns);
        let value = |(column, of_parent): (&ColumnId, &ColumnId)| {
            let value = match (action, &self.new) {
                (ForeignKeyAction::Cascade, Some(parent)) => {
                    child.assigned(&parent[of_parent.index()], *column)?
                }
                (ForeignKeyAction::SetDefault, _) => default(child, *column)?,
                _ => Value::Null,
            };
            Ok((*column, value))
        };
        pairs.map(value).collect()
    }

    fn still_referenced(&self, workspace: &Workspace<'_>, child: &Relation) -> Result<Error> {
        let parent = workspace.relation(self.reference.key.parent)?;
        let (name, child) = (&self.reference.key.name, &child.schema.name);
        let columns = &self.reference.key.parent_columns;
        let key: Vec<ValueRef<'_>> = self.key.iter().map(Value::borrow).collect();
        let shown = shown_key(&parent, columns, &self.reference.in_its_order(&key));
        let message = format!(
            "update or delete on table \"{}\" violates foreign key constraint \"{name}\" on table \"{child}\"",
            parent.schema.name
        );
        let detail = format!("{shown} is still referenced from table \"{child}\".");
        let error = Error::new(SqlState::ForeignKeyViolation, message).detail(detail);
        Ok(error.constraint(&**child, &**name))
    }
}

/// What SET DEFAULT sets. Defaults that are computed are refused where such a key is defined.
fn default(child: &Relation, column: ColumnId) -> Result<Value> {
    let column = &child.schema.columns[column.index()];
    match &column.default {
        ColumnDefault::None => Ok(Value::Null),
        ColumnDefault::Constant(value) => Ok(value.clone()),
        ColumnDefault::Expression(_)
        | ColumnDefault::Generated(_)
        | ColumnDefault::Sequence { .. } => {
            let message = format!(
                "SET DEFAULT of column \"{}\" by a foreign key is not supported",
                column.name
            );
            Err(Error::new(SqlState::FeatureNotSupported, message))
        }
    }
}
