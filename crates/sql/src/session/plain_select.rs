//! A SELECT of one row, whose items are computed exactly once, in the order in which they stand: the place for functions that do
//! something. Called by `advisory` and `pg_notify`.

use datafusion::sql::sqlparser::ast::{Expr, GroupByExpr, Query, Select, SelectItem};

/// The SELECT that a query is, where it has no FROM and nothing that leaves its row out or repeats it.
pub fn plain_select(query: &Query) -> Option<&Select> {
    let is_cut = query.limit_clause.is_some() || query.fetch.is_some() || query.with.is_some();
    let select = query.body.as_select().filter(|_| !is_cut)?;
    let is_grouped =
        !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    let is_filtered = select.selection.is_some() || select.having.is_some();
    (select.from.is_empty() && !is_grouped && !is_filtered).then_some(select)
}

/// The expressions of its items.
pub fn items(select: &Select) -> impl Iterator<Item = &Expr> {
    select.projection.iter().filter_map(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    })
}
