//! `(a, b) = ROW (...)` and `(a, b) = (SELECT ...)` in a SET clause: what each column gets.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, OrderByKind,
    Query, Select, SelectItem, SetExpr,
};
use engine::types::{Error, Result, SqlState};

use super::constraint::unsupported;
use super::expression::parse;

/// What is assigned to several columns at once.
pub enum RowSource<'a> {
    /// A value for each.
    Values(Vec<&'a Expr>),
    /// The columns of a query's only row.
    Query(&'a Query),
}

/// What a row assignment assigns; `None` for what is no row.
pub fn row_source(value: &Expr) -> Option<RowSource<'_>> {
    match value {
        Expr::Tuple(values) => Some(RowSource::Values(values.iter().collect())),
        Expr::Subquery(query) => Some(RowSource::Query(query)),
        Expr::Function(call) => arguments(call, "row"),
        // `(VALUES (1, 2))` to the parser of plans.
        Expr::Nested(inner) => match &**inner {
            Expr::Function(call) => arguments(call, "values"),
            _ => None,
        },
        _ => None,
    }
}

fn arguments<'a>(call: &'a Function, name: &str) -> Option<RowSource<'a>> {
    let FunctionArguments::List(list) = &call.args else { return None };
    if !call.name.to_string().eq_ignore_ascii_case(name) {
        return None;
    }
    let value = |argument: &'a FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value),
        _ => None,
    };
    list.args.iter().map(value).collect::<Option<Vec<_>>>().map(RowSource::Values)
}

/// 42601
pub const WRONG_NUMBER: &str = "number of columns does not match number of values";

/// 0A000
pub const NO_ROW: &str =
    "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";

/// One expression for each of `count` columns.
pub fn expressions(value: &Expr, count: usize) -> Result<Vec<Expr>> {
    let wrong = || Error::new(SqlState::SyntaxError, WRONG_NUMBER);
    match row_source(value) {
        Some(RowSource::Values(values)) if values.iter().any(|value| is_wildcard(value)) => {
            Err(unsupported("* in a row that is assigned"))
        }
        Some(RowSource::Values(values)) if values.len() == count => {
            Ok(values.into_iter().cloned().collect())
        }
        Some(RowSource::Values(_)) => Err(wrong()),
        Some(RowSource::Query(query)) => {
            if width(query).is_some_and(|width| width != count) {
                return Err(wrong());
            }
            (0..count).map(|column| of_query(query, column, count)).collect()
        }
        None => Err(Error::new(SqlState::FeatureNotSupported, NO_ROW)),
    }
}

fn is_wildcard(value: &Expr) -> bool {
    matches!(value, Expr::Wildcard(_) | Expr::QualifiedWildcard(..))
}

/// How many columns a query has, where it says so.
fn width(query: &Query) -> Option<usize> {
    match &*query.body {
        SetExpr::Select(select) if !has_wildcard(select) => Some(select.projection.len()),
        SetExpr::Values(values) => values.rows.first().map(|row| row.content.len()),
        _ => None,
    }
}

fn has_wildcard(select: &Select) -> bool {
    let is_wildcard = |item: &SelectItem| {
        !matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. })
    };
    select.projection.iter().any(is_wildcard)
}

/// One column of a query, as a scalar subquery. What is assigned together is computed on one snapshot.
fn of_query(query: &Query, column: usize, count: usize) -> Result<Expr> {
    if let SetExpr::Select(select) = &*query.body
        && !has_wildcard(select)
        && !minds_its_items(query, select)
    {
        let mut only = Select::clone(select);
        only.projection = vec![select.projection[column].clone()];
        let body = Box::new(SetExpr::Select(Box::new(only)));
        return Ok(Expr::Subquery(Box::new(Query { body, ..query.clone() })));
    }
    let names: Vec<String> = (0..count).map(|number| format!("c{number}")).collect();
    parse(&format!("(SELECT c{column} FROM ({query}) AS row__ ({}))", names.join(", ")))
}

/// Whether which rows a SELECT gives may depend on its other items: by DISTINCT, or by ORDER BY and GROUP BY that name them.
fn minds_its_items(query: &Query, select: &Select) -> bool {
    let is_item = |expr: &Expr| match expr {
        Expr::Value(_) => true,
        Expr::Identifier(name) => select
            .projection
            .iter()
            .any(|item| matches!(item, SelectItem::ExprWithAlias { alias, .. } if alias == name)),
        _ => false,
    };
    let by_item = query.order_by.as_ref().is_some_and(|order| match &order.kind {
        OrderByKind::Expressions(keys) => keys.iter().any(|key| is_item(&key.expr)),
        OrderByKind::All(_) => true,
    });
    let groups_by_item = match &select.group_by {
        GroupByExpr::Expressions(keys, _) => keys.iter().any(is_item),
        GroupByExpr::All(_) => true,
    };
    select.distinct.is_some() || by_item || groups_by_item
}
