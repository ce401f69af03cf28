//! SELECT ... FOR UPDATE and its kin: which rows of which tables a query locks, and how.
//!
//! The query is planned with the ids of these rows as columns of its own behind its own ones; without its LIMIT once more, for rows
//! that take the places of skipped ones. Called where queries are planned; `session::locking` runs it.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, JoinConstraint, JoinOperator, LimitClause, LockClause, NonBlock,
    Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins, Visit, Visitor,
};
use engine::transaction::LockMode;
use engine::types::{Error, Result, SqlState, TableId};

use super::lock_sources::{self, Kind, Source};
use super::naming::fold;
use crate::catalog::{Catalog, ROW_ID, ROW_VERSION};
use crate::session::Database;
use crate::template::{Parameters, QueryTemplate, lock_words};

/// What a query locks.
#[derive(Debug)]
pub struct Locking {
    /// The query with the rows' ids.
    pub query: Arc<QueryTemplate>,
    /// The same without LIMIT, if it has one.
    pub uncut: Option<Arc<QueryTemplate>>,
    /// Its columns that are shown.
    pub shown: Vec<usize>,
    /// In which columns ids are, and of which tables.
    pub tables: Vec<(usize, Locked)>,
}

impl Locking {
    /// What it is called where it is refused.
    pub fn command(&self) -> String {
        let mode = self.tables.iter().map(|(_, locked)| locked.mode).max();
        format!("SELECT FOR {}", lock_words::of_mode(mode.unwrap_or(LockMode::KeyShare)))
    }
}

/// A table of which rows are locked.
#[derive(Debug)]
pub struct Locked {
    /// The table.
    pub table: TableId,
    /// Its name, for messages.
    pub name: String,
    /// How strongly.
    pub mode: LockMode,
    /// What if somebody else has one.
    pub waits: Waits,
}

/// What a statement does about a lock that somebody else has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waits {
    /// It waits.
    Waits,
    /// It leaves the row out.
    Skips,
    /// It fails.
    Refuses,
}

/// Plans what a query with these clauses locks; `None` where no table is involved.
pub fn plan(
    database: &Database,
    catalog: &Arc<Catalog>,
    query: &Query,
    clauses: &[LockClause],
    parameters: &mut Parameters,
) -> Result<Option<Locking>> {
    let Some(first) = clauses.first() else { return Ok(None) };
    let select = lockable(query, first)?;
    let with: Vec<String> = lock_sources::names(query.with.as_ref());
    let locked = locked(catalog, &with, select, clauses)?;
    if locked.is_empty() {
        return Ok(None);
    }
    refuse_natural_joins(select, first)?;
    let mut ids = query.clone();
    let id = |(number, (source, _)): (usize, &(Ident, Locked))| SelectItem::ExprWithAlias {
        expr: Expr::CompoundIdentifier(vec![source.clone(), Ident::new(ROW_ID)]),
        alias: Ident::new(format!("{LOCKED}{number}")),
    };
    if let SetExpr::Select(select) = &mut *ids.body {
        select.projection.extend(locked.iter().enumerate().map(id));
        lock_sources::show_ids(catalog, &with, select);
    }
    let planned = |query: &Query, parameters: &mut Parameters| {
        database.planner.query(catalog, query, parameters, &query.to_string())
    };
    let query = planned(&ids, parameters)?;
    let uncut = without_limit(&ids);
    let uncut = uncut.map(|uncut| planned(&uncut, &mut parameters.clone())).transpose()?;
    let names: Vec<&str> = query.columns.iter().map(|column| &*column.name).collect();
    let first = names.len() - locked.len();
    let is_hidden = |name: &str| name == ROW_ID || name == ROW_VERSION;
    let shown = (0..first).filter(|column| !is_hidden(names[*column])).collect();
    let tables = locked.into_iter().enumerate();
    let tables = tables.map(|(number, (_, locked))| (first + number, locked)).collect();
    Ok(Some(Locking { query, uncut, shown, tables }))
}

/// The tables that the clauses lock.
fn locked(
    catalog: &Catalog,
    with: &[String],
    select: &Select,
    clauses: &[LockClause],
) -> Result<Vec<(Ident, Locked)>> {
    let mut locked = Vec::new();
    for Source { alias, kind } in lock_sources::sources(catalog, with, select) {
        let Some((clause, mode, waits)) = lock_of(alias.as_ref(), clauses) else { continue };
        match (kind, alias) {
            (Kind::Table(table), Some(alias)) => {
                let name = table.name.to_string();
                locked.push((alias, Locked { table: table.id, name, mode, waits }));
            }
            (kind, _) => kind.check(clause)?,
        }
    }
    Ok(locked)
}

