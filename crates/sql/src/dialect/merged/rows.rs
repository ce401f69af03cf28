//! Whole rows as arguments: `row_to_json(t)` and `json_agg(t)` get the columns of `t`, each behind its name, and `count(t)` counts.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Value,
};

use super::super::introspection::{call, plain_name};
use super::super::json::ROW;
use super::scope::{Scope, qualified};
use crate::template::visible_name;

/// Functions that take rows.
const TAKERS: &[&str] = &["row_to_json", "to_json", "json_agg", "count"];

/// The bare name that a call has for its only argument, where it takes rows.
pub fn may_take_row(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Function(function) => bare(function),
        _ => None,
    }
}

/// Puts the row's columns in the place of the relation's name. Rows of the only relation are all counted.
pub fn spread_row(expr: &mut Expr, scope: &Scope<'_>) {
    let Expr::Function(function) = expr else { return };
    let Some(name) = bare(function).cloned() else { return };
    let Some((_, columns)) = scope.relation(&name) else { return };
    let row = || {
        let fields = columns.iter().flat_map(|(column, _)| {
            let key = Value::SingleQuotedString(visible_name(column).to_owned());
            [Expr::value(key), qualified(&name, column)]
        });
        call(ROW, fields.collect())
    };
    let argument = match &*plain_name(function) {
        "count" if scope.is_of_one() => FunctionArgExpr::Wildcard,
        "count" => return,
        "json_agg" => FunctionArgExpr::Expr(row()),
        _ => {
            *expr = row();
            return;
        }
    };
    if let FunctionArguments::List(list) = &mut function.args {
        list.args = vec![FunctionArg::Unnamed(argument)];
    }
}

/// The only argument of such a function, where it is a bare name.
fn bare(function: &Function) -> Option<&Ident> {
    let FunctionArguments::List(list) = &function.args else { return None };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(name)))]
            if TAKERS.contains(&&*plain_name(function)) =>
        {
            Some(name)
        }
        _ => None,
    }
}
