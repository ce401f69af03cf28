//! SELECT ... FOR UPDATE and FOR SHARE in a block.
//!
//! Nothing is locked: the rows are remembered, and COMMIT fails with 40001 where one has changed
//! since. Outside a block there is nobody to protect them for.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    self, Expr, GroupByExpr, Ident, Query, Select, SelectItem, SetExpr, TableFactor,
};
use engine::types::{Error, Result, SqlState, TableId};

use super::naming::{fold, split};
use super::returning::quoted;
use crate::catalog::{Catalog, HIDDEN_SCHEMA, ROW_ID};
use crate::session::Database;
use crate::template::{Parameters, QueryTemplate};

/// The rows behind a query's answer.
#[derive(Debug)]
pub struct Locking {
    /// The query for their ids, one column per table.
    pub query: Arc<QueryTemplate>,
    /// The tables.
    pub tables: Vec<TableId>,
}

/// Plans the query for the ids; `None` where no table is involved.
pub fn plan(
    database: &Database,
    catalog: &Arc<Catalog>,
    query: &Query,
    parameters: &Parameters,
) -> Result<Option<Locking>> {
    let SetExpr::Select(select) = &*query.body else {
        return Err(refuse("UNION/INTERSECT/EXCEPT"));
    };
    refuse_grouping(select)?;
    let sources = sources(catalog, select);
    if sources.is_empty() {
        return Ok(None);
    }
    let id = |alias: &Ident, number: usize| SelectItem::ExprWithAlias {
        expr: Expr::CompoundIdentifier(vec![alias.clone(), Ident::new(ROW_ID)]),
        alias: Ident::new(format!("c{number}")),
    };
    let mut ids = query.clone();
    let items = sources.iter().enumerate().map(|(number, (alias, _))| id(alias, number));
    if let SetExpr::Select(select) = &mut *ids.body {
        select.projection = items.collect();
        hide(catalog, select);
    }
    let mut parameters = parameters.clone();
    let text = ids.to_string();
    let query = database.planner.query(catalog, &ids, &mut parameters, &text)?;
    Ok(Some(Locking { query, tables: sources.into_iter().map(|(_, table)| table).collect() }))
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
            let Some((visible, _)) = source(catalog, factor) else { continue };
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
fn sources(catalog: &Catalog, select: &Select) -> Vec<(Ident, TableId)> {
    let factors = select.from.iter().flat_map(|from| {
        std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
    });
    factors.filter_map(|factor| source(catalog, factor)).collect()
}

fn source(catalog: &Catalog, factor: &ast::TableFactor) -> Option<(Ident, TableId)> {
    let TableFactor::Table { name, alias, args: None, .. } = factor else { return None };
    let (schema, name) = split(name).ok()?;
    let table = catalog.table(schema.as_deref(), &name)?;
    let alias = alias.as_ref().map_or(name, |alias| fold(&alias.name));
    Some((quoted(&alias), table.id))
}
