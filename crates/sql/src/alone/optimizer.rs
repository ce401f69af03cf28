//! The rules that make a physical plan better: DataFusion's, with ours in their places.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::{DataFusionError, Result};
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_optimizer::join_selection::JoinSelection;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_optimizer::{PhysicalOptimizerContext, PhysicalOptimizerRule};

use datafusion::physical_plan::ExecutionPlan;

use super::appended_unions::AppendedUnions;
use super::dynamic_filters::DynamicFilters;
use super::join_order::JoinOrder;
use crate::bounded::checkpoint;

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// All rules, in their order.
pub fn physical_rules() -> Vec<Rule> {
    let order_first = JoinSelection::new();
    let replaced = FilterPushdown::new_post_optimization();
    // It takes columns of both inputs of a join for those of one that has the same names. What can be pushed was pushed
    // while columns had tables.
    let by_name = FilterPushdown::new();
    let own = |rule: Rule| -> Vec<Rule> {
        match rule.name() {
            name if name == order_first.name() => vec![Arc::new(JoinOrder), rule],
            name if name == by_name.name() => Vec::new(),
            name if name == replaced.name() => vec![Arc::new(DynamicFilters)],
            _ => vec![rule],
        }
    };
    let first: Rule = Arc::new(AppendedUnions);
    let others = PhysicalOptimizer::new().rules.into_iter().flat_map(own);
    let all = std::iter::once(first).chain(others);
    all.map(|rule| -> Rule { Arc::new(Watched { rule }) }).collect()
}

/// A rule that runs only while the plan is wanted.
#[derive(Debug)]
struct Watched {
    rule: Rule,
}

impl PhysicalOptimizerRule for Watched {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        checkpoint().map_err(|error| DataFusionError::External(Box::new(error)))?;
        self.rule.optimize(plan, config)
    }

    fn optimize_with_context(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        context: &dyn PhysicalOptimizerContext,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        checkpoint().map_err(|error| DataFusionError::External(Box::new(error)))?;
        self.rule.optimize_with_context(plan, context)
    }

    fn name(&self) -> &str {
        self.rule.name()
    }

    fn schema_check(&self) -> bool {
        self.rule.schema_check()
    }
}
