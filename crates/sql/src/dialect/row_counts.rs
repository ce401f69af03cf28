//! `LIMIT (SELECT ..)`, `OFFSET (SELECT ..)` and `FETCH FIRST .. WITH TIES`, which the planner does not know.
//!
//! They become conditions on the numbers of rows behind windows and groups: `row_number() OVER (ORDER BY keys) <= n`, with ties `rank()`.
//! A SELECT that has nothing below its ORDER BY but itself is rewritten, unless its items give rows, which come behind all conditions; others are
//! refused by the planner.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, LimitClause, OrderBy, OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr,
    Value as Literal, Visit, Visitor, VisitorMut,
};
use engine::types::{DataType, Error, SqlState, Value};

use super::by_row::{ByRow, Takes};
use super::introspection::plain_name;
use crate::statement::expression;

const LIMIT: &str = "__limit";
const OFFSET: &str = "__offset";

/// Functions of which each row is a row of the answer, where they are items of a SELECT.
const GIVE_ROWS: &[&str] =
    &["generate_series", "generate_subscripts", "pg_listening_channels", "unnest"];

/// More rows than any query has, and half of what a sum of two may be.
const ALL: i64 = i64::MAX / 2;

/// What a count of rows is checked by.
pub const FUNCTIONS: [ByRow; 2] = [
    ByRow {
        name: LIMIT,
        takes: Takes::Values(&[DataType::BigInt]),
        gives: DataType::BigInt,
        compute: |values| {
            not_negative(values, SqlState::InvalidLimit, "LIMIT must not be negative")
        },
    },
    ByRow {
        name: OFFSET,
        takes: Takes::Values(&[DataType::BigInt]),
        gives: DataType::BigInt,
        compute: |values| {
            not_negative(values, SqlState::InvalidOffset, "OFFSET must not be negative")
        },
    },
];

fn not_negative(values: &[Value], state: SqlState, message: &str) -> Result<Value, Error> {
    match values {
        [Value::BigInt(count)] if *count < 0 => Err(Error::new(state, message)),
        [count] => Ok(count.clone()),
        _ => unreachable!("it takes one value"),
    }
}

/// Rewrites queries whose rows are counted so.
pub struct RowCounts;

impl VisitorMut for RowCounts {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let Some(condition) = condition(query)
            && let SetExpr::Select(select) = &mut *query.body
        {
            select.qualify = Some(condition);
            (query.fetch, query.limit_clause) = (None, None);
        }
        ControlFlow::Continue(())
    }
}

/// What a query asks of its rows' numbers; `None` where the planner knows its clauses, or where they stand over other queries.
fn condition(query: &Query) -> Option<Expr> {
    let SetExpr::Select(select) = &*query.body else { return None };
    let (limit, offset) = match &query.limit_clause {
        Some(LimitClause::LimitOffset { limit, offset, limit_by }) if limit_by.is_empty() => {
            (limit.clone(), offset.as_ref().map(|offset| offset.value.clone()))
        }
        None => (None, None),
        Some(_) => return None,
    };
    let fetch = query.fetch.as_ref();
    let with_ties = fetch.is_some_and(|fetch| fetch.with_ties && !fetch.percent);
    let one = || Expr::value(Literal::Number("1".to_owned(), false));
    let limit = match fetch {
        Some(fetch) => Some(fetch.quantity.clone().unwrap_or_else(one)),
        None => limit,
    };
    let is_asked = [&limit, &offset].into_iter().flatten().any(is_query);
    let is_plain = select.distinct.is_none()
        && select.qualify.is_none()
        && query.locks.is_empty()
        && !gives_rows(&select.projection);
    if !(with_ties || is_asked) || !is_plain {
        return None;
    }
    let keys = keys(query.order_by.as_ref(), select)?;
    let skipped = offset.map_or("0".to_owned(), |offset| {
        format!("coalesce({OFFSET}(CAST({offset} AS bigint)), 0)")
    });
    let mut text = format!("row_number() OVER ({keys}) > {skipped}");
    if let Some(limit) = limit {
        let number = if with_ties { "rank" } else { "row_number" };
        text.push_str(&format!(
            " AND {number}() OVER ({keys}) <= {skipped} + coalesce({LIMIT}(CAST({limit} AS bigint)), {ALL})"
        ));
    }
    expression::parse(&text).ok()
}

/// Whether a row may become several.
fn gives_rows(items: &Vec<SelectItem>) -> bool {
    struct Finder;
    impl Visitor for Finder {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(function) if GIVE_ROWS.contains(&&*plain_name(function)) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    items.visit(&mut Finder).is_break()
}

fn is_query(count: &Expr) -> bool {
    match count {
        Expr::Subquery(_) => true,
        Expr::Nested(inner) => is_query(inner),
        Expr::Cast { expr, .. } => is_query(expr),
        _ => false,
    }
}

/// ORDER BY for a window: places and names of the select list stand for what they name.
fn keys(order_by: Option<&OrderBy>, select: &Select) -> Option<String> {
    let Some(order_by) = order_by else { return Some(String::new()) };
    let OrderByKind::Expressions(keys) = &order_by.kind else { return None };
    let key = |key: &OrderByExpr| {
        let expr = meant(&key.expr, select)?;
        Some(OrderByExpr { expr, ..key.clone() }.to_string())
    };
    let keys = keys.iter().map(key).collect::<Option<Vec<_>>>()?;
    Some(format!("ORDER BY {}", keys.join(", ")))
}

fn meant(key: &Expr, select: &Select) -> Option<Expr> {
    let items = &select.projection;
    match key {
        Expr::Value(value) => match &value.value {
            Literal::Number(place, _) => {
                let item = items.get(place.parse::<usize>().ok()?.checked_sub(1)?)?;
                match item {
                    SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                        Some(expr.clone())
                    }
                    _ => None,
                }
            }
            _ => Some(key.clone()),
        },
        Expr::Identifier(name) => {
            let named = items.iter().find_map(|item| match item {
                SelectItem::ExprWithAlias { expr, alias } if alias == name => Some(expr.clone()),
                _ => None,
            });
            Some(named.unwrap_or_else(|| key.clone()))
        }
        _ => Some(key.clone()),
    }
}
