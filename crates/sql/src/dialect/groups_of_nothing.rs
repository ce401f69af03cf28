//! Subqueries that group without keys what they read for the row around them.
//!
//! Such a group has a row even where nothing is read: `count(*)` of it is 0. A join with the groups of all rows has none there, so
//! DataFusion's way of turning the subquery into a join gives no row for 0 (it minds this for a scalar subquery that shows the
//! group as it is). Called by `applied`, which runs these row by row.

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::subqueries::{free_columns, subquery_of};

/// Whether an expression is a subquery whose join would lack rows.
pub fn is_group_of_nothing(expr: &Expr) -> Result<bool> {
    let Some(subquery) = subquery_of(expr) else { return Ok(false) };
    let query = subquery.subquery.as_ref();
    match expr {
        Expr::ScalarSubquery(_) => has_group(shown_group(query).unwrap_or(query)),
        _ => has_group(query),
    }
}

/// What a group without keys reads, where a query only shows it.
fn shown_group(query: &LogicalPlan) -> Option<&LogicalPlan> {
    match query {
        LogicalPlan::Projection(projection) => shown_group(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => shown_group(&alias.input),
        LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => {
            Some(&aggregate.input)
        }
        _ => None,
    }
}

/// Whether a group without keys in it reads the row around the query.
fn has_group(query: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    query.apply(|node| {
        if let LogicalPlan::Aggregate(aggregate) = node
            && aggregate.group_expr.is_empty()
        {
            found |= !free_columns(&aggregate.input)?.is_empty();
        }
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}
