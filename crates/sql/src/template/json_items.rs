//! Items of a SELECT that are JSON: PostgreSQL's clients know it by its type's id, and read it.
//!
//! There is no type of JSON here, so it is told by how an item is written: a call of a function that builds JSON, alone, as a
//! scalar subquery, or in a CASE whose other branches are NULL.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Query, SelectItem, Value,
};

use crate::catalog::types::type_id::JSON;
use crate::session::ColumnDescription;

/// By the names that they are written by, and those that they are planned by.
const FUNCTIONS: [&str; 10] = [
    "__json",
    "__json_agg",
    "__json_object_agg",
    "__row_to_json",
    "json_agg",
    "json_build_array",
    "json_build_object",
    "json_object_agg",
    "row_to_json",
    "to_json",
];

/// The columns of a query's answer, those that are JSON under its id.
pub fn marked(query: &Query, columns: Arc<[ColumnDescription]>) -> Arc<[ColumnDescription]> {
    let Some(select) = query.body.as_select() else { return columns };
    let is_json = |item: &SelectItem| item_of(item).is_some_and(is_json);
    if select.projection.len() != columns.len() || !select.projection.iter().any(is_json) {
        return columns;
    }
    let pairs = columns.iter().zip(&select.projection);
    let described = pairs.map(|(column, item)| match is_json(item) {
        true => ColumnDescription { type_id: JSON, ..column.clone() },
        false => column.clone(),
    });
    described.collect()
}

fn item_of(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

/// Whether an expression is JSON by how it is written.
pub fn is_json(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_json(inner),
        Expr::Function(function) => {
            let name = function.name.0.last().and_then(|part| part.as_ident());
            name.is_some_and(|name| {
                let is = |known: &str| name.value.eq_ignore_ascii_case(known);
                FUNCTIONS.iter().any(|known| is(known)) || is("coalesce") && first_is_json(function)
            })
        }
        Expr::Subquery(query) => {
            let select = query.body.as_select();
            let first = select.and_then(|select| select.projection.first());
            first.and_then(item_of).is_some_and(is_json)
        }
        Expr::Case { conditions, else_result, .. } => {
            let results = conditions.iter().map(|when| &when.result);
            let mut results = results.chain(else_result.iter().map(|result| &**result));
            let all = results.clone().all(|result| is_json(result) || is_null(result));
            all && results.any(is_json)
        }
        _ => false,
    }
}

/// `coalesce(json_agg(..), '[]')` is JSON, too.
fn first_is_json(coalesce: &Function) -> bool {
    let FunctionArguments::List(list) = &coalesce.args else { return false };
    match list.args.first() {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(first))) => is_json(first),
        _ => false,
    }
}

/// NULL, or what was it in the text.
fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(value.value, Value::Null | Value::Placeholder(_)))
}
