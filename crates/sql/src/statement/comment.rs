//! Statements that are taken and do nothing here: COMMENT, VACUUM, ANALYZE, GRANT, LOCK.

use datafusion::sql::sqlparser::ast::{ObjectName, Statement};
use engine::types::Result;

use super::naming::in_public;
use crate::session::Session;

/// The tag of a statement that needs no work: rows are reclaimed, statistics kept and tables never
/// locked anyway. `None` for any other statement.
pub fn accept(session: &Session, statement: &Statement) -> Option<Result<String>> {
    let tag = match statement {
        Statement::Comment { .. } => "COMMENT",
        Statement::Vacuum(vacuum) => {
            return Some(on_table(session, vacuum.table_name.as_ref(), "VACUUM"));
        }
        Statement::Analyze(analyze) => {
            return Some(on_table(session, analyze.table_name.as_ref(), "ANALYZE"));
        }
        Statement::Grant(_) => "GRANT",
        Statement::Revoke(_) => "REVOKE",
        Statement::Lock(_) | Statement::LockTables { .. } => "LOCK TABLE",
        Statement::LISTEN { .. } => "LISTEN",
        Statement::UNLISTEN { .. } => "UNLISTEN",
        _ => return None,
    };
    Some(Ok(tag.to_owned()))
}

fn on_table(session: &Session, table: Option<&ObjectName>, tag: &str) -> Result<String> {
    let catalog = session.catalog();
    if let Some(name) = table {
        let name = in_public(name)?;
        if !catalog.has_relation(&name) {
            return Err(super::naming::undefined_table(&name));
        }
    }
    Ok(tag.to_owned())
}
