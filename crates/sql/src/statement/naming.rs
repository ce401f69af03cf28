//! Names of relations: as stored, and those that PostgreSQL chooses when the user gives none.

use datafusion::sql::sqlparser::ast::{Ident, ObjectName};
use engine::types::{Error, Result, SqlState, TableSchema};
use std::sync::Arc;

use crate::catalog::Catalog;

/// Bytes of a name that are kept.
const NAME_LIMIT: usize = 63;

/// An identifier as stored: folded to lower case unless quoted, cut to 63 bytes as PostgreSQL does.
pub fn fold(ident: &Ident) -> String {
    let mut name = crate::template::fold(ident);
    cut(&mut name, NAME_LIMIT);
    name
}

fn cut(name: &mut String, limit: usize) {
    if name.len() > limit {
        let end = (0..=limit).rev().find(|end| name.is_char_boundary(*end));
        name.truncate(end.expect("0 is a boundary"));
    }
}

/// Schema, if named, and name.
pub fn split(name: &ObjectName) -> Result<(Option<String>, String)> {
    let parts: Option<Vec<String>> = name.0.iter().map(|part| part.as_ident().map(fold)).collect();
    match parts.unwrap_or_default().as_slice() {
        [name] => Ok((None, name.clone())),
        // A database in front can only be ours.
        [schema, name] | [_, schema, name] => Ok((Some(schema.clone()), name.clone())),
        _ => {
            let message = format!("improper qualified name (too many dotted names): {name}");
            Err(Error::new(SqlState::SyntaxError, message))
        }
    }
}

/// A user object's bare name; other schemas than `public` are refused.
pub fn in_public(name: &ObjectName) -> Result<String> {
    let (schema, name) = split(name)?;
    match schema.as_deref() {
        None | Some("public") => Ok(name),
        Some("pg_catalog" | "information_schema" | "shareddb") => {
            let message = format!("permission denied: \"{name}\" is a system catalog");
            Err(Error::new(SqlState::InsufficientPrivilege, message))
        }
        Some(schema) => {
            let message = format!("schema \"{schema}\" does not exist");
            Err(Error::new(SqlState::InvalidSchema, message))
        }
    }
}

/// The table of that name, to be changed; 42P01, or 42809 for a view or a sequence.
pub fn table<'a>(catalog: &'a Catalog, name: &ObjectName) -> Result<&'a Arc<TableSchema>> {
    let bare = in_public(name)?;
    if let Some(table) = catalog.table(None, &bare) {
        return Ok(table);
    }
    if catalog.has_relation(&bare) {
        let message = format!("\"{bare}\" is not a table");
        return Err(Error::new(SqlState::WrongObjectType, message));
    }
    Err(undefined_table(&bare))
}

/// 42P01.
pub fn undefined_table(name: &str) -> Error {
    Error::new(SqlState::UndefinedTable, format!("relation \"{name}\" does not exist"))
}

/// 42703, as statements that change a table word it.
pub fn undefined_column(table: &str, column: &str) -> Error {
    let message = format!("column \"{column}\" of relation \"{table}\" does not exist");
    Error::new(SqlState::UndefinedColumn, message)
}

/// 42P07.
pub fn duplicate_relation(name: &str) -> Error {
    Error::new(SqlState::DuplicateTable, format!("relation \"{name}\" already exists"))
}

/// `table_column_label`, numbered until `taken` says no; long parts are cut as PostgreSQL does.
pub fn choose(parts: &[&str], label: &str, taken: impl Fn(&str) -> bool) -> String {
    (0..)
        .map(|number| {
            let label = if number == 0 { label.to_owned() } else { format!("{label}{number}") };
            let mut name = parts.join("_");
            cut(&mut name, NAME_LIMIT - 1 - label.len());
            format!("{name}_{label}")
        })
        .find(|name| !taken(name))
        .expect("numbers do not end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_names_are_numbered_and_cut() {
        assert_eq!(choose(&["t", "a"], "key", |_| false), "t_a_key");
        assert_eq!(choose(&["t", "a"], "key", |name| name == "t_a_key"), "t_a_key1");
        assert_eq!(choose(&[&"x".repeat(80)], "pkey", |_| false).len(), NAME_LIMIT);
    }
}
