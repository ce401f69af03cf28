//! LOCK TABLE.
//!
//! A table is locked until the transaction ends; in place of a view all tables that it reads. A name is looked up again after each
//! wait: it may be another table's by then. Rights are looked at by `rights`, conflicts by the engine.

use datafusion::sql::sqlparser::ast::{ObjectName, Statement};
use engine::transaction::TableMode;
use engine::types::{Error, Result, SqlState, TableId};
use syntax::LockStmt;

use super::naming::{in_public, object_name, quote_identifier, undefined_table};
use super::option;
use crate::session::Session;

/// LOCK TABLE, taken apart.
#[derive(Clone, Debug)]
pub struct LockTable {
    /// Tables and views.
    pub names: Vec<ObjectName>,
    /// How they are locked.
    pub mode: TableMode,
    /// NOWAIT
    pub nowait: bool,
}

/// The statement of its node.
pub fn read(lock: LockStmt<'_>) -> LockTable {
    let names = lock.relations().iter().map(|relation| object_name(option::parts(relation)));
    LockTable { names: names.collect(), mode: mode(lock.mode()), nowait: lock.nowait() }
}

/// PostgreSQL's modes by their numbers.
fn mode(number: i32) -> TableMode {
    match number {
        1 => TableMode::AccessShare,
        2 => TableMode::RowShare,
        3 => TableMode::RowExclusive,
        4 => TableMode::ShareUpdateExclusive,
        5 => TableMode::Share,
        6 => TableMode::ShareRowExclusive,
        7 => TableMode::Exclusive,
        8 => TableMode::AccessExclusive,
        other => unreachable!("{other} is no lock of PostgreSQL's grammar"),
    }
}

/// Runs LOCK TABLE, in a block.
pub async fn run(session: &mut Session, lock: &LockTable) -> Result<String> {
    if let Some(fault) = session.outside_block("LOCK TABLE") {
        return Err(fault);
    }
    super::rights::check_lock(session, lock)?;
    for name in &lock.names {
        lock_named(session, name, lock.mode, lock.nowait).await?;
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