/// Names of the columns with ids begin so.
const LOCKED: &str = "__locked_";

/// The query without LIMIT, if it has one.
fn without_limit(query: &Query) -> Option<Query> {
    let mut uncut = query.clone();
    let is_cut = match &mut uncut.limit_clause {
        Some(LimitClause::LimitOffset { limit, .. }) => limit.take().is_some(),
        Some(LimitClause::OffsetCommaLimit { .. }) | None => false,
    };
    let is_fetched = uncut.fetch.take().is_some();
    (is_cut || is_fetched).then_some(uncut)
}

/// How the clauses lock a relation: the strongest of those that name it, or name none.
fn lock_of<'c>(
    alias: Option<&Ident>,
    clauses: &'c [LockClause],
) -> Option<(&'c LockClause, LockMode, Waits)> {
    let of_it = |clause: &&LockClause| match lock_words::of(clause) {
        None => true,
        Some(name) => alias.is_some_and(|alias| fold(name) == fold(alias)),
    };
    let of_it: Vec<&LockClause> = clauses.iter().filter(of_it).collect();
    let mode = of_it.iter().map(|clause| lock_words::mode(clause)).max()?;
    let waits = of_it.iter().map(|clause| match clause.nonblock {
        None => Waits::Waits,
        Some(NonBlock::SkipLocked) => Waits::Skips,
        Some(NonBlock::Nowait) => Waits::Refuses,
    });
    Some((of_it[0], mode, waits.max().unwrap_or(Waits::Waits)))
}

/// Tables that show their hidden columns would be joined by these, too.
fn refuse_natural_joins(select: &Select, lock: &LockClause) -> Result<()> {
    match select.from.iter().any(has_natural_join) {
        true => Err(refuse(lock, "NATURAL JOIN")),
        false => Ok(()),
    }
}

fn has_natural_join(from: &TableWithJoins) -> bool {
    let is_natural = |operator: &JoinOperator| match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => matches!(constraint, JoinConstraint::Natural),
        _ => false,
    };
    let mut joined = from.joins.iter();
    let mut factors = std::iter::once(&from.relation).chain(from.joins.iter().map(|j| &j.relation));
    let is_inside = |factor: &TableFactor| match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => has_natural_join(table_with_joins),
        _ => false,
    };
    joined.any(|join| is_natural(&join.join_operator)) || factors.any(is_inside)
}

/// The query whose rows are those of its tables.
fn lockable<'q>(query: &'q Query, lock: &LockClause) -> Result<&'q Select> {
    match &*query.body {
        SetExpr::Select(select) => refuse_grouping(select, lock).map(|()| &**select),
        SetExpr::SetOperation { .. } => Err(refuse(lock, "UNION/INTERSECT/EXCEPT")),
        SetExpr::Values(_) => Err(cannot_apply(lock, "VALUES")),
        _ => Err(refuse(lock, "a query in parentheses")),
    }
}

/// PostgreSQL's refusal of a clause beside something else.
pub fn refuse(lock: &LockClause, what: &str) -> Error {
    let message = format!("FOR {} is not allowed with {what}", lock_words::words(lock));
    Error::new(SqlState::FeatureNotSupported, message)
}

/// PostgreSQL's refusal of what has no rows to lock.
pub fn cannot_apply(lock: &LockClause, what: &str) -> Error {
    let message = format!("FOR {} cannot be applied to {what}", lock_words::words(lock));
    Error::new(SqlState::FeatureNotSupported, message)
}

fn refuse_grouping(select: &Select, lock: &LockClause) -> Result<()> {
    let grouped = match &select.group_by {
        GroupByExpr::Expressions(keys, _) => !keys.is_empty(),
        GroupByExpr::All(_) => true,
    };
    let refused = [
        (select.distinct.is_some(), "DISTINCT clause"),
        (grouped, "GROUP BY clause"),
        (select.having.is_some(), "HAVING clause"),
        (has_window_function(select), "window functions"),
    ];
    match refused.iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => Err(refuse(lock, what)),
        None => Ok(()),
    }
}

/// Whether a window function is computed over the rows of a SELECT itself.
fn has_window_function(select: &Select) -> bool {
    struct Windows {
        depth: usize,
    }
    impl Visitor for Windows {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let is_window = matches!(expr, Expr::Function(call) if call.over.is_some());
            match is_window && self.depth == 0 {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    select.projection.visit(&mut Windows { depth: 0 }).is_break()
}
