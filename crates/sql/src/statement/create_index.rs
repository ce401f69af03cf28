//! CREATE INDEX.

use datafusion::sql::sqlparser::ast::{self, IndexType};
use engine::types::{Definition, Error, IndexKind, IndexSchema, Result, SqlState};

use super::constraint::{key_column, unsupported};
use super::naming::{choose, fold, in_public, table};
use crate::session::Session;

/// Runs CREATE INDEX. CONCURRENTLY is how every index is built here: readers never wait.
pub async fn create_index(session: &mut Session, statement: &ast::CreateIndex) -> Result<String> {
    if statement.predicate.is_some() {
        return Err(unsupported("a partial index"));
    }
    if !statement.include.is_empty() {
        return Err(unsupported("INCLUDE"));
    }
    if statement.nulls_distinct == Some(false) {
        return Err(unsupported("UNIQUE NULLS NOT DISTINCT"));
    }
    let kind = match &statement.using {
        None | Some(IndexType::BTree) => IndexKind::Ordered,
        Some(IndexType::Hash) => IndexKind::Hash,
        Some(other) => return Err(no_access_method(other)),
    };
    if kind == IndexKind::Hash {
        refuse_for_hash(statement)?;
    }
    let database = session.database().clone();
    let _defining = session.define_alone().await?;
    let catalog = session.catalog();
    let table = table(&catalog, &statement.table_name)?.clone();
    let mut columns = Vec::new();
    for column in &statement.columns {
        let name = fold(&key_column(column)?);
        let found = table.column(&name).map(|(id, _)| id);
        columns.push(found.ok_or_else(|| {
            let message = format!("column \"{name}\" does not exist");
            Error::new(SqlState::UndefinedColumn, message)
        })?);
    }
    let name = match &statement.name {
        Some(name) => in_public(name)?,
        None => {
            let mut parts = vec![&*table.name];
            parts.extend(columns.iter().map(|id| &*table.columns[id.index()].name));
            choose(&parts, "idx", |name| catalog.has_relation(name))
        }
    };
    if catalog.has_relation(&name) {
        return session.exists(&name, statement.if_not_exists).map(|()| "CREATE INDEX".into());
    }
    let index = IndexSchema {
        id: database.ids.index(&catalog),
        name: name.as_str().into(),
        columns,
        kind,
        unique: statement.unique,
        primary: false,
        constraint: false,
    };
    session.define(Definition::CreateIndex { table: table.id, index }).await?;
    Ok("CREATE INDEX".to_owned())
}

/// PostgreSQL's hash indexes have one column and are never unique.
fn refuse_for_hash(statement: &ast::CreateIndex) -> Result<()> {
    let what = match (statement.unique, statement.columns.len()) {
        (true, _) => "unique indexes",
        (false, 0..=1) => return Ok(()),
        _ => "multicolumn indexes",
    };
    let message = format!("access method \"hash\" does not support {what}");
    Err(Error::new(SqlState::FeatureNotSupported, message))
}

fn no_access_method(method: &IndexType) -> Error {
    let name = method.to_string().to_lowercase();
    if ["gin", "gist", "spgist", "brin"].contains(&&*name) {
        return unsupported(&format!("access method \"{name}\""));
    }
    Error::new(SqlState::UndefinedObject, format!("access method \"{name}\" does not exist"))
}
