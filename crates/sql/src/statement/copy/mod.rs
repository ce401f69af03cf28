//! COPY: rows in bulk, as text or CSV.
//!
//! In come the client's bytes or a query's rows; out go rows in the transaction's write set, or
//! lines for the client. All or nothing: a fault in any line leaves no row behind.

mod forced;
mod from;
mod lines;
mod options;
mod to;

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{CopySource, CopyTarget, ObjectName, Statement};
use engine::transaction::TableMode;
use engine::types::{ColumnId, Error, Result, SqlState, TableSchema};

pub use forced::ALL;

use super::constraint::unsupported;
use super::generated::is_generated;
use super::naming::{fold, table, undefined_column};
use crate::session::{Outcome, Session};

/// Runs COPY.
pub async fn run(session: &mut Session, statement: &Statement) -> Result<Outcome> {
    let Statement::Copy { source, to, target, options, legacy_options, .. } = statement else {
        unreachable!("the caller matched");
    };
    match (target, to) {
        (CopyTarget::Stdin, false) | (CopyTarget::Stdout, true) => {}
        (CopyTarget::Stdin | CopyTarget::Stdout, _) => {
            return Err(Error::new(SqlState::SyntaxError, "syntax error at or near \"STDIN\""));
        }
        _ => return Err(unsupported("COPY with a file or program of the server")),
    }
    let format = options::Format::new(options, legacy_options, !to)?;
    match (source, to) {
        (CopySource::Table { table_name, columns }, false) => {
            session.refuse_read_only("COPY FROM")?;
            let schema = used(session, table_name, TableMode::RowExclusive).await?;
            let columns = columns_of(&schema, columns)?;
            from::start(session, schema, columns, format).map(Outcome::CopyIn)
        }
        (CopySource::Table { table_name, columns }, true) => {
            let catalog = session.catalog();
            let schema = table(&catalog, table_name)?.clone();
            let columns = columns_of(&schema, columns)?;
            to::table(session, &schema, &columns, format).await
        }
        (CopySource::Query(query), _) => to::query(session, query, format).await,
    }
}

/// A table that may be used so.
async fn used(
    session: &mut Session,
    name: &ObjectName,
    mode: TableMode,
) -> Result<Arc<TableSchema>> {
    loop {
        let schema = table(&session.catalog(), name)?.clone();
        if !session.minds_tables() || !session.use_tables(&[(schema.id, mode)]).await? {
            return Ok(schema);
        }
        session.database().planner.refresh();
    }
}

/// The named columns, or all.
fn columns_of(
    table: &TableSchema,
    names: &[datafusion::sql::sqlparser::ast::Ident],
) -> Result<Vec<ColumnId>> {
    if names.is_empty() {
        let own = table.live_columns().filter(|(_, column)| !is_generated(column));
        return Ok(own.map(|(id, _)| id).collect());
    }
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let name = fold(name);
        let (id, column) =
            table.column(&name).ok_or_else(|| undefined_column(&table.name, &name))?;
        if is_generated(column) {
            let message = format!("column \"{name}\" is a generated column");
            let detail = "Generated columns cannot be used in COPY.";
            return Err(Error::new(SqlState::InvalidColumnReference, message).detail(detail));
        }
        if columns.contains(&id) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(SqlState::DuplicateColumn, message));
        }
        columns.push(id);
    }
    Ok(columns)
}
