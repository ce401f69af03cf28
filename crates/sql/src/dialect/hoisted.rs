//! What a correlated scalar subquery makes of its aggregates, computed by the query around it.
//!
//! `(SELECT 0.2 * avg(x) FROM t WHERE t.k = o.k)` comes in, `0.2 * (SELECT avg(x) FROM t WHERE t.k = o.k)` goes out.
//! Without GROUP BY and HAVING there is exactly one row, so that nothing else changes. DataFusion joins a bare aggregate
//! for every kind of empty group; of an expression over one it must know the value for no rows, which it cannot compute
//! where there are parameters, and it would compute it for groups that no outer row asks for, faults included.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    Aggregate, Expr, LogicalPlan, LogicalPlanBuilder, Projection, Subquery,
};

/// Leaves bare aggregates in the correlated scalar subqueries of a plan that is not analyzed yet.
pub fn hoist(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    plan.transform_down_with_subqueries(|node| {
        // Elsewhere DataFusion makes no join of them.
        let (LogicalPlan::Filter(_) | LogicalPlan::Projection(_)) = node else {
            return Ok(Transformed::no(node));
        };
        let schema = node.inputs()[0].schema().clone();
        let preserver = NamePreserver::new(&node);
        let node = node.map_expressions(|expr| {
            let name = preserver.save(&expr);
            let hoisted = expr.transform_down(|expr| hoist_one(expr, &schema))?;
            Ok(hoisted.update_data(|expr| name.restore(expr)))
        })?;
        if node.transformed { node.map_data(LogicalPlan::recompute_schema) } else { Ok(node) }
    })
}

fn hoist_one(expr: Expr, outer: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::ScalarSubquery(subquery) = &expr else { return Ok(Transformed::no(expr)) };
    match outside(subquery, outer)? {
        // The subqueries in it are done.
        Some(hoisted) => Ok(Transformed::new(hoisted, true, TreeNodeRecursion::Jump)),
        None => Ok(Transformed::no(expr)),
    }
}

/// The expression that takes the subquery's place, where it is one over the aggregates of all rows.
fn outside(subquery: &Subquery, outer: &DFSchema) -> Result<Option<Expr>> {
    let LogicalPlan::Projection(projection) = subquery.subquery.as_ref() else { return Ok(None) };
    let LogicalPlan::Aggregate(aggregate) = projection.input.as_ref() else { return Ok(None) };
    let [item] = projection.expr.as_slice() else { return Ok(None) };
    let item = item.clone().unalias();
    let is_correlated = !subquery.outer_ref_columns.is_empty();
    let computes = !matches!(item, Expr::Column(_)) && !item.column_refs().is_empty();
    let moves = is_correlated && aggregate.group_expr.is_empty() && computes;
    if !moves || !is_movable(&item, outer)? {
        return Ok(None);
    }
    let moved = item.transform_down(|expr| match expr {
        Expr::Column(column) => {
            let bare = bare(subquery, aggregate, &column)?;
            Ok(Transformed::new(Expr::ScalarSubquery(bare), true, TreeNodeRecursion::Jump))
        }
        Expr::OuterReferenceColumn(_, column) => Ok(Transformed::yes(Expr::Column(column))),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(Some(moved.data))
}

/// Whether the expression means the same outside: it gives the same whenever it is asked, and reads the aggregates and
/// the query around only.
fn is_movable(item: &Expr, outer: &DFSchema) -> Result<bool> {
    if item.is_volatile() {
        return Ok(false);
    }
    let stays = item.exists(|expr| {
        Ok(match expr {
            Expr::OuterReferenceColumn(_, column) => !outer.has_column(column),
            Expr::ScalarSubquery(_)
            | Expr::Exists(_)
            | Expr::InSubquery(_)
            | Expr::SetComparison(_) => true,
            _ => false,
        })
    })?;
    Ok(!stays)
}

/// The subquery with one of its aggregates as it is.
fn bare(subquery: &Subquery, aggregate: &Aggregate, column: &Column) -> Result<Subquery> {
    let position = aggregate.schema.index_of_column(column)?;
    let input = LogicalPlanBuilder::from(aggregate.input.clone());
    let only = vec![aggregate.aggr_expr[position].clone()];
    let grouped = input.aggregate(Vec::<Expr>::new(), only)?.build()?;
    let item = Expr::Column(column.clone());
    let plan = LogicalPlan::Projection(Projection::try_new(vec![item], grouped.into())?);
    Ok(Subquery {
        outer_ref_columns: plan.all_out_ref_exprs(),
        subquery: plan.into(),
        spans: subquery.spans.clone(),
    })
}
