//! What the optimizer has left, as it is to run: CASEs again, none of them deep, and no `coalesce` that computes what may fail.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Case, Expr, LogicalPlan};

use super::super::guards::may_fail_anyhow;
use super::super::rewritten::input_schema;
use super::call::case_of;
use super::coalesce;
use super::lazy::lazy;
use crate::bounded::{check_held, check_size};

/// CASEs within one another that one physical expression may have: it holds what is in them twice for each.
pub const LEVELS: usize = 3;

/// Settles every expression of an optimized plan.
pub fn settle(plan: LogicalPlan, options: &Arc<ConfigOptions>) -> Result<LogicalPlan> {
    let settled = plan.transform_up_with_subqueries(|node| {
        if !has_branches(&node)? {
            return Ok(Transformed::no(node));
        }
        let schema = schema_of(&node)?;
        let preserver = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = preserver.save(&expr);
            let settled = settle_branches(expr, &schema, options)?;
            Ok(settled.update_data(|expr| name.restore(expr)))
        })
    })?;
    Ok(settled.data)
}

/// Settles one expression.
pub fn settle_expression(
    expr: Expr,
    schema: &DFSchema,
    options: &Arc<ConfigOptions>,
) -> Result<Expr> {
    Ok(settle_branches(expr, schema, options)?.data)
}

/// What a node's expressions read.
fn schema_of(node: &LogicalPlan) -> Result<DFSchema> {
    if let LogicalPlan::TableScan(scan) = node {
        return DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema());
    }
    Ok(input_schema(node))
}

fn is_branch(expr: &Expr) -> bool {
    match expr {
        Expr::Case(_) => true,
        Expr::ScalarFunction(call) => call.name() == coalesce::NAME || case_of(call).is_some(),
        _ => false,
    }
}

fn has_branches(node: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    node.apply_expressions(|expr| {
        found |= expr.exists(|expr| Ok(is_branch(expr)))?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

fn settle_branches(
    expr: Expr,
    schema: &DFSchema,
    options: &Arc<ConfigOptions>,
) -> Result<Transformed<Expr>> {
    let settled = expr.transform_up(|expr| settle_one(expr, schema, options))?;
    check_held(&settled.data).map_err(refused)?;
    Ok(settled)
}

fn refused(fault: engine::types::Error) -> DataFusionError {
    DataFusionError::External(Box::new(fault))
}

/// What is inside is settled.
fn settle_one(
    expr: Expr,
    schema: &DFSchema,
    options: &Arc<ConfigOptions>,
) -> Result<Transformed<Expr>> {
    match &expr {
        Expr::ScalarFunction(call) if call.name() == coalesce::NAME => {
            if !call.args.iter().skip(1).any(|other| may_fail_anyhow(other, schema)) {
                return Ok(Transformed::no(expr));
            }
            match lazy(&expr, schema, options)? {
                Some(lazy) => Ok(Transformed::yes(lazy)),
                None => {
                    check_size(&expr).map_err(refused)?;
                    Ok(Transformed::yes(first_of(&call.args)))
                }
            }
        }
        Expr::ScalarFunction(call) => match case_of(call) {
            Some(case) => Ok(Transformed::yes(shallow(Expr::Case(case), schema, options)?)),
            None => Ok(Transformed::no(expr)),
        },
        Expr::Case(_) if levels(&expr) > LEVELS => {
            Ok(Transformed::yes(shallow(expr, schema, options)?))
        }
        _ => Ok(Transformed::no(expr)),
    }
}

/// A CASE, by itself where it is deep.
fn shallow(case: Expr, schema: &DFSchema, options: &Arc<ConfigOptions>) -> Result<Expr> {
    if levels(&case) <= LEVELS {
        return Ok(case);
    }
    Ok(lazy(&case, schema, options)?.unwrap_or(case))
}

/// How many CASEs stand within one another; more than [`LEVELS`] are one more.
fn levels(expr: &Expr) -> usize {
    let mut most = 0;
    let _ = expr.apply_children(|child| {
        most = most.max(levels(child));
        Ok(if most > LEVELS { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    most + usize::from(matches!(expr, Expr::Case(_)))
}

/// `coalesce` as a CASE, which has each argument but the last twice.
fn first_of(arguments: &[Expr]) -> Expr {
    let Some((last, others)) = arguments.split_last() else { return Expr::default() };
    let arm = |value: &Expr| {
        let is_there = Expr::IsNotNull(Box::new(value.clone()));
        (Box::new(is_there), Box::new(value.clone()))
    };
    match others {
        [] => last.clone(),
        _ => {
            let arms = others.iter().map(arm).collect();
            Expr::Case(Case::new(None, arms, Some(Box::new(last.clone()))))
        }
    }
}
