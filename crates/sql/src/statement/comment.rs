//! COMMENT: there is nowhere to keep one, but what it names must be there.

use datafusion::sql::sqlparser::ast::{CommentObject, ObjectName, Statement};
use engine::types::{Error, Result, SqlState};

use super::naming::{in_public, split, undefined_column, undefined_table};
use crate::catalog::Catalog;
use crate::session::Session;

/// The tag of a COMMENT; `None` for any other statement.
pub fn accept(session: &Session, statement: &Statement) -> Option<Result<String>> {
    match statement {
        Statement::Comment { object_type, object_name, comment: text, .. } => {
            Some(comment(session, *object_type, object_name, text.is_some()))
        }
        _ => None,
    }
}

fn exists(catalog: &Catalog, name: &ObjectName) -> Result<()> {
    let name = in_public(name)?;
    if catalog.has_relation(&name) { Ok(()) } else { Err(undefined_table(&name)) }
}

/// There is nowhere to keep a comment, so only one that takes it away is taken.
fn comment(
    session: &Session,
    kind: CommentObject,
    name: &ObjectName,
    says_something: bool,
) -> Result<String> {
    let catalog = session.catalog();
    match kind {
        CommentObject::Table
        | CommentObject::View
        | CommentObject::Sequence
        | CommentObject::Index => exists(&catalog, name)?,
        CommentObject::Column => commented_column(&catalog, name)?,
        _ => {}
    }
    if says_something {
        let message = "COMMENT ON is not supported: comments are not kept";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    Ok("COMMENT".to_owned())
}

/// `table.column`, perhaps with a schema in front.
fn commented_column(catalog: &Catalog, name: &ObjectName) -> Result<()> {
    let (table, column) = split(&last_two(name))?;
    let Some(table) = table else {
        let message = "column name must be qualified";
        return Err(Error::new(SqlState::SyntaxError, message));
    };
    match catalog.table(None, &table) {
        Some(known) if known.column(&column).is_some() => Ok(()),
        Some(_) => Err(undefined_column(&table, &column)),
        None if catalog.has_relation(&table) => Ok(()),
        None => Err(undefined_table(&table)),
    }
}

fn last_two(name: &ObjectName) -> ObjectName {
    ObjectName(name.0[name.0.len().saturating_sub(2)..].to_vec())
}
