//! Where the order of a sub-plan's rows does not matter, so that it may be read from the middle and around.
//!
//! Read that way, an answer without ORDER BY may come in another order, as PostgreSQL's synchronized scans do; it must
//! never have other rows, nor other values: what cuts an answer, what numbers its rows and what adds floats forbids it.

use std::sync::Arc;

use datafusion::arrow::datatypes::FieldRef;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::union::UnionExec;

use super::super::append::AppendExec;

/// Aggregate functions that give the same for the same rows in any order, if what they give is exact.
const UNORDERED: [&str; 9] =
    ["sum", "avg", "count", "min", "max", "bool_and", "bool_or", "bit_and", "bit_or"];

/// Whether `plan`'s inputs may come in any order; `any_order`: whether its own rows may.
pub fn inputs_in_any_order(plan: &dyn ExecutionPlan, any_order: bool) -> bool {
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        // Groups come in the order of their first rows. A float's group is shown as its first one, which may be -0.
        let is_exact = |field: &FieldRef| !field.data_type().is_floating();
        return (any_order || aggregate.group_expr().is_true_no_grouping())
            && aggregate.limit_options().is_none()
            && aggregate.aggr_expr().iter().all(is_unordered)
            && plan.schema().fields().iter().all(is_exact);
    }
    let keeps_rows = plan.is::<FilterExec>()
        || plan.is::<ProjectionExec>()
        || plan.is::<CooperativeExec>()
        || plan.is::<HashJoinExec>()
        || plan.is::<NestedLoopJoinExec>()
        || plan.is::<CrossJoinExec>()
        || plan.is::<UnionExec>()
        || plan.is::<AppendExec>()
        || plan.is::<SortExec>();
    any_order && keeps_rows && plan.fetch().is_none()
}

fn is_unordered(function: &Arc<AggregateFunctionExpr>) -> bool {
    UNORDERED.contains(&function.fun().name())
}
