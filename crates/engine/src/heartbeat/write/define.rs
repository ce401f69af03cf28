//! Whether a definition may change now: another session may have been faster since `sql` looked.

use std::sync::Arc;

use super::Shared;
use super::statement::check_now_and_then;
use crate::storage::{Table, TableView};
use crate::transaction::{
    Reference, Sight, Workspace, WriteSet, check_stored_parent, definition_changed, every_row,
};
use crate::types::{
    ColumnId, DataType, Definition, Error, IndexId, IndexSchema, Location, Result, SqlState,
    TableId, TableSchema, Value, Version,
};

/// What is gone by the time that a definition takes effect: the same block drops it.
#[derive(Default)]
pub(super) struct Gone {
    tables: Vec<TableId>,
    indexes: Vec<IndexId>,
}

impl Gone {
    fn by(definitions: &[Definition]) -> Gone {
        let mut gone = Gone::default();
        for definition in definitions {
            match definition {
                Definition::DropTable(table) => gone.tables.push(*table),
                Definition::DropIndex { index, .. } => gone.indexes.push(*index),
                _ => {}
            }
        }
        gone
    }
}

/// The definitions of one block, before any of them takes effect.
pub(super) fn check_all(
    shared: &Shared,
    definitions: &[Definition],
    present: Version,
) -> Result<()> {
    let gone = Gone::by(definitions);
    definitions.iter().try_for_each(|definition| check(shared, definition, present, &gone))
}

/// Builds the indexes among the definitions whose columns are there already; all or none.
pub(super) fn build_indexes<'a>(
    shared: &Shared,
    definitions: &'a [Definition],
) -> Result<Vec<&'a Definition>> {
    let mut built: Vec<&Definition> = Vec::new();
    for definition in definitions {
        let Definition::CreateIndex { table: id, index } = definition else { continue };
        let table = find(shared, *id)?;
        let stored = table.schema().columns.len();
        if index.columns.iter().any(|column| column.index() >= stored) {
            no_equal_defaults(&table, definitions, index)?;
            continue;
        }
        if let Err(fault) = table.create_index(index.clone()) {
            for definition in built {
                if let Definition::CreateIndex { table, index } = definition {
                    find(shared, *table)?.drop_index(index.id);
                }
            }
            return Err(fault);
        }
        built.push(definition);
    }
    Ok(built)
}

/// An index over a column that the same block adds: all present rows have the column's default.
fn no_equal_defaults(
    table: &Arc<Table>,
    definitions: &[Definition],
    index: &IndexSchema,
) -> Result<()> {
    let id = table.schema().id;
    let altered = definitions.iter().rev().find_map(|definition| match definition {
        Definition::AlterTable(schema) if schema.id == id => Some(schema),
        _ => None,
    });
    let missing = |column: &ColumnId| {
        altered.and_then(|schema| schema.columns.get(column.index())).map(|c| &c.missing)
    };
    let stored = table.schema().columns.len();
    let added = index.columns.iter().filter(|column| column.index() >= stored);
    let null = added.into_iter().any(|column| missing(column).is_none_or(Value::is_null));
    if index.unique && !null && table.live_rows() > 1 {
        let message = format!("could not create unique index \"{}\"", index.name);
        return Err(Error::new(SqlState::UniqueViolation, message));
    }
    Ok(())
}

