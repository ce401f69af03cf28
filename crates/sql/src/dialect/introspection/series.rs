//! Functions that give rows, `generate_series`, `generate_subscripts` and `unnest`, in FROM and in the items of a SELECT.
//!
//! In FROM, PostgreSQL names the only column after the alias, or after the function; DataFusion has names of its own. Small
//! integers give integers. WITH ORDINALITY is another array beside those of `unnest`. Among the items of a SELECT each row of the
//! function is a row of the answer.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, Query, Select,
    SelectItem, SetExpr, Statement, TableAlias, TableAliasColumnDef, TableFactor,
    TableFunctionArgs, UnaryOperator, Value, ValueWithSpan, Visit, Visitor, VisitorMut,
};

use super::calls::{alias, arguments, call, plain_name};
use crate::dialect::subscripts::{ORDINALS, SUBSCRIPTS};
use crate::template::output_name;

const SERIES: &str = "generate_series";
const GENERATED: &str = "generate_subscripts";
const UNNEST: &str = "unnest";
const ORDINALITY: &str = "ordinality";

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
                && let Some(source) = array_of(&plain_name(function))
                && let Some(arguments) = arguments(function)
            {
                let name = match &*item {
                    SelectItem::ExprWithAlias { alias, .. } => alias.clone(),
                    _ => alias(&output_name(expr)),
                };
                let arguments = if source == SERIES { of_integers(arguments) } else { arguments };
                let expr = call(UNNEST, vec![call(source, arguments)]);
                *item = SelectItem::ExprWithAlias { expr, alias: name };
            }
        }
        ControlFlow::Continue(())
    }

    /// What stands first sees nothing beside it: columns that it names are an outer query's.
    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if let Some(first) = select.from.first_mut()
            && let TableFactor::Derived { lateral, .. } = &mut first.relation
        {
            *lateral = false;
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

/// The function that gives as an array what one gives as rows.
fn array_of(function: &str) -> Option<&'static str> {
    match function {
        SERIES => Some(SERIES),
        GENERATED => Some(SUBSCRIPTS),
        _ => None,
    }
}

fn named(factor: &TableFactor) -> Option<TableFactor> {
    match factor {
        TableFactor::Table {
            name,
            alias: given,
            args: Some(TableFunctionArgs { args, .. }),
            with_ordinality,
            ..
        } => {
            let function = name.0.last()?.as_ident()?.value.to_lowercase();
            let exprs = args.iter().map(plain).collect::<Option<Vec<Expr>>>()?;
            match function.as_str() {
                GENERATED if !with_ordinality => {
                    let item = call(UNNEST, vec![call(SUBSCRIPTS, exprs)]);
                    derived("SELECT 1", None, Some(item), given, GENERATED)
                }
                SERIES if !with_ordinality && is_known_late(&exprs) => {
                    let item = call(UNNEST, vec![call(SERIES, of_integers(exprs))]);
                    derived("SELECT 1", None, Some(item), given, SERIES)
                }
                SERIES if !with_ordinality => {
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
                UNNEST => unnest(&exprs, given, *with_ordinality),
                _ => None,
            }
        }
        TableFactor::Function { name, args, with_ordinality: false, alias, .. } => {
            let exprs = args.iter().map(plain).collect::<Option<Vec<Expr>>>()?;
            let function = name.0.last()?.as_ident()?.value.to_lowercase();
            let item = match function.as_str() {
                SERIES => call(SERIES, of_integers(exprs)),
                GENERATED => call(SUBSCRIPTS, exprs),
                UNNEST if exprs.len() == 1 => exprs.into_iter().next()?,
                _ => return None,
            };
            derived("SELECT 1", None, Some(call(UNNEST, vec![item])), alias, &function)
        }
        TableFactor::UNNEST { alias, array_exprs, with_offset: false, with_ordinality, .. } => {
            unnest(array_exprs, alias, *with_ordinality)
        }
        _ => None,
    }
}

fn unnest(
    arrays: &[Expr],
    given: &Option<TableAlias>,
    with_ordinality: bool,
) -> Option<TableFactor> {
    if let ([array], false) = (arrays, with_ordinality) {
        let item = call(UNNEST, vec![array.clone()]);
        return derived("SELECT 1", None, Some(item), given, UNNEST);
    }
    let mut items: Vec<Expr> =
        arrays.iter().map(|array| call(UNNEST, vec![array.clone()])).collect();
    if with_ordinality {
        items.push(call(UNNEST, vec![call(ORDINALS, arrays.to_vec())]));
    }
    side_by_side(items, given, arrays.len() == 1)
}

/// `(SELECT item AS column, ..) AS alias (column, ..)`. Of a single function the alias names the column, too; several columns
/// without names would have the same one.
fn side_by_side(
    items: Vec<Expr>,
    given: &Option<TableAlias>,
    is_single: bool,
) -> Option<TableFactor> {
    let mut alias = given.clone().unwrap_or_else(|| TableAlias {
        explicit: true,
        name: Ident::new(UNNEST),
        columns: Vec::new(),
        at: None,
    });
    let mut names: Vec<Ident> = alias.columns.iter().map(|column| column.name.clone()).collect();
    let defaults = [alias.name.clone(), Ident::new(ORDINALITY)];
    if is_single {
        names.extend(defaults.into_iter().skip(names.len()));
    }
    if names.len() != items.len() {
        return None;
    }
    let mut subquery = parsed("SELECT 1")?;
    let lateral = names_column(&items);
    let SetExpr::Select(select) = subquery.body.as_mut() else { return None };
    let named = items.into_iter().zip(&names);
    let named = named.map(|(expr, name)| SelectItem::ExprWithAlias { expr, alias: name.clone() });
    select.projection = named.collect();
    alias.columns =
        names.into_iter().map(|name| TableAliasColumnDef { name, data_type: None }).collect();
    Some(TableFactor::Derived { lateral, subquery, alias: Some(alias), sample: None })
}

/// Whether it names a column: a function in FROM sees what stands before it without being asked to.
pub fn names_column<T: Visit>(node: &T) -> bool {
    struct Columns;
    impl Visitor for Columns {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    node.visit(&mut Columns).is_break()
}

fn plain(argument: &FunctionArg) -> Option<Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    }
}

