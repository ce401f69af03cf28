//! Whether a definition may change now: another session may have been faster since `sql` looked.

use std::sync::Arc;

use super::Shared;
use crate::storage::Table;
use crate::transaction::{Relation, Sight, Workspace, WriteSet, every_row};
use crate::types::{
    ColumnId, DataType, Definition, Error, IndexSchema, Result, SqlState, TableId, TableSchema,
    ValueRef, Version,
};

pub(super) fn check(shared: &Shared, definition: &Definition, present: Version) -> Result<()> {
    match definition {
        Definition::CreateTable(schema) => {
            name_is_free(shared, schema, None)?;
            assert!(shared.store.table(schema.id).is_none(), "ids of tables are given once");
            schema.indexes.iter().try_for_each(|index| index_name_is_free(shared, index))
        }
        Definition::DropTable(table) => {
            find(shared, *table)?;
            nobody_refers(shared, *table)
        }
        Definition::AlterTable(schema) => check_alter(shared, schema, present),
        Definition::CreateIndex { table, index } => {
            find(shared, *table)?;
            index_name_is_free(shared, index)
        }
        Definition::DropIndex { table, index } => match find(shared, *table)?.index(*index) {
            Some(_) => Ok(()),
            None => Err(undefined("index", &index.to_string(), SqlState::UndefinedObject)),
        },
        Definition::Truncate { tables, .. } => check_truncate(shared, tables),
        Definition::CreateSequence(schema) => {
            let taken = shared.store.sequences().iter().any(|s| s.schema().name == schema.name);
            if taken { Err(duplicate(&schema.name)) } else { Ok(()) }
        }
        Definition::DropSequence(sequence) => match shared.store.sequence(*sequence) {
            Some(_) => Ok(()),
            None => Err(undefined("sequence", &sequence.to_string(), SqlState::UndefinedTable)),
        },
        Definition::PutEntry { .. } => Ok(()),
    }
}

fn duplicate(name: &str) -> Error {
    Error::new(SqlState::DuplicateTable, format!("relation \"{name}\" already exists"))
}

fn undefined(kind: &str, id: &str, state: SqlState) -> Error {
    Error::new(state, format!("{kind} with id {id} does not exist"))
}

fn find(shared: &Shared, table: TableId) -> Result<Arc<Table>> {
    shared
        .store
        .table(table)
        .ok_or_else(|| undefined("table", &table.to_string(), SqlState::UndefinedTable))
}

fn name_is_free(shared: &Shared, schema: &TableSchema, except: Option<TableId>) -> Result<()> {
    let same_name = |table: &Arc<Table>| {
        let other = table.schema();
        Some(other.id) != except && (&other.schema, &other.name) == (&schema.schema, &schema.name)
    };
    match shared.store.tables().iter().any(same_name) {
        true => Err(duplicate(&schema.name)),
        false => Ok(()),
    }
}

fn index_name_is_free(shared: &Shared, index: &IndexSchema) -> Result<()> {
    let taken = shared
        .store
        .tables()
        .iter()
        .any(|table| table.schema().indexes.iter().any(|other| other.name == index.name));
    if taken { Err(duplicate(&index.name)) } else { Ok(()) }
}

fn nobody_refers(shared: &Shared, table: TableId) -> Result<()> {
    let relations = shared.relations.load();
    let relation = relations.get(table)?;
    let Some(reference) = relation.children.iter().find(|r| r.child != table) else {
        return Ok(());
    };
    let (name, child) = (&relation.schema.name, relations.get(reference.child)?);
    let message = format!("cannot drop table {name} because other objects depend on it");
    let detail = format!(
        "constraint {} on table {} depends on table {name}",
        reference.key.name, child.schema.name
    );
    Err(Error::new(SqlState::DependentObjects, message)
        .detail(detail)
        .hint("Use DROP ... CASCADE to drop the dependent objects too."))
}

