//! The rules that make a physical plan better: DataFusion's, with ours in their places.

use std::sync::Arc;

use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_optimizer::join_selection::JoinSelection;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;

use super::appended_unions::AppendedUnions;
use super::dynamic_filters::DynamicFilters;
use super::join_order::JoinOrder;

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// All rules, in their order.
pub fn physical_rules() -> Vec<Rule> {
    let order_first = JoinSelection::new();
    let replaced = FilterPushdown::new_post_optimization();
    let own = |rule: Rule| -> Vec<Rule> {
        match rule.name() {
            name if name == order_first.name() => vec![Arc::new(JoinOrder), rule],
            name if name == replaced.name() => vec![Arc::new(DynamicFilters)],
            _ => vec![rule],
        }
    };
    let first: Rule = Arc::new(AppendedUnions);
    let others = PhysicalOptimizer::new().rules.into_iter().flat_map(own);
    std::iter::once(first).chain(others).collect()
}
