//! Joins whose right side reads the left one and that DataFusion cannot make plain ones: LATERAL with LIMIT, with VALUES, over
//! functions, with other comparisons than `=`.
//!
//! In comes a plan that is not analyzed yet; out goes one in which the right side is a function of the left side's columns that
//! gives its rows as an array, which is then unnested. Such a statement runs alone. Called by [`super::applied`].

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result, Spans, UnnestOptions};
use datafusion::functions::core::expr_fn::get_field;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    Expr, Join, JoinType, LogicalPlan, LogicalPlanBuilder, Projection, Subquery,
};

/// The column of arrays of rows, before they are unnested.
const ROWS: &str = "__rows";

/// The name of a row's field.
pub fn field_name(place: usize) -> String {
    format!("c{place}")
}

/// What makes a function of a subquery over a schema: the array of its rows, which is NULL instead of empty where that is asked.
pub type Collected<'a> = &'a dyn Fn(&Subquery, bool, &DFSchema) -> Result<Expr>;

/// Whether a plan has such joins.
pub fn has_laterals(plan: &LogicalPlan) -> bool {
    any_lateral(plan, |_| true)
}

/// Whether an optimized plan still reads rows from beside it.
pub fn keeps_laterals(plan: &LogicalPlan) -> bool {
    let mut found = false;
    let _ = plan.apply(|node| {
        found |= matches!(node, LogicalPlan::Subquery(_)) || node.contains_outer_reference();
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found
}

/// Whether one of them is none that DataFusion makes a plain join of rightly: what numbers, cuts, or puts together its rows
/// would do so with those of all.
pub fn has_doubtful_laterals(plan: &LogicalPlan) -> bool {
    any_lateral(plan, |right| right.exists(|inner| Ok(!is_plain(inner))).unwrap_or(true))
}

fn any_lateral(plan: &LogicalPlan, wanted: fn(&LogicalPlan) -> bool) -> bool {
    let mut found = false;
    let _ = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Join(join) = node {
            found |= stripped(&join.right).is_some_and(|right| wanted(&right));
        }
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found
}

fn is_plain(node: &LogicalPlan) -> bool {
    match node {
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Aggregate(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::TableScan(_)
        | LogicalPlan::Sort(_) => true,
        LogicalPlan::Join(join) => {
            join.join_type == JoinType::Inner && !node.contains_outer_reference()
        }
        _ => false,
    }
}

/// Makes functions of the right sides.
pub fn apply_laterals(plan: LogicalPlan, collected: Collected<'_>) -> Result<LogicalPlan> {
    let applied = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Join(join) if is_lateral(&join) => {
            joined(join, collected).map(Transformed::yes)
        }
        // What is read from tables says itself what it gives.
        LogicalPlan::TableScan(_) => Ok(Transformed::no(node)),
        other => other.recompute_schema().map(Transformed::yes),
    })?;
    Ok(applied.data)
}

fn is_lateral(join: &Join) -> bool {
    matches!(join.join_type, JoinType::Inner | JoinType::Left) && stripped(&join.right).is_some()
}

/// The right side without the mark that it reads the left one.
fn stripped(right: &LogicalPlan) -> Option<LogicalPlan> {
    match right {
        LogicalPlan::Subquery(subquery) => Some(subquery.subquery.as_ref().clone()),
        LogicalPlan::SubqueryAlias(alias) => {
            let LogicalPlan::Subquery(subquery) = alias.input.as_ref() else { return None };
            let input = LogicalPlanBuilder::from(subquery.subquery.as_ref().clone());
            input.alias(alias.alias.clone()).ok()?.build().ok()
        }
        _ => None,
    }
}

fn joined(join: Join, collected: Collected<'_>) -> Result<LogicalPlan> {
    let (left, is_left) = (join.left.as_ref().clone(), join.join_type == JoinType::Left);
    let Some(right) = stripped(&join.right) else { return Ok(LogicalPlan::Join(join)) };
    let keys = join.on.iter().map(|(left, right)| left.clone().eq(right.clone()));
    let right = match conjunction(keys.chain(join.filter.clone())) {
        Some(condition) => {
            let condition = seen_from_inside(condition, left.schema())?;
            LogicalPlanBuilder::from(right).filter(condition)?.build()?
        }
        None => right,
    };
    let given = right.schema().clone();
    let subquery = Subquery {
        outer_ref_columns: right.all_out_ref_exprs(),
        subquery: right.into(),
        spans: Spans::new(),
    };
    let rows = collected(&subquery, is_left, left.schema())?.alias(ROWS);
    let own = left.schema().columns();
    let mut items: Vec<Expr> = own.iter().cloned().map(Expr::Column).collect();
    items.push(rows);
    let beside = LogicalPlan::Projection(Projection::try_new(items, left.into())?);
    let options = UnnestOptions::new().with_preserve_nulls(is_left);
    let each = LogicalPlanBuilder::from(beside).unnest_column_with_options(ROWS, options)?;
    let row = || Expr::Column(Column::new_unqualified(ROWS));
    let fields = given.iter().enumerate().map(|(place, (relation, field))| {
        get_field(row(), field_name(place)).alias_qualified(relation.cloned(), field.name())
    });
    let items: Vec<Expr> = own.into_iter().map(Expr::Column).chain(fields).collect();
    each.project(items)?.build()
}

/// A join's condition from inside its right side: the left side's columns are outer ones.
fn seen_from_inside(condition: Expr, left: &DFSchema) -> Result<Expr> {
    let seen = condition.transform(|expr| match &expr {
        Expr::Column(column) if left.has_column(column) => {
            let (_, field) = left.qualified_field_from_column(column)?;
            let outer = Expr::OuterReferenceColumn(Arc::clone(field), column.clone());
            Ok(Transformed::yes(outer))
        }
        _ => Ok(Transformed::no(expr)),
    })?;
    Ok(seen.data)
}
