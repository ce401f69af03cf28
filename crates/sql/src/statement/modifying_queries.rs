//! INSERT, UPDATE and DELETE in WITH: what they change, and what their statement reads of them.
//!
//! Each is taken out of its statement and planned as a statement of its own. It runs once, before its statement, whether that reads
//! it or not; what it returns is read in its place. All see what was there before any of them ran. So none may look for rows of a
//! table that one before it changes: that is refused. `session::modifying` plans and runs them.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{Cte, Query, SetExpr, Statement, With};
use engine::plan::{InsertPlan, OutputColumn, WriteAction};
use engine::types::{ColumnId, Error, Result, Scalar, SqlState, TableId};

use super::locked_subqueries::names;
use super::returning::quoted;
use crate::catalog::{Catalog, FOUND_SCHEMA, FoundRelation};
use crate::session::prepared::{Plan, Prepared};
use crate::template::{Origin, origin};

/// A query of WITH that changes rows.
#[derive(Debug)]
pub struct ModifyingQuery {
    /// It as a statement.
    pub prepared: Box<Prepared>,
    /// What the statement reads in its place; without columns where it returns nothing.
    pub relation: Arc<FoundRelation>,
}

/// The clause whose queries may change rows: that of the statement itself.
pub fn clause(statement: &mut Statement) -> Option<&mut Option<With>> {
    match statement {
        Statement::Query(query) => Some(&mut query.with),
        _ => None,
    }
}

/// Whether a query is an INSERT, UPDATE or DELETE.
pub fn modifies(query: &Query) -> bool {
    matches!(&*query.body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_))
}

/// Whether a query of the statement's own WITH changes rows.
pub fn has_modifying(statement: &Statement) -> bool {
    let Statement::Query(query) = statement else { return false };
    let mut named = query.with.iter().flat_map(|with| &with.cte_tables);
    named.any(|cte| modifies(&cte.query))
}

/// A query of WITH as a statement, with those before it that it names.
pub fn statement_of(cte: &Cte, before: &[Cte], clause: &With) -> Statement {
    let mut query = Query::clone(&cte.query);
    let mut known: Vec<Cte> = Vec::new();
    for other in before.iter().rev() {
        if names(&query, other) || known.iter().any(|known| names(&known.query, other)) {
            known.insert(0, other.clone());
        }
    }
    match &mut query.with {
        Some(own) => drop(own.cte_tables.splice(0..0, known)),
        None if known.is_empty() => {}
        None => query.with = Some(With { cte_tables: known, ..clause.clone() }),
    }
    match (query.with.is_none(), *query.body) {
        (
            true,
            SetExpr::Insert(statement) | SetExpr::Update(statement) | SetExpr::Delete(statement),
        ) => statement,
        (_, body) => Statement::Query(Box::new(Query { body: Box::new(body), ..query })),
    }
}

/// What a plan that changes rows returns.
pub fn returned(plan: &Plan) -> &[OutputColumn] {
    match plan {
        Plan::Write(write) => &write.plan.output,
        Plan::InsertQuery(insert) => &insert.returning.output,
        Plan::Complex(write) => write.output.as_deref().unwrap_or_default(),
        _ => &[],
    }
}

/// Of which tables' columns that is.
pub fn origins(plan: &Plan, catalog: &Catalog) -> Vec<Option<Origin>> {
    let of_columns = |table: TableId, scalars: &[Scalar]| -> Vec<Option<Origin>> {
        let schema = catalog.table_by_id(table);
        let of_one = |scalar: &Scalar| match scalar {
            Scalar::Column(number) => {
                let data_type = schema?.columns.get(*number)?.data_type;
                Some(Origin { table, column: ColumnId(*number as u32), data_type })
            }
            _ => None,
        };
        scalars.iter().map(of_one).collect()
    };
    match plan {
        Plan::Write(write) => of_columns(write.table, &write.plan.returning),
        Plan::InsertQuery(insert) => of_columns(insert.table.id, &insert.returning.scalars),
        Plan::Complex(write) => {
            let first = 1 + write.assigned.as_ref().map_or(0, Vec::len);
            let count = write.output.as_ref().map_or(0, |output| output.len());
            (first..first + count).map(|at| origin(&write.query.plan, at)).collect()
        }
        _ => Vec::new(),
    }
}

/// The query that reads what was returned.
pub fn reading(relation: &FoundRelation, columns: &[OutputColumn]) -> Result<Query> {
    let items = columns
        .iter()
        .enumerate()
        .map(|(at, column)| format!("{} AS {}", FoundRelation::column(at), quoted(&column.name)));
    let items = items.collect::<Vec<_>>().join(", ");
    let text = format!("SELECT {items} FROM {FOUND_SCHEMA}.{}", quoted(&relation.name));
    match crate::template::parse(&text)?.remove(0) {
        Statement::Query(query) => Ok(*query),
        other => unreachable!("{other} is no query"),
    }
}

/// The table that a plan changes.
pub fn changed(plan: &Plan) -> Option<TableId> {
    match plan {
        Plan::Write(write) => Some(write.table),
        Plan::InsertQuery(insert) => Some(insert.table.id),
        Plan::Complex(write) => Some(write.table.id),
        _ => None,
    }
}

/// The table whose rows a plan looks for to change them.
pub fn searched(plan: &Plan) -> Option<TableId> {
    let is_blind = match plan {
        Plan::Write(write) => {
            matches!(&write.plan.action, WriteAction::Insert(InsertPlan { on_conflict: None, .. }))
        }
        Plan::InsertQuery(insert) => insert.on_conflict.is_none(),
        _ => false,
    };
    changed(plan).filter(|_| !is_blind)
}

/// 0A000 for a query that changes rows in WITH, inside a statement that cannot run that before.
pub fn refuse(query: &Query) -> Result<()> {
    let mut ctes = query.with.iter().flat_map(|with| &with.cte_tables);
    match ctes.any(|cte| modifies(&cte.query)) {
        true => {
            let message = "INSERT, UPDATE or DELETE in WITH is not supported in this statement";
            Err(Error::new(SqlState::FeatureNotSupported, message)
                .hint("Run it as a statement of its own."))
        }
        false => Ok(()),
    }
}

/// 0A000 for a query that locks rows and changes others in WITH.
pub fn refused_lock() -> Error {
    let message = "FOR UPDATE/SHARE beside INSERT, UPDATE or DELETE in WITH is not supported";
    Error::new(SqlState::FeatureNotSupported, message)
        .hint("Lock the rows first, by a SELECT of their own in the same transaction block.")
}

/// 0A000 where rows are looked for among those that a query of the same statement has changed.
pub fn refused() -> Error {
    let message = "changing a table twice in one statement is not supported";
    Error::new(SqlState::FeatureNotSupported, message)
        .hint("Make them statements of their own, in one transaction block.")
}
