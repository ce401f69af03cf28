//! Grouping keys that are named twice. DataFusion's node keeps both, and its schema one: whoever counts the columns by the
//! keys takes the first aggregate for a key.

use std::collections::HashSet;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Aggregate, LogicalPlan};

/// The plan with each grouping key once.
pub fn without_repeated_keys(plan: LogicalPlan) -> Result<LogicalPlan> {
    let rewritten = plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::Aggregate(grouping) = &node else { return Ok(Transformed::no(node)) };
        let mut seen = HashSet::new();
        let keys = grouping.group_expr.iter().filter(|key| seen.insert(*key)).cloned();
        let keys: Vec<_> = keys.collect();
        if keys.len() == grouping.group_expr.len() {
            return Ok(Transformed::no(node));
        }
        let once = Aggregate::try_new(grouping.input.clone(), keys, grouping.aggr_expr.clone())?;
        Ok(Transformed::yes(LogicalPlan::Aggregate(once)))
    })?;
    Ok(rewritten.data)
}
