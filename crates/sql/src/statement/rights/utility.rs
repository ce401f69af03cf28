//! Whether a statement that is no query may run: who may change and read what it names.
//!
//! What is not there is the statement's own to say: PostgreSQL looks for names first.

use datafusion::sql::sqlparser::ast::{
    AlterTable, AlterTableOperation, ColumnOption, CommentObject, CopySource, CreateTable,
    ObjectName, ObjectType, Query, Statement, TableConstraint,
};
use engine::transaction::TableMode;
use engine::types::{ColumnDefault, Result};

use crate::catalog::Catalog;
use crate::rights::{Need, Needs, Privileges, columns_of, needs_of, query_needs};
use crate::session::Session;
use crate::statement::lock_table::LockTable;
use crate::statement::naming::{fold, split};
use crate::statement::prepare;

/// 42501 where the session's role may not run it.
pub async fn check(session: &mut Session, statement: &Statement) -> Result<()> {
    if session.standing().superuser {
        return Ok(());
    }
    match statement {
        Statement::Copy { source, to, .. } => copy(session, source, *to).await,
        Statement::Explain { statement, .. } => explain(session, statement).await,
        Statement::CreateTable(create) => create_table(session, create).await,
        Statement::CreateSequence { .. } => session.demand_create(),
        Statement::CreateView(create) => {
            session.demand_create()?;
            owner(session, &create.name)
        }
        Statement::CreateIndex(create) => {
            owner(session, &create.table_name)?;
            session.demand_create()
        }
        Statement::AlterTable(alter) => alter_table(session, alter),
        Statement::AlterIndex { name, .. } | Statement::AlterView { name, .. } => {
            owner(session, name)
        }
        Statement::Drop { object_type, names, .. } => drop(session, *object_type, names),
        Statement::Truncate(truncate) => {
            let names = truncate.table_names.iter().map(|target| &target.name);
            need_all(session, names, Privileges::TRUNCATE)?;
            let cascade = truncate.cascade.is_some();
            let tables: Vec<&ObjectName> = truncate.table_names.iter().map(|t| &t.name).collect();
            if cascade { truncate_children(session, &tables) } else { Ok(()) }
        }
        Statement::Comment { object_type, object_name, .. } => match object_type {
            CommentObject::Column => {
                let parts = &object_name.0[..object_name.0.len().saturating_sub(1)];
                owner(session, &ObjectName(parts.to_vec()))
            }
            _ => owner(session, object_name),
        },
        _ => Ok(()),
    }
}

/// 42501 where the session's role may not lock the tables so.
pub fn check_lock(session: &mut Session, lock: &LockTable) -> Result<()> {
    use Privileges as P;
    if session.standing().superuser {
        return Ok(());
    }
    let changes = P::UPDATE.with(P::DELETE).with(P::TRUNCATE);
    let wanted = match lock.mode {
        TableMode::AccessShare => P::SELECT,
        TableMode::RowExclusive => changes.with(P::INSERT),
        _ => changes,
    };
    let names = lock.names.iter().filter_map(|name| relation(session, name));
    let needs = names.map(|name| Need::any_on(&name, wanted)).collect();
    session.demand(&Needs { relations: needs, ..Needs::default() })
}

/// A relation that is there.
fn relation(session: &Session, name: &ObjectName) -> Option<String> {
    let (schema, bare) = split(name).ok()?;
    let is_ours = schema.is_none_or(|schema| schema == "public");
    (is_ours && session.catalog().has_relation(&bare)).then_some(bare)
}

fn owner(session: &mut Session, name: &ObjectName) -> Result<()> {
    match relation(session, name) {
        Some(name) => session.demand_owner(&name),
        None => Ok(()),
    }
}

fn need_all<'a>(
    session: &mut Session,
    names: impl Iterator<Item = &'a ObjectName>,
    privileges: Privileges,
) -> Result<()> {
    let found: Vec<String> = names.filter_map(|name| relation(session, name)).collect();
    let relations = found.iter().map(|name| Need::on(name, privileges)).collect();
    session.demand(&Needs { relations, ..Needs::default() })
}

async fn copy(session: &mut Session, source: &CopySource, to: bool) -> Result<()> {
    let catalog = session.catalog();
    let (name, columns) = match source {
        CopySource::Query(query) => return demand_query(session, query).await,
        CopySource::Table { table_name, columns } => (table_name, columns),
    };
    let Some(name) = relation(session, name) else { return Ok(()) };
    let privilege = if to { Privileges::SELECT } else { Privileges::INSERT };
    let mut need = Need::on(&name, privilege);
    let named: Vec<String> = columns.iter().map(fold).collect();
    let all = columns_of(&catalog, &name).unwrap_or_default();
    let numbers = all.iter().filter(|(name, _)| named.is_empty() || named.contains(name));
    need.columns_mut(privilege).extend(numbers.map(|(_, number)| *number));
    session.demand_one(need)?;
    if to || named.is_empty() {
        return Ok(());
    }
    let left = |column: &str| !named.iter().any(|name| name == column);
    session.demand(&Needs { relations: sequences(&catalog, &name, left), ..Needs::default() })
}

/// 42501 where the session's role may not run a query. What that needs is found where stacks are as deep as queries.
async fn demand_query(session: &mut Session, query: &Query) -> Result<()> {
    let (catalog, query) = (session.catalog(), query.clone());
    let found = session.on_planning_thread(0, move || Ok(query_needs(&catalog, &query))).await?;
    session.demand(&found)
}

