//! Statements that nothing here runs: what they name is looked up first, as PostgreSQL does.

use datafusion::sql::sqlparser::ast::{ObjectName, ObjectType, SchemaName, Statement};
use engine::types::{Error, SqlState};

use super::naming::{fold, split, undefined_table};
use crate::catalog::Catalog;

/// The fault that PostgreSQL finds before it would run the statement.
pub fn fault(catalog: &Catalog, statement: &Statement) -> Option<Error> {
    match statement {
        Statement::Drop { object_type, names, if_exists: false, .. } => {
            names.iter().find_map(|name| not_dropped(*object_type, name))
        }
        Statement::DropFunction(drop) if !drop.if_exists => {
            let message =
                format!("function {}() does not exist", last(&drop.func_desc.first()?.name)?);
            Some(Error::new(SqlState::UndefinedFunction, message))
        }
        Statement::CreateSchema {
            schema_name: SchemaName::Simple(name), if_not_exists, ..
        } => {
            let name = last(name)?;
            let message = format!("schema \"{name}\" already exists");
            let taken = is_schema(&name) && !if_not_exists;
            taken.then(|| Error::new(SqlState::DuplicateSchema, message))
        }
        Statement::CreateDatabase { db_name, if_not_exists, .. } => {
            let name = last(db_name)?;
            let message = format!("database \"{name}\" already exists");
            let taken = name == "shareddb" && !if_not_exists;
            taken.then(|| Error::new(SqlState::DuplicateDatabase, message))
        }
        Statement::AlterIndex { name, .. } => {
            let name = last(name)?;
            (!catalog.has_relation(&name)).then(|| undefined_table(&name))
        }
        _ => None,
    }
}

/// DROP of what never is there.
pub fn not_dropped(kind: ObjectType, name: &ObjectName) -> Option<Error> {
    let name = last(name)?;
    let (known, state, word) = match kind {
        ObjectType::Schema => (is_schema(&name), SqlState::InvalidSchema, "schema"),
        ObjectType::Type => (false, SqlState::UndefinedObject, "type"),
        ObjectType::Database => (name == "shareddb", SqlState::InvalidDatabase, "database"),
        _ => return None,
    };
    (!known).then(|| Error::new(state, format!("{word} \"{name}\" does not exist")))
}

fn is_schema(name: &str) -> bool {
    matches!(name, "public" | "pg_catalog" | "information_schema" | "shareddb")
}

fn last(name: &ObjectName) -> Option<String> {
    match split(name) {
        Ok((_, name)) => Some(name),
        Err(_) => name.0.last()?.as_ident().map(fold),
    }
}
