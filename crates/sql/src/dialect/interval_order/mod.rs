//! Comparison, order and equality of intervals, which PostgreSQL decides by what they amount to, with months of 30 days and
//! days of 24 hours.
//!
//! In comes a plan that is not analyzed yet, or an analyzed expression; out goes one in which operands of comparisons, sort keys,
//! keys of groups, windows and joins are numbers (`spans`) wherever they were intervals. What is shown stays an interval: of
//! equal ones the first. Plans without intervals are left alone. What cannot be done is 0A000. Called by `template::Planning`.

mod expressions;
mod groups;
mod untyped;
mod windows;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{
    Distinct, Expr, ExprSchemable, Join, JoinConstraint, LogicalPlan, Operator,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;
use engine::types::{Error, SqlState};

pub use expressions::by_span;
pub use untyped::read_as_intervals;

use super::casts::makes_interval;
use super::kernels::gives_interval;
use super::rewritten::with_expressions;
use super::spans::{is_interval, spanned};

/// The plan with intervals compared by what they amount to; `None` where there are none.
pub fn ordered_by_span(plan: &LogicalPlan, state: &SessionState) -> Result<Option<LogicalPlan>> {
    if !mentions_intervals(plan)? {
        return Ok(None);
    }
    // The analyzer orders no window by intervals; all else is told apart when it has said of which type everything is.
    let plan = rewritten(plan.clone(), &windows::ordered)?;
    let options = state.config_options();
    let plan = TypeCoercion::new().analyze(plan, options.as_ref())?;
    plan.transform_up_with_subqueries(|node| {
        let node = with_expressions(node, by_span)?;
        compared(node.data)?.recompute_schema().map(Transformed::yes)
    })
    .map(|plan| Some(plan.data))
}

type Rewrite<'a> = &'a dyn Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>;

fn rewritten(plan: LogicalPlan, rewrite: Rewrite<'_>) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|node| {
        with_expressions(node, rewrite).map(|node| Transformed::yes(node.data))
    })?;
    Ok(plan.data)
}

/// What the node itself compares.
fn compared(node: LogicalPlan) -> Result<LogicalPlan> {
    match node {
        LogicalPlan::Sort(mut sort) => {
            let schema = sort.input.schema().clone();
            for key in &mut sort.expr {
                wrap(&mut key.expr, &schema);
            }
            Ok(LogicalPlan::Sort(sort))
        }
        LogicalPlan::Join(join) => Ok(LogicalPlan::Join(joined(join))),
        LogicalPlan::Aggregate(grouping) => groups::grouped(grouping),
        LogicalPlan::Distinct(Distinct::All(input)) => groups::distinct(input),
        LogicalPlan::Distinct(Distinct::On(mut distinct)) => {
            let schema = distinct.input.schema().clone();
            distinct.on_expr.iter_mut().for_each(|key| wrap(key, &schema));
            let keys = distinct.sort_expr.iter_mut().flatten();
            keys.for_each(|key| wrap(&mut key.expr, &schema));
            Ok(LogicalPlan::Distinct(Distinct::On(distinct)))
        }
        LogicalPlan::RecursiveQuery(query)
            if query.is_distinct && holds_intervals(&query.schema) =>
        {
            Err(refused("a recursive UNION of intervals", "Use UNION ALL."))
        }
        other => Ok(other),
    }
}

fn joined(mut join: Join) -> Join {
    for (left, right) in &mut join.on {
        if is_of_intervals(left, join.left.schema()) || is_of_intervals(right, join.right.schema())
        {
            *left = spanned(left.clone());
            *right = spanned(right.clone());
            // USING speaks of columns.
            join.join_constraint = JoinConstraint::On;
        }
    }
    join
}

/// Makes a key a number where it is an interval.
fn wrap(key: &mut Expr, schema: &DFSchema) {
    if is_of_intervals(key, schema) {
        *key = spanned(key.clone());
    }
}

fn is_of_intervals(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|data_type| is_interval(&data_type))
}

fn holds_intervals(schema: &DFSchema) -> bool {
    schema.fields().iter().any(|field| has_intervals(field.data_type()))
}

/// Whether a type is that of intervals, or of arrays of them.
fn has_intervals(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            has_intervals(item.data_type())
        }
        other => is_interval(other),
    }
}

fn mentions_intervals(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= node.inputs().is_empty() && holds_intervals(node.schema());
        node.apply_expressions(|expr| {
            found |= expr.exists(|expr| Ok(makes_intervals(expr)))?;
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Whether an expression makes an interval of something else.
fn makes_intervals(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => has_intervals(&value.data_type()),
        Expr::Cast(cast) => has_intervals(cast.field.data_type()),
        Expr::TryCast(cast) => has_intervals(cast.field.data_type()),
        Expr::ScalarFunction(call) => makes_interval(call) || gives_interval(call),
        _ => false,
    }
}

/// The comparisons.
fn is_comparison(op: Operator) -> bool {
    use Operator::*;
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

fn refused(what: &str, hint: &str) -> DataFusionError {
    let error = Error::new(SqlState::FeatureNotSupported, format!("{what} is not supported"));
    DataFusionError::External(Box::new(error.hint(hint)))
}
