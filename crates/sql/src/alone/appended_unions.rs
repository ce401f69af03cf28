//! Unions put out one partition: each is read input after input.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::union::UnionExec;

use super::append::AppendExec;

/// The rule. It comes first, before others make something of a union's partitions.
#[derive(Debug)]
pub struct AppendedUnions;

impl PhysicalOptimizerRule for AppendedUnions {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let appended = plan.transform_up(|node| {
            Ok(match node.is::<UnionExec>() {
                true => Transformed::yes(Arc::new(AppendExec::new(node)) as _),
                false => Transformed::no(node),
            })
        })?;
        Ok(appended.data)
    }

    fn name(&self) -> &'static str {
        "appended_unions"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
