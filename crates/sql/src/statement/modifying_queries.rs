//! INSERT, UPDATE and DELETE in WITH: what they change, and what their statement reads of them.
//!
//! Each is taken out of its statement and planned as a statement of its own. It runs once, before its statement, whether that reads
//! it or not; what it returns is read in its place. All see what was there before any of them ran. So none may look for rows of a
//! table that one before it changes: that is refused. `session::modifying` plans and runs them.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    Cte, Query, SetExpr, Statement, Visit, Visitor, With, visit_relations,
};
use engine::plan::{InsertPlan, OutputColumn, WriteAction};
use engine::types::{Error, Result, SqlState, TableId};

use super::locked_subqueries::names;
use super::naming::{fold, split};
use super::returning::quoted;
use crate::catalog::{FOUND_SCHEMA, FoundRelation};
use crate::session::prepared::{Plan, Prepared};

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

/// Whether a query of the statement's own WITH changes rows; 0A000 where one elsewhere does.
pub fn check_places(statement: &Statement) -> Result<bool> {
    let mut places = Places { depth: 0, top: 0, modifying: 0 };
    if let Statement::Query(query) = statement {
        let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
        places.top = ctes.filter(|cte| modifies(&cte.query)).count();
    }
    let _ = statement.visit(&mut places);
    match places.modifying > places.top {
        true => {
            let message =
                "WITH clause containing a data-modifying statement must be at the top level";
            Err(Error::new(SqlState::FeatureNotSupported, message))
        }
        false => Ok(places.top > 0),
    }
}

/// Counts the queries below a statement that change rows.
struct Places {
    depth: usize,
    top: usize,
    modifying: usize,
}

impl Visitor for Places {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.modifying += usize::from(self.depth > 0 && modifies(query));
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        self.depth += usize::from(!matches!(statement, Statement::Query(_)));
        ControlFlow::Continue(())
    }

    fn post_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        self.depth -= usize::from(!matches!(statement, Statement::Query(_)));
        ControlFlow::Continue(())
    }
}

/// A query of WITH as a statement, with those before it that it names.
pub fn statement_of(cte: &Cte, before: &[Cte], clause: &With) -> Result<Statement> {
    if clause.recursive && names(&cte.query, cte) {
        let name = fold(&cte.alias.name);
        let message =
            format!("recursive query \"{name}\" must not contain data-modifying statements");
        return Err(Error::new(SqlState::InvalidRecursion, message));
    }
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
    Ok(match (query.with.is_none(), *query.body) {
        (
            true,
            SetExpr::Insert(statement) | SetExpr::Update(statement) | SetExpr::Delete(statement),
        ) => statement,
        (_, body) => Statement::Query(Box::new(Query { body: Box::new(body), ..query })),
    })
}

/// 0A000 where a query that returns nothing is read.
pub fn refuse_read(cte: &Cte, statement: &Statement) -> Result<()> {
    let name = fold(&cte.alias.name);
    let found = visit_relations(statement, |relation| match split(relation) {
        Ok((None, other)) if other == name => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    match found.is_break() {
        true => {
            let message = format!("WITH query \"{name}\" does not have a RETURNING clause");
            Err(Error::new(SqlState::FeatureNotSupported, message))
        }
        false => Ok(()),
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
