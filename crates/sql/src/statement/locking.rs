//! SELECT ... FOR UPDATE and its kin: which rows of which tables a query locks, and how.
//!
//! The query is planned with the ids of these rows as columns of its own behind its own ones; without its LIMIT once more, for rows
//! that take the places of skipped ones. Called where queries are planned; `session::locking` runs it.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    self, Expr, GroupByExpr, Ident, JoinConstraint, JoinOperator, LimitClause, LockClause,
    NonBlock, Query, Select, SelectItem, SetExpr, TableFactor,
};
use engine::transaction::LockMode;
use engine::types::{Error, Result, SqlState, TableId};

use super::naming::{fold, split};
use super::returning::quoted;
use crate::catalog::{Catalog, HIDDEN_SCHEMA, ROW_ID, ROW_VERSION};
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

/// A table of FROM.
struct Source {
    alias: Ident,
    table: TableId,
    name: String,
}

/// Plans what a query with these clauses locks; `None` where no table is involved.
pub fn plan(
    database: &Database,
    catalog: &Arc<Catalog>,
    query: &Query,
    clauses: &[LockClause],
    parameters: &Parameters,
) -> Result<Option<Locking>> {
    let SetExpr::Select(select) = &*query.body else {
        return Err(refuse("UNION/INTERSECT/EXCEPT"));
    };
    refuse_grouping(select)?;
    let locked: Vec<(Ident, Locked)> = sources(catalog, select)
        .into_iter()
        .filter_map(|source| lock_of(source, clauses))
        .collect();
    if locked.is_empty() {
        return Ok(None);
    }
    refuse_natural_joins(select)?;
    let mut ids = query.clone();
    let id = |(number, (source, _)): (usize, &(Ident, Locked))| SelectItem::ExprWithAlias {
        expr: Expr::CompoundIdentifier(vec![source.clone(), Ident::new(ROW_ID)]),
        alias: Ident::new(format!("{LOCKED}{number}")),
    };
    if let SetExpr::Select(select) = &mut *ids.body {
        select.projection.extend(locked.iter().enumerate().map(id));
        hide(catalog, select);
    }
    let planned = |query: &Query| {
        let (mut parameters, text) = (parameters.clone(), query.to_string());
        database.planner.query(catalog, query, &mut parameters, &text)
    };
    let (query, uncut) = (planned(&ids)?, without_limit(&ids));
    let names: Vec<&str> = query.columns.iter().map(|column| &*column.name).collect();
    let first = names.len() - locked.len();
    let is_hidden = |name: &str| name == ROW_ID || name == ROW_VERSION;
    let shown = (0..first).filter(|column| !is_hidden(names[*column])).collect();
    let tables = locked.into_iter().enumerate();
    let tables = tables.map(|(number, (_, locked))| (first + number, locked)).collect();
    let uncut = uncut.as_ref().map(planned).transpose()?;
    Ok(Some(Locking { query, uncut, shown, tables }))
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

/// How the clauses lock a table: the strongest of those that name it.
fn lock_of(source: Source, clauses: &[LockClause]) -> Option<(Ident, Locked)> {
    let of_it: Vec<&LockClause> = clauses
        .iter()
        .filter(|clause| {
            lock_words::of(clause).is_none_or(|name| fold(name) == fold(&source.alias))
        })
        .collect();
    let mode = of_it.iter().map(|clause| lock_words::mode(clause)).max()?;
    let waits = of_it.iter().map(|clause| match clause.nonblock {
        None => Waits::Waits,
        Some(NonBlock::SkipLocked) => Waits::Skips,
        Some(NonBlock::Nowait) => Waits::Refuses,
    });
    let waits = waits.max().unwrap_or(Waits::Waits);
    let Source { alias, table, name } = source;
    Some((alias, Locked { table, name, mode, waits }))
}

/// Tables that show their hidden columns would be joined by these, too.
fn refuse_natural_joins(select: &Select) -> Result<()> {
    let mut joins = select.from.iter().flat_map(|from| &from.joins);
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
    match joins.any(|join| is_natural(&join.join_operator)) {
        true => Err(refuse("NATURAL JOIN")),
        false => Ok(()),
    }
}

fn refuse(what: &str) -> Error {
    let message = format!("FOR UPDATE is not allowed with {what}");
    Error::new(SqlState::FeatureNotSupported, message)
}

fn refuse_grouping(select: &Select) -> Result<()> {
    let grouped = match &select.group_by {
        GroupByExpr::Expressions(keys, _) => !keys.is_empty(),
        GroupByExpr::All(_) => true,
    };
    if grouped {
        return Err(refuse("GROUP BY clause"));
    }
    if select.distinct.is_some() {
        return Err(refuse("DISTINCT clause"));
    }
    if select.having.is_some() {
        return Err(refuse("HAVING clause"));
    }
    Ok(())
}

/// Lets the tables of FROM show their row ids.
fn hide(catalog: &Catalog, select: &mut Select) {
    for from in &mut select.from {
        let joined = from.joins.iter_mut().map(|join| &mut join.relation);
        for factor in std::iter::once(&mut from.relation).chain(joined) {
            let Some(Source { alias: visible, .. }) = source(catalog, factor) else { continue };
            let TableFactor::Table { name, alias, .. } = factor else { continue };
            let Ok((_, bare)) = split(name) else { continue };
            *name = ast::ObjectName::from(vec![Ident::new(HIDDEN_SCHEMA), quoted(&bare)]);
            alias.get_or_insert_with(|| ast::TableAlias {
                explicit: true,
                name: visible,
                columns: Vec::new(),
                at: None,
            });
        }
    }
}

/// The tables of FROM under the names that the query gives them.
fn sources(catalog: &Catalog, select: &Select) -> Vec<Source> {
    let factors = select.from.iter().flat_map(|from| {
        std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
    });
    factors.filter_map(|factor| source(catalog, factor)).collect()
}

fn source(catalog: &Catalog, factor: &ast::TableFactor) -> Option<Source> {
    let TableFactor::Table { name, alias, args: None, .. } = factor else { return None };
    let (schema, name) = split(name).ok()?;
    let table = catalog.table(schema.as_deref(), &name)?;
    let alias = alias.as_ref().map_or(name, |alias| fold(&alias.name));
    Some(Source { alias: quoted(&alias), table: table.id, name: table.name.to_string() })
}
