//! EXCEPT ALL and INTERSECT ALL: how often a row occurs counts.
//!
//! DataFusion joins both sides on all columns and keeps or drops a row whatever its number. Here each row's copies
//! are numbered on both sides first, and the number is compared like a column: `mark` writes that down in the query,
//! with a constant in the number's place, and `number` puts the numbering there once the columns are known.

use std::ops::ControlFlow;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::{Expr, ExprFunctionExt, LogicalPlan, LogicalPlanBuilder, cast};
use datafusion::sql::sqlparser::ast::{
    Query, SetExpr, SetOperator, SetQuantifier, TableFactor, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

/// The column that numbers a row's copies.
const COPY: &str = "__copy";

/// A query that counts copies, without its two sides.
const FORM: &str = "SELECT * EXCLUDE (__copy) FROM ((SELECT *, 0 AS __copy FROM (VALUES (1)) AS __left) \
     EXCEPT (SELECT *, 0 AS __copy FROM (VALUES (1)) AS __right)) AS __bag";

/// Rewrites the set operations that count copies; whether there are any.
pub fn mark(query: &mut Query) -> bool {
    struct Marker(bool);
    impl VisitorMut for Marker {
        type Break = ();

        fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
            self.0 |= mark_body(&mut query.body);
            ControlFlow::Continue(())
        }
    }
    let mut marker = Marker(false);
    let _ = VisitMut::visit(query, &mut marker);
    marker.0
}

fn mark_body(body: &mut SetExpr) -> bool {
    let SetExpr::SetOperation { left, right, op, set_quantifier } = body else { return false };
    let below = mark_body(left) | mark_body(right);
    let counts = matches!(op, SetOperator::Except | SetOperator::Intersect);
    if !counts || *set_quantifier != SetQuantifier::All {
        return below;
    }
    *body = counting(*op, left, right);
    true
}

/// The form with its sides and its operation.
fn counting(op: SetOperator, left: &SetExpr, right: &SetExpr) -> SetExpr {
    struct Filler<'a> {
        op: SetOperator,
        left: &'a SetExpr,
        right: &'a SetExpr,
    }
    impl VisitorMut for Filler<'_> {
        type Break = ();

        fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
            if let SetExpr::SetOperation { op, .. } = query.body.as_mut() {
                *op = self.op;
            }
            ControlFlow::Continue(())
        }

        fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
            if let TableFactor::Derived { subquery, alias: Some(alias), .. } = factor {
                match alias.name.value.as_str() {
                    "__left" => *subquery.body = self.left.clone(),
                    "__right" => *subquery.body = self.right.clone(),
                    _ => {}
                }
            }
            ControlFlow::Continue(())
        }
    }
    let parsed = Parser::new(&GenericDialect {}).try_with_sql(FORM);
    let mut query = parsed.and_then(|mut parser| parser.parse_query()).expect("the form is SQL");
    let _ = VisitMut::visit(&mut *query, &mut Filler { op, left, right });
    *query.body
}

/// Numbers the copies where a query was marked.
pub fn number(plan: LogicalPlan) -> Result<LogicalPlan> {
    let numbered = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Projection(projection) => {
            let is_copy = |expr: &Expr| {
                matches!(expr, Expr::Alias(Alias { name, expr, .. })
                    if name == COPY && !matches!(**expr, Expr::Column(_) | Expr::Cast(_)))
            };
            if !projection.expr.iter().any(is_copy) {
                return Ok(Transformed::no(LogicalPlan::Projection(projection)));
            }
            let rest = projection.expr.iter().filter(|expr| !is_copy(expr));
            let keys: Vec<Expr> = rest.cloned().collect();
            let copies = row_number().partition_by(keys).build()?;
            let name = Column::from_name(copies.schema_name().to_string());
            let numbers = cast(Expr::Column(name), DataType::Int64).alias(COPY);
            let items = projection.expr.iter().map(|expr| match is_copy(expr) {
                true => numbers.clone(),
                false => expr.clone(),
            });
            let items: Vec<Expr> = items.collect();
            let input = LogicalPlan::clone(&projection.input);
            let plan = LogicalPlanBuilder::from(input).window([copies])?.project(items)?.build()?;
            Ok(Transformed::yes(plan))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(numbered.data)
}
