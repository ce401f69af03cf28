//! LOCK TABLE.
//!
//! A table is locked until the transaction ends; in place of a view all tables that it reads. A name is looked up again after each
//! wait: it may be another table's by then. Rights are looked at by `rights`, conflicts by the engine.

use datafusion::sql::sqlparser::ast::{Lock, LockTableMode, ObjectName, Statement};
use engine::transaction::TableMode;
use engine::types::{Error, Result, SqlState, TableId};

use super::naming::{in_public, quote_identifier, undefined_table};
use crate::session::Session;

/// The mode that a statement names, or ACCESS EXCLUSIVE.
fn mode(named: Option<&LockTableMode>) -> TableMode {
    match named {
        Some(LockTableMode::AccessShare) => TableMode::AccessShare,
        Some(LockTableMode::RowShare) => TableMode::RowShare,
        Some(LockTableMode::RowExclusive) => TableMode::RowExclusive,
        Some(LockTableMode::ShareUpdateExclusive) => TableMode::ShareUpdateExclusive,
        Some(LockTableMode::Share) => TableMode::Share,
        Some(LockTableMode::ShareRowExclusive) => TableMode::ShareRowExclusive,
        Some(LockTableMode::Exclusive) => TableMode::Exclusive,
        Some(LockTableMode::AccessExclusive) | None => TableMode::AccessExclusive,
    }
}

/// Runs LOCK TABLE, in a block.
pub async fn run(session: &mut Session, lock: &Lock) -> Result<String> {
    let mode = mode(lock.lock_mode.as_ref());
    for target in &lock.tables {
        lock_named(session, &target.name, mode, lock.nowait).await?;
    }
    Ok("LOCK TABLE".to_owned())
}

async fn lock_named(
    session: &mut Session,
    name: &ObjectName,
    mode: TableMode,
    refuses: bool,
) -> Result<()> {
    let mut locked = Vec::new();
    loop {
        let tables = tables_of(session, name).await?;
        let Some(table) = tables.into_iter().find(|table| !locked.contains(table)) else {
            return Ok(());
        };
        let catalog = session.catalog();
        let known = catalog.table_by_id(table).map(|table| &*table.name);
        let refused = refuses.then(|| known.unwrap_or_default());
        if session.lock_table(table, mode, refused).await? {
            session.database().planner.refresh();
        }
        locked.push(table);
    }
}

/// The table of that name, or those that the view of that name reads.
async fn tables_of(session: &mut Session, name: &ObjectName) -> Result<Vec<TableId>> {
    let (name, catalog) = (in_public(name)?, session.catalog());
    if let Some(table) = catalog.table(None, &name) {
        return Ok(vec![table.id]);
    }
    if catalog.view(&name).is_none() {
        return Err(match catalog.has_relation(&name) {
            true => {
                let message = format!("\"{name}\" is not a table or view");
                Error::new(SqlState::WrongObjectType, message)
            }
            false => undefined_table(&name),
        });
    }
    let text = format!("SELECT * FROM {}", quote_identifier(&name));
    let Some(Statement::Query(query)) = crate::template::parse(&text)?.pop() else {
        unreachable!("the text is a query");
    };
    Ok(session.query_template(&query).await?.tables.clone())
}
