//! The rules that make a physical plan better: DataFusion's, with ours in their places.

use std::sync::Arc;

use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;

use super::dynamic_filters::DynamicFilters;

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// All rules, in their order.
pub fn physical_rules() -> Vec<Rule> {
    let replaced = FilterPushdown::new_post_optimization();
    let own = |rule: Rule| match rule.name() == replaced.name() {
        true => Arc::new(DynamicFilters),
        false => rule,
    };
    PhysicalOptimizer::new().rules.into_iter().map(own).collect()
}
