//! Names of relations: as stored, and those that PostgreSQL chooses when the user gives none.

use datafusion::sql::sqlparser::ast::{Ident, ObjectName};
use engine::types::{Error, Result, SqlState, TableSchema};
use std::sync::Arc;

use crate::catalog::Catalog;
pub use crate::template::fold;
use crate::template::long_names::{NAME_LIMIT, cut};

/// The only database.
const DATABASE: &str = "shareddb";

/// Words that are no names of columns unless quoted: PostgreSQL's keywords but for the unreserved ones.
const KEYWORDS: &str = " all analyse analyze and any array as asc asymmetric authorization between bigint binary bit \
    boolean both case cast char character check coalesce collate collation column concurrently constraint create \
    cross current_catalog current_date current_role current_schema current_time current_timestamp current_user dec \
    decimal default deferrable desc distinct do else end except exists extract false fetch float for foreign freeze \
    from full grant greatest group grouping having ilike in initially inner inout int integer intersect interval \
    into is isnull join lateral leading least left like limit localtime localtimestamp national natural nchar none \
    normalize not notnull null nullif numeric offset on only or order out outer overlaps overlay placing position \
    precision primary real references returning right row select session_user setof similar smallint some \
    substring symmetric table tablesample then time timestamp to trailing treat trim true union unique user using \
    values varchar variadic verbose when where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest \
    xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable ";

/// A name as one has to write it.
pub fn quote_identifier(name: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit();
    let starts = |c: char| plain(c) && !c.is_ascii_digit();
    let is_plain = name.starts_with(starts) && name.chars().all(plain);
    match is_plain && !KEYWORDS.contains(&format!(" {name} ")) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// A name whose parts are as they are stored.
pub fn object_name(parts: Vec<String>) -> ObjectName {
    let part = |part: String| match quote_identifier(&part) == part {
        true => Ident::new(part),
        false => Ident::with_quote('"', part),
    };
    ObjectName::from(parts.into_iter().map(part).collect::<Vec<_>>())
}

/// Schema, if named, and name.
pub fn split(name: &ObjectName) -> Result<(Option<String>, String)> {
    let parts: Option<Vec<String>> = name.0.iter().map(|part| part.as_ident().map(fold)).collect();
    match parts.unwrap_or_default().as_slice() {
        [name] => Ok((None, name.clone())),
        [schema, name] => Ok((Some(schema.clone()), name.clone())),
        [database, schema, name] if database == DATABASE => {
            Ok((Some(schema.clone()), name.clone()))
        }
        [_, _, _] => {
            let message = format!("cross-database references are not implemented: \"{name}\"");
            Err(Error::new(SqlState::FeatureNotSupported, message))
        }
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
            let name = parts.join("_");
            format!("{}_{label}", cut(&name, NAME_LIMIT - 1 - label.len()))
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
