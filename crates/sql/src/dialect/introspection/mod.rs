//! What psql, JDBC and other drivers ask of `pg_catalog`, rewritten into what DataFusion can plan.

use std::ops::ControlFlow;
use std::sync::LazyLock;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, Query, SelectItem, SetExpr, Statement, VisitMut, VisitorMut,
};
use datafusion_pg_catalog::sql::PostgresCompatibilityParser;

static RULES: LazyLock<PostgresCompatibilityParser> =
    LazyLock::new(PostgresCompatibilityParser::new);

/// Rewrites one statement.
pub fn rewrite(mut statement: Statement) -> Statement {
    let _ = VisitMut::visit(&mut statement, &mut Defaults);
    RULES.rewrite(statement)
}

/// The subquery for a column's default, which is correlated, becomes a function call.
struct Defaults;

impl VisitorMut for Defaults {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Subquery(query) = expr
            && asks_default(query)
        {
            *expr = call("__column_default", &["attrelid", "attnum"]);
        }
        ControlFlow::Continue(())
    }
}

/// `SELECT pg_get_expr(d.adbin, ..) FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum ..`
fn asks_default(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    let [SelectItem::UnnamedExpr(item)] = select.projection.as_slice() else { return false };
    item.to_string().contains("pg_get_expr(d.adbin") && query.to_string().contains("a.attrelid")
}

fn call(name: &str, columns: &[&str]) -> Expr {
    let argument = |column: &&str| {
        let parts = vec![Ident::new("a"), Ident::new(*column)];
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::CompoundIdentifier(parts)))
    };
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: columns.iter().map(argument).collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}