fn check_truncate(shared: &Shared, tables: &[TableId]) -> Result<()> {
    let relations = shared.relations.load();
    for table in tables {
        let relation = relations.get(*table)?;
        let outside = relation.children.iter().find(|r| !tables.contains(&r.child));
        if let Some(reference) = outside {
            let (child, name) = (relations.get(reference.child)?, &relation.schema.name);
            let message = "cannot truncate a table referenced in a foreign key constraint";
            let detail = format!("Table \"{}\" references \"{name}\".", child.schema.name);
            return Err(Error::new(SqlState::FeatureNotSupported, message).detail(detail));
        }
    }
    Ok(())
}

fn check_alter(shared: &Shared, schema: &TableSchema, present: Version) -> Result<()> {
    let table = find(shared, schema.id)?;
    name_is_free(shared, schema, Some(schema.id))?;
    let before = table.schema();
    if schema.columns.len() < before.columns.len() {
        return Err(Error::new(
            SqlState::ObjectNotInState,
            format!("the definition of table \"{}\" has changed", schema.name),
        ));
    }
    for (column, (new, old)) in (0..).zip(schema.columns.iter().zip(&before.columns)) {
        if !stored_alike(old.data_type, new.data_type) {
            let message = format!(
                "cannot change column \"{}\" from {} to {} in place",
                new.name, old.data_type, new.data_type
            );
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
        if new.not_null && !old.not_null && !new.dropped {
            no_nulls(&table, schema, ColumnId(column), present)?;
        }
    }
    for new in schema.columns.iter().skip(before.columns.len()) {
        let has_rows = table.live_rows() > 0;
        if new.not_null && new.missing.is_null() && has_rows {
            return Err(contains_nulls(schema, &new.name));
        }
    }
    check_new_foreign_keys(shared, &before, schema, present)
}

fn stored_alike(old: DataType, new: DataType) -> bool {
    match (old, new) {
        (DataType::Numeric { .. }, DataType::Numeric { .. }) => old == new,
        _ => old == new || old.is_string() && new.is_string(),
    }
}

fn contains_nulls(schema: &TableSchema, column: &str) -> Error {
    let table = &schema.name;
    let message = format!("column \"{column}\" of relation \"{table}\" contains null values");
    Error::new(SqlState::NotNullViolation, message).column(&**table, column)
}

fn no_nulls(
    table: &Arc<Table>,
    schema: &TableSchema,
    column: ColumnId,
    present: Version,
) -> Result<()> {
    let view = table.view(present);
    let mut found = false;
    every_row(&view, |location| found |= view.cell(column, location).is_null());
    if found {
        return Err(contains_nulls(schema, &schema.columns[column.index()].name));
    }
    Ok(())
}

/// Every row must have its parents already.
fn check_new_foreign_keys(
    shared: &Shared,
    before: &TableSchema,
    schema: &TableSchema,
    present: Version,
) -> Result<()> {
    let added = schema.foreign_keys.iter().filter(|key| !before.foreign_keys.contains(key));
    let relations = shared.relations.load();
    for key in added {
        let (child, parent) = (relations.get(schema.id)?, relations.get(key.parent)?);
        let mut set = WriteSet::new();
        let published = shared.store.published();
        let sight = Sight::Newest { published, present };
        let mut workspace = Workspace::new(&relations, sight, &mut set);
        let view = child.table.view(present);
        let mut orphan = None;
        every_row(&view, |location| {
            let values: Vec<ValueRef<'_>> =
                key.columns.iter().map(|column| view.cell(*column, location)).collect();
            let is_orphan = |workspace: &mut Workspace<'_>| {
                values.iter().all(|value| !value.is_null())
                    && workspace.rows_with(parent, &key.parent_columns, &values).is_empty()
            };
            if orphan.is_none() && is_orphan(&mut workspace) {
                orphan = Some(location);
            }
        });
        if orphan.is_some() {
            return Err(orphaned(child, parent, &key.name));
        }
    }
    Ok(())
}

fn orphaned(child: &Relation, parent: &Relation, name: &str) -> Error {
    let table = &child.schema.name;
    let message =
        format!("insert or update on table \"{table}\" violates foreign key constraint \"{name}\"");
    Error::new(SqlState::ForeignKeyViolation, message)
        .detail(format!("A key is not present in table \"{}\".", parent.schema.name))
        .constraint(&**table, name)
}