/// Serial columns that are left to their sequences.
fn sequences(catalog: &Catalog, table: &str, is_left: impl Fn(&str) -> bool) -> Vec<Need> {
    let table = catalog.table(None, table);
    let columns = table.into_iter().flat_map(|table| table.live_columns());
    let ids = columns.filter_map(|(_, column)| match &column.default {
        ColumnDefault::Sequence { id, identity: false, .. } if is_left(&column.name) => Some(*id),
        _ => None,
    });
    let wanted = Privileges::USAGE.with(Privileges::UPDATE);
    let sequences = ids.filter_map(|id| catalog.sequence_by_id(id));
    sequences.map(|sequence| Need::any_on(&sequence.name, wanted)).collect()
}

async fn explain(session: &mut Session, inner: &Statement) -> Result<()> {
    match inner {
        Statement::Execute { name, parameters, .. } => {
            match prepare::bound(session, name.as_ref(), parameters) {
                Ok((statement, _)) => session.demand(statement.needs()),
                // EXPLAIN says what is wrong.
                Err(_) => Ok(()),
            }
        }
        Statement::CreateTable(create) => create_table(session, create).await,
        inner => {
            let (catalog, inner) = (session.catalog(), inner.clone());
            let found =
                session.on_planning_thread(0, move || Ok(needs_of(&catalog, &inner))).await?;
            session.demand(&found)
        }
    }
}

async fn create_table(session: &mut Session, create: &CreateTable) -> Result<()> {
    session.demand_create()?;
    if let Some(query) = &create.query {
        demand_query(session, query).await?;
    }
    let constraints = create.columns.iter().flat_map(|column| &column.options);
    for option in constraints {
        if let ColumnOption::ForeignKey(key) = &option.option {
            references(session, &key.foreign_table, &key.referred_columns)?;
        }
    }
    create.constraints.iter().try_for_each(|constraint| foreign_key(session, constraint))
}

fn foreign_key(session: &mut Session, constraint: &TableConstraint) -> Result<()> {
    match constraint {
        TableConstraint::ForeignKey(key) => {
            references(session, &key.foreign_table, &key.referred_columns)
        }
        _ => Ok(()),
    }
}

/// REFERENCES on the columns that a foreign key leads to; those of the primary key where it names none.
fn references(
    session: &mut Session,
    parent: &ObjectName,
    columns: &[datafusion::sql::sqlparser::ast::Ident],
) -> Result<()> {
    let catalog = session.catalog();
    let Some(parent) = relation(session, parent) else { return Ok(()) };
    let mut need = Need::on(&parent, Privileges::REFERENCES);
    let named: Vec<String> = columns.iter().map(fold).collect();
    let all = columns_of(&catalog, &parent).unwrap_or_default();
    let key = catalog.table(None, &parent).and_then(|table| table.primary_key());
    let is_key = |number: i16| {
        let columns = key.into_iter().flat_map(|key| key.columns.iter());
        columns.into_iter().any(|column| crate::catalog::column_number(*column) == number)
    };
    let numbers = all.iter().filter(|(name, number)| match named.is_empty() {
        true => is_key(*number),
        false => named.contains(name),
    });
    need.columns_mut(Privileges::REFERENCES).extend(numbers.map(|(_, number)| *number));
    session.demand_one(need)
}

fn alter_table(session: &mut Session, alter: &AlterTable) -> Result<()> {
    owner(session, &alter.name)?;
    for operation in &alter.operations {
        match operation {
            AlterTableOperation::AddConstraint { constraint, .. } => {
                foreign_key(session, constraint)?;
            }
            AlterTableOperation::AddColumn { column_def, .. } => {
                for option in &column_def.options {
                    if let ColumnOption::ForeignKey(key) = &option.option {
                        references(session, &key.foreign_table, &key.referred_columns)?;
                    }
                }
            }
            AlterTableOperation::RenameTable { .. } => session.demand_create()?,
            _ => {}
        }
    }
    Ok(())
}

fn drop(session: &mut Session, kind: ObjectType, names: &[ObjectName]) -> Result<()> {
    match kind {
        ObjectType::Schema => {
            let last = |name: &ObjectName| name.0.last()?.as_ident().map(fold);
            match names.iter().filter_map(last).find(|name| name == "public") {
                Some(name) => Err(crate::rights::not_owner("schema", &name)),
                None => Ok(()),
            }
        }
        _ => names.iter().try_for_each(|name| owner(session, name)),
    }
}

/// CASCADE takes the tables that refer to those named.
fn truncate_children(session: &mut Session, tables: &[&ObjectName]) -> Result<()> {
    let catalog = session.catalog();
    let names = tables.iter().filter_map(|name| relation(session, name));
    let mut waiting: Vec<_> =
        names.filter_map(|name| catalog.table(None, &name).map(|table| table.id)).collect();
    let mut seen = waiting.clone();
    let mut relations = Vec::new();
    while let Some(parent) = waiting.pop() {
        for child in catalog.tables() {
            let refers = child.foreign_keys.iter().any(|key| key.parent == parent);
            if refers && !seen.contains(&child.id) {
                seen.push(child.id);
                waiting.push(child.id);
                relations.push(Need::on(&child.name, Privileges::TRUNCATE));
            }
        }
    }
    session.demand(&Needs { relations, ..Needs::default() })
}
