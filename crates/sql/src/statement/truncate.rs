//! TRUNCATE.

use datafusion::sql::sqlparser::ast::{CascadeOption, Truncate, TruncateIdentityOption};
use engine::types::{ColumnDefault, Definition, Error, Result, SqlState, TableId};

use super::constraint::unsupported;
use super::naming::table;
use crate::catalog::Catalog;
use crate::session::Session;

/// Runs TRUNCATE. In a block the rows are deleted with the transaction, so that ROLLBACK brings
/// them back.
pub async fn truncate(session: &mut Session, statement: &Truncate) -> Result<String> {
    let catalog = session.catalog();
    let mut tables = Vec::new();
    for target in &statement.table_names {
        let id = table(&catalog, &target.name)?.id;
        if !tables.contains(&id) {
            tables.push(id);
        }
    }
    let cascade = matches!(statement.cascade, Some(CascadeOption::Cascade));
    add_referencing(&catalog, &mut tables, cascade)?;
    let restart_identity = matches!(statement.identity, Some(TruncateIdentityOption::Restart));
    if session.in_block() {
        if restart_identity && tables.iter().any(|id| has_sequence(&catalog, *id)) {
            return Err(unsupported("TRUNCATE ... RESTART IDENTITY in a transaction block"));
        }
        for table in &tables {
            catalog
                .table_by_id(*table)
                .map_or(Ok(()), |table| session.refuse_altered_table(table))?;
        }
        for table in tables {
            session.delete_all(table).await?;
        }
    } else {
        session.define(Definition::Truncate { tables, restart_identity }).await?;
    }
    Ok("TRUNCATE TABLE".to_owned())
}

/// Tables that refer to a truncated one go too, or stand in the way.
fn add_referencing(catalog: &Catalog, tables: &mut Vec<TableId>, cascade: bool) -> Result<()> {
    let mut position = 0;
    while position < tables.len() {
        let parent = tables[position];
        for child in catalog.tables() {
            let refers = child.foreign_keys.iter().any(|key| key.parent == parent);
            if !refers || tables.contains(&child.id) {
                continue;
            }
            if !cascade {
                let parent = &catalog.table_by_id(parent).expect("found by name").name;
                let message = "cannot truncate a table referenced in a foreign key constraint";
                let detail = format!("Table \"{}\" references \"{parent}\".", child.name);
                let hint = format!(
                    "Truncate table \"{}\" at the same time, or use TRUNCATE ... CASCADE.",
                    child.name
                );
                let error = Error::new(SqlState::FeatureNotSupported, message);
                return Err(error.detail(detail).hint(hint));
            }
            tables.push(child.id);
        }
        position += 1;
    }
    Ok(())
}

fn has_sequence(catalog: &Catalog, table: TableId) -> bool {
    let table = catalog.table_by_id(table).expect("found by name");
    table.live_columns().any(|(_, c)| matches!(c.default, ColumnDefault::Sequence { .. }))
}