pub(super) fn check(
    shared: &Shared,
    definition: &Definition,
    present: Version,
    gone: &Gone,
) -> Result<()> {
    match definition {
        Definition::CreateTable(schema) => {
            name_is_free(shared, schema, None, gone)?;
            assert!(shared.store.table(schema.id).is_none(), "ids of tables are given once");
            let indexes = schema.indexes.iter();
            indexes
                .into_iter()
                .try_for_each(|i| index_name_is_free(shared, &schema.schema, i, gone))
        }
        Definition::DropTable(table) => {
            find(shared, *table)?;
            nobody_refers(shared, *table, gone)
        }
        Definition::AlterTable(schema) => check_alter(shared, schema, present, gone),
        Definition::CreateIndex { table, index } => {
            let namespace = find(shared, *table)?.schema().schema.clone();
            index_name_is_free(shared, &namespace, index, gone)
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
        Definition::ReplaceTable { table, by } => {
            assert!(shared.store.table(by.id).is_none(), "ids of tables are given once");
            // It may have more columns, which are computed from these.
            let old = find(shared, *table)?.schema();
            let mut pairs = old.columns.iter().zip(&by.columns);
            let is_kept = old.columns.len() <= by.columns.len();
            match is_kept && pairs.all(|(old, new)| old.name == new.name) {
                true => Ok(()),
                false => Err(definition_changed()),
            }
        }
        Definition::AlterSequence(schema) => match shared.store.sequence(schema.id) {
            Some(_) => Ok(()),
            None => Err(undefined("sequence", &schema.name, SqlState::UndefinedTable)),
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

pub(super) fn find(shared: &Shared, table: TableId) -> Result<Arc<Table>> {
    shared
        .store
        .table(table)
        .ok_or_else(|| undefined("table", &table.to_string(), SqlState::UndefinedTable))
}

fn name_is_free(
    shared: &Shared,
    schema: &TableSchema,
    except: Option<TableId>,
    gone: &Gone,
) -> Result<()> {
    let same_name = |table: &Arc<Table>| {
        let other = table.schema();
        Some(other.id) != except
            && !gone.tables.contains(&other.id)
            && (&other.schema, &other.name) == (&schema.schema, &schema.name)
    };
    match shared.store.tables().iter().any(same_name) {
        true => Err(duplicate(&schema.name)),
        false => Ok(()),
    }
}

fn index_name_is_free(
    shared: &Shared,
    namespace: &str,
    index: &IndexSchema,
    gone: &Gone,
) -> Result<()> {
    let tables = shared.store.tables();
    let tables = tables.iter().map(|table| table.schema());
    let mut beside = tables.filter(|t| *t.schema == *namespace && !gone.tables.contains(&t.id));
    let taken = beside.any(|table| {
        let others = table.indexes.iter().filter(|other| !gone.indexes.contains(&other.id));
        others.into_iter().any(|other| other.name == index.name && other.id != index.id)
    });
    if taken { Err(duplicate(&index.name)) } else { Ok(()) }
}

fn nobody_refers(shared: &Shared, table: TableId, gone: &Gone) -> Result<()> {
    let relations = shared.relations.load();
    let relation = relations.get(table)?;
    let Some(reference) =
        relation.children.iter().find(|r| r.child != table && !gone.tables.contains(&r.child))
    else {
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

fn check_alter(shared: &Shared, schema: &TableSchema, present: Version, gone: &Gone) -> Result<()> {
    let table = find(shared, schema.id)?;
    name_is_free(shared, schema, Some(schema.id), gone)?;
    let before = table.schema();
    if before.schema != schema.schema {
        let mut indexes = before.indexes.iter();
        indexes.try_for_each(|index| index_name_is_free(shared, &schema.schema, index, gone))?;
    }
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
    each_row(&view, |location| match view.cell(column, location).is_null() {
        true => Err(contains_nulls(schema, &schema.columns[column.index()].name)),
        false => Ok(()),
    })
}

/// Looks at every row until one is at fault, or the work is to end.
fn each_row(view: &TableView, mut look: impl FnMut(Location) -> Result<()>) -> Result<()> {
    let (mut outcome, mut looked) = (Ok(()), 0_usize);
    every_row(view, |location| {
        if outcome.is_ok() {
            outcome = check_now_and_then(looked).and_then(|()| look(location));
            looked += 1;
        }
    });
    outcome
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
        let child = relations.get(schema.id)?.redefined(schema);
        let parents = std::slice::from_ref(&relations.get(key.parent)?.table);
        let reference = Reference::new(parents, schema.id, key.clone());
        let mut set = WriteSet::new();
        let published = shared.store.published();
        let sight = Sight::Newest { published, present };
        let mut workspace = Workspace::new(&relations, sight, &mut set);
        let view = child.table.view(present);
        each_row(&view, |location| {
            let cell = |column: ColumnId| match column.index() < before.columns.len() {
                true => view.cell(column, location),
                false => schema.columns[column.index()].missing.borrow(),
            };
            check_stored_parent(&mut workspace, &child, &reference, cell)
        })?;
    }
    Ok(())
}
