//! Locking clauses below a statement's top: in subqueries, in WITH, in FROM, in INSERT ... SELECT.
//!
//! Such a query is taken out of its statement and planned as one that locks rows ([`super::locking`]). It runs first, and in its
//! place the statement reads what it has given. So it must not ask anything of the rows around it, and nothing around it may
//! end it early: both are refused. Called where statements are planned; `session::locking` runs what was taken out.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    self, Cte, Expr, GroupByExpr, LimitClause, LockClause, ObjectName, Query, SetExpr, TableFactor,
    VisitMut, VisitorMut, With, visit_relations,
};
use engine::plan::OutputColumn;
use engine::types::{Error, Result, SqlState, TableId};

use super::locking::{self, Locking, refuse};
use super::modifying_queries::{self, ModifyingQuery};
use super::naming::{fold, split};
use crate::catalog::types::is_exact;
use crate::catalog::{Catalog, FOUND_SCHEMA, FoundRelation};
use crate::session::Database;
use crate::session::prepared::Plan;
use crate::template::{Parameters, lock_words, origin};

/// A query below a statement's top that locks rows.
#[derive(Debug)]
pub struct LockedSubquery {
    /// What it locks.
    pub locking: Locking,
    /// What the statement reads in its place.
    pub relation: Arc<FoundRelation>,
}

/// A query that runs before its statement, which reads what it has given.
#[derive(Debug)]
pub enum Earlier {
    /// It locks rows.
    Locking(LockedSubquery),
    /// It changes rows.
    Modifying(ModifyingQuery),
}

impl Earlier {
    /// Whether it changes rows.
    pub fn is_modifying(&self) -> bool {
        matches!(self, Earlier::Modifying(_))
    }

    /// The tables that it reads or changes.
    pub fn tables(&self) -> Vec<TableId> {
        match self {
            Earlier::Locking(query) => query.locking.query.tables.clone(),
            Earlier::Modifying(query) => query.prepared.tables(),
        }
    }
}

/// What was taken out of a statement, in the order in which it runs, and the catalog that the statement is planned with.
pub struct Taken {
    /// The queries.
    pub queries: Vec<Earlier>,
    /// The catalog, in which there is what they give.
    pub catalog: Arc<Catalog>,
}

impl Taken {
    /// Nothing yet.
    pub fn new(catalog: &Arc<Catalog>) -> Taken {
        Taken { queries: Vec::new(), catalog: catalog.clone() }
    }

    /// 0A000 where a plan looks for rows to lock or to change in a table that is changed before.
    pub fn refuse_searched(&self, plan: &Plan) -> Result<()> {
        match plan {
            Plan::Query(query) if query.locking.is_some() => {
                match self.queries.iter().any(Earlier::is_modifying) {
                    true => Err(modifying_queries::refused_lock()),
                    false => Ok(()),
                }
            }
            plan => self.refuse_changed(modifying_queries::searched(plan).as_slice()),
        }
    }

    fn refuse_changed(&self, tables: &[TableId]) -> Result<()> {
        let changed = self.queries.iter().filter_map(|query| match query {
            Earlier::Modifying(query) => modifying_queries::changed(&query.prepared.plan),
            Earlier::Locking(_) => None,
        });
        match changed.into_iter().any(|table| tables.contains(&table)) {
            true => Err(modifying_queries::refused()),
            false => Ok(()),
        }
    }
}

/// Takes the queries that lock rows out of a statement, but for the statement itself where it is one.
pub fn take(
    database: &Database,
    taken: &mut Taken,
    statement: &mut ast::Statement,
    parameters: &mut Parameters,
) -> Result<()> {
    if lock_words::first_lock(statement).is_none() {
        return Ok(());
    }
    let keeps_top = matches!(statement, ast::Statement::Query(_));
    let mut taker = Taker { database, parameters, taken, around: Vec::new(), keeps_top };
    match statement.visit(&mut taker) {
        ControlFlow::Break(fault) => Err(fault),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Taker<'a> {
    database: &'a Database,
    parameters: &'a mut Parameters,
    taken: &'a mut Taken,
    /// The WITH clauses of the queries around the place, as far as they are known there; outermost first.
    around: Vec<Option<With>>,
    /// The outermost query's own clauses stay.
    keeps_top: bool,
}

impl VisitorMut for Taker<'_> {
    type Break = Error;

    /// Queries of WITH come first, each knowing those before it; the clause is put back behind the query.
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        if let Err(fault) = refuse_set_operation(&query.body) {
            return ControlFlow::Break(fault);
        }
        self.around.push(None);
        match query.with.take() {
            Some(with) => self.enter_with(with, query),
            None => ControlFlow::Continue(()),
        }
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let own = self.around.pop().flatten();
        let settled = self.settle(query, own.as_ref());
        query.with = own;
        match settled {
            Err(fault) => ControlFlow::Break(fault),
            Ok(()) => ControlFlow::Continue(()),
        }
    }

    /// EXISTS is answered by the first row: no other one is locked.
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if let Expr::Exists { subquery, .. } = expr
            && !subquery.locks.is_empty()
            && subquery.limit_clause.is_none()
            && subquery.fetch.is_none()
        {
            let one = Expr::value(ast::Value::Number("1".to_owned(), false));
            let clause =
                LimitClause::LimitOffset { limit: Some(one), offset: None, limit_by: Vec::new() };
            subquery.limit_clause = Some(clause);
        }
        ControlFlow::Continue(())
    }
}

