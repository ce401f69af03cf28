//! Subqueries in the expressions of a plan, and what they read of the queries around them. Called by `applied`, `memberships` and
//! `groups_of_nothing`.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, Subquery};

/// Whether an expression anywhere in the plan is such.
pub fn has(plan: &LogicalPlan, wanted: &dyn Fn(&Expr) -> bool) -> bool {
    let mut found = false;
    let _ = plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            found |= expr.exists(|expr| Ok(wanted(expr)))?;
            Ok(TreeNodeRecursion::Continue)
        })
    });
    found
}

/// Whether a subquery in a subquery reads a column of a query further out than the one around it. Of the outermost query's
/// own subqueries none can: what one of them misses the planner reports.
pub fn reaches_past(plan: &LogicalPlan) -> Result<bool> {
    let mut reaches = false;
    plan.apply(|node| {
        for_each_subquery(node, &mut |subquery| {
            subquery.apply_with_subqueries(|node| {
                for_each_subquery(node, &mut |inner| {
                    reaches |= free_columns(inner)?.iter().any(|column| !gives(node, column));
                    Ok(())
                })?;
                Ok(TreeNodeRecursion::Continue)
            })?;
            Ok(())
        })?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(reaches)
}

/// The columns that a query reads and no query in it gives.
pub fn free_columns(query: &LogicalPlan) -> Result<Vec<Column>> {
    let mut free = Vec::new();
    query.apply(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::OuterReferenceColumn(_, column) = expr {
                    free.push(column.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        for_each_subquery(node, &mut |subquery| {
            let read = free_columns(subquery)?;
            free.extend(read.into_iter().filter(|column| !gives(node, column)));
            Ok(())
        })?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(free)
}

fn gives(node: &LogicalPlan, column: &Column) -> bool {
    node.inputs().iter().any(|input| input.schema().has_column(column))
}

/// The subqueries in a node's own expressions.
fn for_each_subquery(
    node: &LogicalPlan,
    visit: &mut dyn FnMut(&LogicalPlan) -> Result<()>,
) -> Result<()> {
    node.apply_expressions(|expr| {
        expr.apply(|expr| {
            if let Some(subquery) = subquery_of(expr) {
                visit(&subquery.subquery)?;
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(())
}

pub fn subquery_of(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::Exists(exists) => Some(&exists.subquery),
        Expr::InSubquery(member) => Some(&member.subquery),
        Expr::SetComparison(compare) => Some(&compare.subquery),
        Expr::ScalarSubquery(subquery) => Some(subquery),
        _ => None,
    }
}
