//! Conditions and keys of joins that ask for their statement's limit.
//!
//! A join that goes through all pairs puts out no row as long as its condition leaves none, and asks its inputs for none: its
//! condition is all that it calls. A hash join has read its left side when it begins to fill its table, batch by batch: that
//! side's keys are all that it calls.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{FieldRef, Schema};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder,
};

use super::checked::check;

/// The same join with a condition and keys that end with its statement; what is no join as it is.
pub fn with_checked_condition(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        let keys = join.on().iter();
        let keys = keys.map(|(left, right)| (CheckedCondition::of(left), right.clone())).collect();
        let filter = join.filter().map(checked);
        return join.builder().with_on(keys).with_filter(filter).build_exec();
    }
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>()
        && let Some(filter) = join.filter()
    {
        let filter = Some(checked(filter));
        let join = NestedLoopJoinExecBuilder::from(join).with_filter(filter).build()?;
        return Ok(Arc::new(join));
    }
    Ok(plan)
}

fn checked(filter: &JoinFilter) -> JoinFilter {
    let condition = CheckedCondition::of(filter.expression());
    JoinFilter::new(condition, filter.column_indices().to_vec(), filter.schema().clone())
}

#[derive(Debug)]
struct CheckedCondition(Arc<dyn PhysicalExpr>);

impl CheckedCondition {
    fn of(expression: &Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
        Arc::new(CheckedCondition(expression.clone()))
    }
}

impl PhysicalExpr for CheckedCondition {
    fn return_field(&self, input: &Schema) -> Result<FieldRef> {
        self.0.return_field(input)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        check()?;
        self.0.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.0]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        match (children.pop(), children.is_empty()) {
            (Some(condition), true) => Ok(Arc::new(CheckedCondition(condition))),
            _ => internal_err!("a checked condition has one below it"),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_sql(f)
    }
}

impl fmt::Display for CheckedCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for CheckedCondition {
    fn eq(&self, other: &CheckedCondition) -> bool {
        self.0.eq(&other.0)
    }
}

impl Eq for CheckedCondition {}

impl Hash for CheckedCondition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}