impl Taker<'_> {
    fn enter_with(&mut self, with: With, query: &Query) -> ControlFlow<Error> {
        let With { with_token, recursive, cte_tables } = with;
        let mut known = With { with_token, recursive, cte_tables: Vec::new() };
        for (at, cte) in cte_tables.iter().enumerate() {
            let mut cte = cte.clone();
            let is_named = names(query, &cte)
                || cte_tables
                    .iter()
                    .enumerate()
                    .any(|(other, o)| other != at && names(&o.query, &cte));
            if let Err(fault) = check_named(&mut cte, recursive, is_named) {
                return ControlFlow::Break(fault);
            }
            *self.around.last_mut().expect("pushed by the caller") = Some(known.clone());
            cte.query.visit(self)?;
            known.cte_tables.push(cte);
        }
        *self.around.last_mut().expect("pushed by the caller") = Some(known);
        ControlFlow::Continue(())
    }

    /// All of a query is known but its own clauses.
    fn settle(&mut self, query: &mut Query, with: Option<&With>) -> Result<()> {
        if self.ends_early(query, with) {
            return Err(ended_early());
        }
        let is_top = self.around.is_empty() && self.keeps_top;
        if query.locks.is_empty() || is_top { Ok(()) } else { self.take(query, with) }
    }

    /// Plans a query as one that locks, and leaves in its place one that reads what it gives.
    fn take(&mut self, query: &mut Query, with: Option<&With>) -> Result<()> {
        let mut own = query.clone();
        let clauses = std::mem::take(&mut own.locks);
        own.with = self.known_to(&own, with);
        let catalog = &self.taken.catalog;
        let locking = locking::plan(self.database, catalog, &own, &clauses, self.parameters)
            .map_err(|fault| refers_outside(fault, &clauses[0]))?;
        query.locks.clear();
        let Some(locking) = locking else { return Ok(()) };
        self.taken.refuse_changed(&locking.query.tables)?;
        let Taken { queries, catalog } = &mut *self.taken;
        let relation = Arc::new(relation(queries.len(), &locking, &clauses[0])?);
        *query = reading(&relation, &locking)?;
        *catalog = Arc::new(catalog.with_found(relation.clone()));
        queries.push(Earlier::Locking(LockedSubquery { locking, relation }));
        Ok(())
    }

    /// The queries of WITH that a query names, of its own clause and of those around it.
    fn known_to(&self, query: &Query, own: Option<&With>) -> Option<With> {
        let clauses = self.around.iter().flatten().chain(own);
        let recursive = clauses.clone().any(|with| with.recursive);
        let known: Vec<&Cte> = clauses.flat_map(|with| &with.cte_tables).collect();
        let mut kept: Vec<Cte> = Vec::new();
        for cte in known.into_iter().rev() {
            let is_hidden = kept.iter().any(|k| fold(&k.alias.name) == fold(&cte.alias.name));
            if !is_hidden && (names(query, cte) || kept.iter().any(|k| names(&k.query, cte))) {
                kept.insert(0, cte.clone());
            }
        }
        let with_token = self.around.iter().flatten().chain(own).next()?.with_token.clone();
        (!kept.is_empty()).then_some(With { with_token, recursive, cte_tables: kept })
    }

    /// Whether a query takes rows of one that locks only as far as its LIMIT goes: PostgreSQL locks these only.
    fn ends_early(&self, query: &Query, with: Option<&With>) -> bool {
        let is_cut = query.fetch.is_some()
            || matches!(&query.limit_clause, Some(LimitClause::LimitOffset { limit: Some(_), .. }));
        let SetExpr::Select(select) = &*query.body else { return false };
        let is_grouped = match &select.group_by {
            GroupByExpr::Expressions(keys, _) => !keys.is_empty(),
            GroupByExpr::All(_) => true,
        };
        let takes_all = query.order_by.is_some() || select.distinct.is_some() || is_grouped;
        let clauses: Vec<&With> = self.around.iter().flatten().chain(with).collect();
        let mut factors = select.from.iter().flat_map(|from| {
            std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
        });
        is_cut && !takes_all && factors.any(|factor| reads_locked(factor, &clauses))
    }
}

