//! Arrays as rows, where nobody here gives them: 0A000 before anything is planned.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, Statement,
    TableFactor, Visit, Visitor,
};
use engine::types::{Error, Result, SqlState};

/// 0A000 for `unnest` of what comes as text, and for WITH ORDINALITY of anything else.
pub fn check(statement: &Statement) -> Result<()> {
    if !matches!(
        statement,
        Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_)
    ) {
        return Ok(());
    }
    match statement.visit(&mut Unnested) {
        ControlFlow::Break(fault) => Err(fault),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn is_unnest(name: &ObjectName) -> bool {
    is_called(name, "unnest")
}

/// psql numbers the tables that a table is a part of; here it is a part of none.
fn has_no_rows(name: &ObjectName) -> bool {
    is_called(name, "pg_partition_ancestors")
}

fn is_called(name: &ObjectName, function: &str) -> bool {
    let last = name.0.last().and_then(|part| part.as_ident());
    last.is_some_and(|name| name.value.eq_ignore_ascii_case(function))
}

fn argument(argument: &FunctionArg) -> Option<&Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

/// 0A000 for rows out of an array that comes as text, which a parameter's does: it would be one row.
fn rows_of_text(arrays: &[&Expr]) -> ControlFlow<Error> {
    let is_text = |expr: &&Expr| match expr {
        Expr::Cast { expr, .. } => matches!(**expr, Expr::Value(_)),
        other => matches!(other, Expr::Value(_)),
    };
    match arrays.iter().any(is_text) {
        true => {
            let message = "unnest of a parameter or a literal is not supported";
            ControlFlow::Break(Error::new(SqlState::FeatureNotSupported, message))
        }
        false => ControlFlow::Continue(()),
    }
}

struct Unnested;

impl Visitor for Unnested {
    type Break = Error;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Error> {
        match expr {
            Expr::Function(Function { name, args: FunctionArguments::List(list), .. })
                if is_unnest(name) =>
            {
                rows_of_text(&list.args.iter().filter_map(argument).collect::<Vec<_>>())
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Error> {
        let unnested: Vec<&Expr> = match factor {
            TableFactor::UNNEST { array_exprs, .. } => array_exprs.iter().collect(),
            TableFactor::Table { name, args: Some(args), .. } if is_unnest(name) => {
                args.args.iter().filter_map(argument).collect()
            }
            TableFactor::Function { name, args, .. } if is_unnest(name) => {
                args.iter().filter_map(argument).collect()
            }
            _ => Vec::new(),
        };
        if let TableFactor::Table { name, with_ordinality: true, .. } = factor
            && !is_unnest(name)
            && !has_no_rows(name)
        {
            let message = format!("WITH ORDINALITY of {name} is not supported");
            let error = Error::new(SqlState::FeatureNotSupported, message);
            return ControlFlow::Break(error.hint("Number its rows by row_number() OVER ()."));
        }
        rows_of_text(&unnested)
    }
}
