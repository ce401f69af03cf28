//! Functions that give rows, `generate_series` and `unnest`, in FROM and in the items of a SELECT.
//!
//! In FROM, PostgreSQL names the only column after the alias, or after the function; DataFusion has names of its own.
//! Small integers give integers. Among the items of a SELECT each row of the function is a row of the answer.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, Query, Select, SelectItem, SetExpr,
    Statement, TableAlias, TableAliasColumnDef, TableFactor, TableFunctionArgs, UnaryOperator,
    Value, VisitorMut,
};

use super::calls::{alias, arguments, call, plain_name};
use crate::template::output_name;

const SERIES: &str = "generate_series";
const UNNEST: &str = "unnest";

/// Renames and wraps such functions.
pub struct Series;

impl VisitorMut for Series {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = &*item
            else {
                continue;
            };
            if let Expr::Function(function) = expr
                && plain_name(function) == SERIES
                && let Some(arguments) = arguments(function)
            {
                let name = match &*item {
                    SelectItem::ExprWithAlias { alias, .. } => alias.clone(),
                    _ => alias(&output_name(expr)),
                };
                let expr = call(UNNEST, vec![call(SERIES, arguments)]);
                *item = SelectItem::ExprWithAlias { expr, alias: name };
            }
        }
        ControlFlow::Continue(())
    }

    // After what is inside, which holds the function itself once it is wrapped.
    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let Some(named) = named(factor) {
            *factor = named;
        }
        ControlFlow::Continue(())
    }
}

fn named(factor: &TableFactor) -> Option<TableFactor> {
    match factor {
        TableFactor::Table {
            name,
            alias: given,
            args: Some(TableFunctionArgs { args, .. }),
            with_ordinality: false,
            ..
        } => {
            let function = name.0.last()?.as_ident()?.value.to_lowercase();
            let exprs = args.iter().map(plain).collect::<Option<Vec<Expr>>>()?;
            match function.as_str() {
                SERIES => {
                    let item = match exprs.iter().all(is_small) {
                        true => "CAST(\"value\" AS INTEGER)",
                        false => "\"value\"",
                    };
                    let source = TableFactor::Table {
                        name: ObjectName::from(vec![Ident::new(SERIES)]),
                        alias: None,
                        args: Some(TableFunctionArgs { args: args.clone(), settings: None }),
                        with_hints: Vec::new(),
                        version: None,
                        with_ordinality: false,
                        partitions: Vec::new(),
                        json_path: None,
                        sample: None,
                        index_hints: Vec::new(),
                    };
                    derived(&format!("SELECT {item} FROM t"), Some(source), None, given, SERIES)
                }
                UNNEST => unnest(&exprs, given),
                _ => None,
            }
        }
        TableFactor::UNNEST {
            alias,
            array_exprs,
            with_offset: false,
            with_ordinality: false,
            ..
        } => unnest(array_exprs, alias),
        _ => None,
    }
}

fn unnest(arrays: &[Expr], given: &Option<TableAlias>) -> Option<TableFactor> {
    let [array] = arrays else { return None };
    let item = call(UNNEST, vec![array.clone()]);
    derived("SELECT 1", None, Some(item), given, UNNEST)
}

fn plain(argument: &FunctionArg) -> Option<Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    }
}

/// An integer literal that is an `integer`.
fn is_small(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => {
            matches!(&value.value, Value::Number(digits, _) if digits.parse::<i32>().is_ok())
        }
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => is_small(expr),
        _ => false,
    }
}

/// `(SELECT item FROM source) AS alias(column)`, made from a text whose item and source are then replaced.
fn derived(
    text: &str,
    source: Option<TableFactor>,
    item: Option<Expr>,
    given: &Option<TableAlias>,
    function: &str,
) -> Option<TableFactor> {
    let mut query = parsed(text)?;
    let SetExpr::Select(select) = query.body.as_mut() else { return None };
    if let Some(source) = source {
        select.from.first_mut()?.relation = source;
    }
    let named = given.clone().unwrap_or_else(|| TableAlias {
        explicit: true,
        name: Ident::new(function),
        columns: Vec::new(),
        at: None,
    });
    let column = match named.columns.first() {
        Some(column) => column.name.clone(),
        None => named.name.clone(),
    };
    let expr = match (item, select.projection.pop()?) {
        (Some(item), _) => item,
        (None, SelectItem::UnnamedExpr(expr)) => expr,
        _ => return None,
    };
    select.projection = vec![SelectItem::ExprWithAlias { expr, alias: column.clone() }];
    let columns = vec![TableAliasColumnDef { name: column, data_type: None }];
    let alias = TableAlias { columns, ..named };
    Some(TableFactor::Derived { lateral: false, subquery: query, alias: Some(alias), sample: None })
}

fn parsed(text: &str) -> Option<Box<Query>> {
    let dialect = datafusion::sql::sqlparser::dialect::PostgreSqlDialect {};
    let mut statements =
        datafusion::sql::sqlparser::parser::Parser::parse_sql(&dialect, text).ok()?;
    match statements.pop()? {
        Statement::Query(query) => Some(query),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::template::parse;

    fn rewritten(text: &str) -> String {
        parse(text).expect("it parses").remove(0).to_string()
    }

    #[test]
    fn columns_are_named_after_the_alias() {
        assert_eq!(
            rewritten("SELECT g FROM generate_series(1, 3) g"),
            "SELECT g FROM (SELECT CAST(\"value\" AS INTEGER) AS g FROM generate_series(1, 3)) g (g)"
        );
        assert_eq!(
            rewritten("SELECT * FROM generate_series(1, 9000000000)"),
            "SELECT * FROM (SELECT \"value\" AS generate_series FROM generate_series(1, 9000000000)) \
             AS generate_series (generate_series)"
        );
    }

    #[test]
    fn items_become_rows() {
        assert_eq!(
            rewritten("SELECT generate_series(1, 2)"),
            "SELECT unnest(generate_series(1, 2)) AS \"generate_series\""
        );
    }
}
