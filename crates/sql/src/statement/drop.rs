//! DROP TABLE, INDEX, SEQUENCE and VIEW.

use std::collections::HashSet;

use datafusion::sql::sqlparser::ast::{ObjectName, ObjectType};
use engine::types::{
    ColumnDefault, Definition, Error, Result, SequenceId, SqlState, TableId, TableSchema,
};

use super::constraint::unsupported;
use super::naming::in_public;
use super::view;
use crate::catalog::Catalog;
use crate::session::Session;

/// DROP, taken apart.
pub struct Drop<'a> {
    /// The kind of object.
    pub kind: ObjectType,
    /// Their names.
    pub names: &'a [ObjectName],
    /// IF EXISTS
    pub if_exists: bool,
    /// CASCADE
    pub cascade: bool,
}

/// Runs DROP.
pub async fn drop(session: &mut Session, statement: Drop<'_>) -> Result<String> {
    let _defining = session.define_alone().await?;
    match statement.kind {
        ObjectType::Table => drop_tables(session, &statement).await?,
        ObjectType::Index => drop_indexes(session, &statement).await?,
        ObjectType::Sequence => drop_sequences(session, &statement).await?,
        ObjectType::View => drop_views(session, &statement).await?,
        other => return Err(unsupported(&format!("DROP {other}"))),
    }
    Ok(format!("DROP {}", statement.kind))
}

/// The names that exist; a missing one is an error, or with IF EXISTS a notice.
fn existing(
    session: &mut Session,
    statement: &Drop<'_>,
    kind: &str,
    exists: impl Fn(&Catalog, &str) -> bool,
) -> Result<Vec<String>> {
    let catalog = session.catalog();
    let mut found = Vec::new();
    for name in statement.names {
        let name = in_public(name)?;
        if exists(&catalog, &name) {
            if !found.contains(&name) {
                found.push(name);
            }
            continue;
        }
        if catalog.has_relation(&name) {
            let message = format!("\"{name}\" is not {} {kind}", article(kind));
            return Err(Error::new(SqlState::WrongObjectType, message));
        }
        let state =
            if kind == "index" { SqlState::UndefinedObject } else { SqlState::UndefinedTable };
        if !statement.if_exists {
            return Err(Error::new(state, format!("{kind} \"{name}\" does not exist")));
        }
        let message = format!("{kind} \"{name}\" does not exist, skipping");
        session.notice(Error::new(SqlState::SuccessfulCompletion, message));
    }
    Ok(found)
}

fn article(kind: &str) -> &'static str {
    if kind == "index" { "an" } else { "a" }
}

/// 2BP01 with what stands in the way.
pub fn dependents(object: &str, details: &[String]) -> Error {
    let message = format!("cannot drop {object} because other objects depend on it");
    Error::new(SqlState::DependentObjects, message)
        .detail(details.join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too.")
}

async fn drop_tables(session: &mut Session, statement: &Drop<'_>) -> Result<()> {
    let names = existing(session, statement, "table", |c, name| c.table(None, name).is_some())?;
    let catalog = session.catalog();
    let dropped: HashSet<TableId> =
        names.iter().filter_map(|name| catalog.table(None, name)).map(|table| table.id).collect();
    let mut views: Vec<String> = Vec::new();
    let mut referencing: Vec<TableSchema> = Vec::new();
    for name in &names {
        let table = catalog.table(None, name).expect("found above");
        let mut details = Vec::new();
        for view in view::depending_on(&catalog, name) {
            details.push(format!("view {view} depends on table {name}"));
            views.push(view);
        }
        for other in catalog.tables() {
            let keys = other.foreign_keys.iter().filter(|key| key.parent == table.id);
            for key in keys.filter(|_| !dropped.contains(&other.id)) {
                details.push(format!(
                    "constraint {} on table {} depends on table {name}",
                    key.name, other.name
                ));
                referencing.push(TableSchema::clone(other));
            }
        }
        if !details.is_empty() && !statement.cascade {
            return Err(dependents(&format!("table {name}"), &details));
        }
    }
    session.remove_views(&views).await?;
    for mut table in referencing {
        table.foreign_keys.retain(|key| !dropped.contains(&key.parent));
        session.define(Definition::AlterTable(table)).await?;
    }
    for id in dropped {
        session.define(Definition::DropTable(id)).await?;
    }
    Ok(())
}

async fn drop_indexes(session: &mut Session, statement: &Drop<'_>) -> Result<()> {
    let names = existing(session, statement, "index", |c, name| c.index(name).is_some())?;
    for name in names {
        let catalog = session.catalog();
        let (table, index) = catalog.index(&name).expect("found above");
        if index.constraint {
            let schema = catalog.table_by_id(table).expect("an index has a table");
            let what = format!("constraint {name} on table {} requires it", schema.name);
            let message = format!("cannot drop index {name} because {what}");
            let hint = format!("You can drop constraint {name} on table {} instead.", schema.name);
            return Err(Error::new(SqlState::DependentObjects, message).hint(hint));
        }
        let index = index.id;
        session.define(Definition::DropIndex { table, index }).await?;
    }
    Ok(())
}

/// The columns whose default a sequence is.
pub fn users_of(catalog: &Catalog, sequence: SequenceId) -> Vec<(TableId, usize)> {
    let tables = catalog.tables();
    let columns = tables.iter().flat_map(|table| {
        let columns = table.columns.iter().enumerate();
        columns.filter(|(_, column)| !column.dropped).map(|(i, column)| (table.id, i, column))
    });
    let uses = |default: &ColumnDefault| match default {
        ColumnDefault::Sequence { id, .. } => *id == sequence,
        _ => false,
    };
    columns.filter(|(.., column)| uses(&column.default)).map(|(table, i, _)| (table, i)).collect()
}

async fn drop_sequences(session: &mut Session, statement: &Drop<'_>) -> Result<()> {
    let names = existing(session, statement, "sequence", |c, name| c.sequence(name).is_some())?;
    for name in names {
        let catalog = session.catalog();
        let id = catalog.sequence(&name).expect("found above").id;
        let users = users_of(&catalog, id);
        if !users.is_empty() && !statement.cascade {
            let detail = |(table, column): &(TableId, usize)| {
                let table = catalog.table_by_id(*table).expect("found above");
                let column = &table.columns[*column].name;
                format!(
                    "default value for column {column} of table {} depends on sequence {name}",
                    table.name
                )
            };
            let details: Vec<String> = users.iter().map(detail).collect();
            return Err(dependents(&format!("sequence {name}"), &details));
        }
        for (table, column) in users {
            let catalog = session.catalog();
            let mut schema = TableSchema::clone(catalog.table_by_id(table).expect("found above"));
            schema.columns[column].default = ColumnDefault::None;
            session.define(Definition::AlterTable(schema)).await?;
        }
        session.define(Definition::DropSequence(id)).await?;
    }
    Ok(())
}

async fn drop_views(session: &mut Session, statement: &Drop<'_>) -> Result<()> {
    let mut names = existing(session, statement, "view", |c, name| c.view(name).is_some())?;
    let catalog = session.catalog();
    for name in names.clone() {
        let users: Vec<String> = view::depending_on(&catalog, &name)
            .into_iter()
            .filter(|user| !names.contains(user))
            .collect();
        if !users.is_empty() && !statement.cascade {
            let detail = |user: &String| format!("view {user} depends on view {name}");
            let details: Vec<String> = users.iter().map(detail).collect();
            return Err(dependents(&format!("view {name}"), &details));
        }
        names.extend(users);
    }
    session.remove_views(&names).await
}