/// Whether a query names a query of WITH.
pub fn names(query: &Query, cte: &Cte) -> bool {
    let wanted = fold(&cte.alias.name);
    let is_it = |name: &ObjectName| matches!(split(name), Ok((None, name)) if name == wanted);
    let found = visit_relations(query, |name| match is_it(name) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// A query of WITH that nobody names is not run, so that it locks nothing. One that names itself cannot lock.
fn check_named(cte: &mut Cte, recursive: bool, is_named: bool) -> Result<()> {
    if recursive && !cte.query.locks.is_empty() && names(&cte.query, cte) {
        let message = "FOR UPDATE/SHARE in a recursive query is not implemented";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    if !is_named {
        cte.query.locks.clear();
    }
    Ok(())
}

/// The parts of a set operation cannot lock, as in PostgreSQL.
fn refuse_set_operation(body: &SetExpr) -> Result<()> {
    let SetExpr::SetOperation { left, right, .. } = body else { return Ok(()) };
    for part in [left, right] {
        match &**part {
            SetExpr::Query(query) => match query.locks.first() {
                Some(lock) => return Err(refuse(lock, "UNION/INTERSECT/EXCEPT")),
                None => refuse_set_operation(&query.body)?,
            },
            other => refuse_set_operation(other)?,
        }
    }
    Ok(())
}

/// Whether a relation of FROM is what a query that locks has given.
fn reads_locked(factor: &TableFactor, with: &[&With]) -> bool {
    match factor {
        TableFactor::Derived { subquery, .. } => is_found(subquery),
        TableFactor::Table { name, .. } => {
            let mut named = with.iter().rev().flat_map(|with| &with.cte_tables);
            let is_it = |cte: &&Cte| matches!(split(name), Ok((None, name)) if name == fold(&cte.alias.name));
            named.find(is_it).is_some_and(|cte| is_found(&cte.query))
        }
        _ => false,
    }
}

fn is_found(query: &Query) -> bool {
    let SetExpr::Select(select) = &*query.body else { return false };
    let [from] = select.from.as_slice() else { return false };
    let TableFactor::Table { name, .. } = &from.relation else { return false };
    matches!(split(name), Ok((Some(schema), _)) if schema == FOUND_SCHEMA)
}

/// What a query gives whose rows are locked.
fn relation(number: usize, locking: &Locking, lock: &LockClause) -> Result<FoundRelation> {
    let Locking { query, shown, .. } = locking;
    let schema = query.plan.schema();
    if shown.iter().any(|at| !is_exact(schema.field(*at).data_type())) {
        let words = lock_words::words(lock);
        let message =
            format!("FOR {words} in a subquery with a column of this type is not supported");
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    let columns: Vec<&OutputColumn> = shown.iter().map(|at| &query.output[*at]).collect();
    let origins = shown.iter().map(|at| origin(&query.plan, *at)).collect();
    Ok(FoundRelation::new(number, &columns, origins))
}

/// The query that reads it, with the columns' names.
fn reading(relation: &FoundRelation, locking: &Locking) -> Result<Query> {
    use super::returning::quoted;
    let schema = locking.query.plan.schema();
    let names = locking.shown.iter().map(|at| quoted(schema.field(*at).name()));
    let items =
        names.enumerate().map(|(at, name)| format!("{} AS {name}", FoundRelation::column(at)));
    let items = items.collect::<Vec<_>>().join(", ");
    let text = format!("SELECT {items} FROM {FOUND_SCHEMA}.{}", quoted(&relation.name));
    match crate::template::parse(&text)?.remove(0) {
        ast::Statement::Query(query) => Ok(*query),
        other => unreachable!("{other} is no query"),
    }
}

fn ended_early() -> Error {
    let message = "LIMIT over a query that locks rows is not supported";
    Error::new(SqlState::FeatureNotSupported, message)
        .hint("Put LIMIT into the query that locks, or sort its rows before.")
}

/// What is missing in the query by itself stands around it: analysis has found it.
fn refers_outside(fault: Error, lock: &LockClause) -> Error {
    match fault.state {
        SqlState::UndefinedColumn | SqlState::UndefinedTable => {
            let words = lock_words::words(lock);
            let message = format!(
                "FOR {words} in a subquery that refers to the query around it is not supported"
            );
            Error::new(SqlState::FeatureNotSupported, message).hint(
                "Lock the rows first, by a SELECT of their own in the same transaction block.",
            )
        }
        _ => fault,
    }
}
