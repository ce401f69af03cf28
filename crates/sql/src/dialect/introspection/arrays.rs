//! Arrays as PostgreSQL writes them: `ARRAY(subquery)`, `(value).field`, `information_schema._pg_expandarray`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Function, FunctionArguments, SelectItem, Value, VisitorMut,
};

use super::calls::{alias, arguments, call, plain_name};
use crate::dialect::applied::COLLECT;
use crate::template::output_name;

/// Puts functions that DataFusion knows in their places.
pub struct Arrays;

impl VisitorMut for Arrays {
    type Break = ();

    fn pre_visit_select(
        &mut self,
        select: &mut datafusion::sql::sqlparser::ast::Select,
    ) -> ControlFlow<()> {
        // Named before they are changed.
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && !matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
            {
                let alias = alias(&output_name(expr));
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let replacement = match expr {
            Expr::Function(function) => function_for(function),
            Expr::CompoundFieldAccess { root, access_chain } => field(root, access_chain),
            _ => None,
        };
        if let Some(replacement) = replacement {
            *expr = replacement;
        }
        ControlFlow::Continue(())
    }
}

fn function_for(function: &mut Function) -> Option<Expr> {
    match (plain_name(function).as_str(), &mut function.args) {
        ("array", FunctionArguments::Subquery(query)) => {
            Some(call(COLLECT, vec![Expr::Subquery(query.clone())]))
        }
        ("_pg_expandarray", _) => {
            let items = call("__numbered_items", arguments(function)?);
            Some(call("unnest", vec![items]))
        }
        _ => None,
    }
}

/// `(value).field`
fn field(root: &Expr, chain: &[AccessExpr]) -> Option<Expr> {
    let [AccessExpr::Dot(Expr::Identifier(name))] = chain else { return None };
    let name = Expr::value(Value::SingleQuotedString(name.value.clone()));
    Some(call("get_field", vec![root.clone(), name]))
}
