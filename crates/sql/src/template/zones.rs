//! What of a plan would mean something else in the session's time zone and is computed in UTC.
//!
//! In comes a plan, or an expression, of a session whose TimeZone is not UTC, after [`crate::dialect`] has made what it knows to be
//! of the zone computed there; 0A000 where something is left that goes from instants to local times or back, or takes the fields of
//! an instant: types that DataFusion brings together by itself.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};

use crate::dialect::{crosses, is_instant};
use crate::text::{is_utc, zone_refused};

/// Functions that look at an instant's fields.
const FIELDS: [&str; 6] = ["date_trunc", "date_part", "extract", "to_char", "to_local_time", "age"];

/// Functions that make instants of local times.
const MAKERS: [&str; 2] = ["to_timestamp", "make_timestamptz"];

/// Refuses a plan.
pub fn check_plan(plan: &LogicalPlan) -> Result<()> {
    if is_utc() {
        return Ok(());
    }
    plan.apply_with_subqueries(|node| {
        let mut schema = DFSchema::clone(node.schema());
        for input in node.inputs() {
            schema.merge(input.schema());
        }
        node.apply_expressions(|expr| {
            check_expression(expr, &schema).map(|()| TreeNodeRecursion::Continue)
        })
    })?;
    Ok(())
}

/// Refuses an expression.
pub fn check_expression(expr: &Expr, schema: &DFSchema) -> Result<()> {
    if is_utc() {
        return Ok(());
    }
    expr.apply(|expr| {
        let type_of = |expr: &Expr| expr.get_type(schema).ok();
        let crosses = match expr {
            Expr::Cast(cast) => {
                type_of(&cast.expr).is_some_and(|from| crosses(&from, cast.field.data_type()))
            }
            Expr::TryCast(cast) => {
                type_of(&cast.expr).is_some_and(|from| crosses(&from, cast.field.data_type()))
            }
            // What is compared is brought to one type later.
            Expr::BinaryExpr(pair) => match (type_of(&pair.left), type_of(&pair.right)) {
                (Some(left), Some(right)) => crosses(&left, &right),
                _ => false,
            },
            Expr::ScalarFunction(call) if FIELDS.contains(&call.name()) => {
                call.args.iter().filter_map(type_of).any(|given| is_instant(&given))
            }
            Expr::ScalarFunction(call) if MAKERS.contains(&call.name()) => {
                call.args.len() > 1 && type_of(expr).is_some_and(|made| is_instant(&made))
            }
            _ => false,
        };
        match crosses {
            true => Err(DataFusionError::External(Box::new(zone_refused()))),
            false => Ok(TreeNodeRecursion::Continue),
        }
    })?;
    Ok(())
}