/// Whether a series' ends are not known when it is planned.
fn is_known_late(ends: &Vec<Expr>) -> bool {
    struct Parameters;
    impl Visitor for Parameters {
        type Break = ();

        fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
            match value.value {
                Value::Placeholder(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    names_column(ends) || ends.visit(&mut Parameters).is_break()
}

/// Small literals among a series' ends are integers, by themselves they would be read as bigints.
fn of_integers(ends: Vec<Expr>) -> Vec<Expr> {
    let integer = |end: Expr| match is_small(&end) {
        true => Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(end),
            data_type: DataType::Integer(None),
            array: false,
            format: None,
        },
        false => end,
    };
    ends.into_iter().map(integer).collect()
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
    let lateral = names_column(&item);
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
    Some(TableFactor::Derived { lateral, subquery: query, alias: Some(alias), sample: None })
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
    fn ordinality_is_one_more_array() {
        assert_eq!(
            rewritten("SELECT * FROM unnest(ARRAY[5, 6]) WITH ORDINALITY AS t"),
            "SELECT * FROM (SELECT unnest(ARRAY[5, 6]) AS t, unnest(__ordinals(ARRAY[5, 6])) AS \
             ordinality) AS t (t, ordinality)"
        );
        assert_eq!(
            rewritten("SELECT x FROM unnest(ARRAY[5], ARRAY['a', 'b']) AS t (x, y)"),
            "SELECT x FROM (SELECT unnest(ARRAY[5]) AS x, unnest(ARRAY['a', 'b']) AS y) AS t (x, y)"
        );
    }

    #[test]
    fn subscripts_are_an_array_first() {
        assert_eq!(
            rewritten("SELECT generate_subscripts(i.indkey, 1) AS n FROM i"),
            "SELECT unnest(__subscripts(i.indkey, 1)) AS n FROM i"
        );
    }

    #[test]
    fn items_become_rows() {
        assert_eq!(
            rewritten("SELECT generate_series(1, 2)"),
            "SELECT unnest(generate_series(CAST(1 AS INTEGER), CAST(2 AS INTEGER))) AS \"generate_series\""
        );
    }
}
