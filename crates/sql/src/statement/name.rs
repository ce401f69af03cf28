//! Identifiers: folding, qualification.

use datafusion::sql::sqlparser::ast::{Ident, ObjectName};
use engine::types::{Error, Result, SqlState};

/// An identifier as stored: folded to lower case unless quoted, cut to 63 bytes as PostgreSQL does.
pub fn fold(ident: &Ident) -> String {
    let mut name = match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    };
    if name.len() > 63 {
        let end = (0..=63).rev().find(|end| name.is_char_boundary(*end)).expect("0 is a boundary");
        name.truncate(end);
    }
    name
}

/// Schema, if named, and name.
pub fn split(name: &ObjectName) -> Result<(Option<String>, String)> {
    let part = |at: usize| name.0.get(at).and_then(|part| part.as_ident()).map(fold);
    match name.0.len() {
        1 => Ok((None, part(0).ok_or_else(|| not_a_name(name))?)),
        2 => Ok((part(0), part(1).ok_or_else(|| not_a_name(name))?)),
        // A database name in front must be ours; nobody can mean another.
        3 => Ok((part(1), part(2).ok_or_else(|| not_a_name(name))?)),
        _ => Err(not_a_name(name)),
    }
}

/// A user object's bare name; 3F000 for another schema than `public`.
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

fn not_a_name(name: &ObjectName) -> Error {
    let message = format!("improper qualified name (too many dotted names): {name}");
    Error::new(SqlState::SyntaxError, message)
}
