//! DataFusion's optimizer, with what it gets wrong put right.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};

use super::dependencies::{ASKING, Dependencies};
use crate::bounded::{check_node, checkpoint, grows_below};

type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// The rule that makes sums beside `count(DISTINCT ..)` sums of sums.
const SUMS_OF_SUMS: &str = "single_distinct_aggregation_to_group_by";

/// The rule that puts lists together.
const SIMPLIFY: &str = "simplify_expressions";

/// The rule that takes filters down to where rows come from.
const PUSH_DOWN: &str = "push_down_filter";

/// Its rules: those that ask what determines what are told the truth first, one of them keeps types, one leaves
/// lists of parameters alone, and one leaves filters above groupings that have a row of nothing.
pub fn rules() -> Vec<Rule> {
    let told = |rule: Rule| -> Vec<Rule> {
        match rule.name() {
            name if ASKING.contains(&name) => {
                vec![Arc::new(Dependencies), Arc::new(Guarded { rule, rewrite: as_it_is })]
            }
            SIMPLIFY => vec![Arc::new(Guarded { rule, rewrite: with_lists_of_literals })],
            PUSH_DOWN => vec![Arc::new(Guarded { rule, rewrite: with_groups_of_nothing })],
            SUMS_OF_SUMS => vec![Arc::new(Guarded { rule, rewrite: with_same_types })],
            _ => vec![Arc::new(Guarded { rule, rewrite: as_it_is })],
        }
    };
    Optimizer::new().rules.into_iter().flat_map(told).collect()
}

/// One of DataFusion's rules, run by a function that knows when to leave it out, and only while the plan is wanted.
#[derive(Debug)]
struct Guarded {
    rule: Rule,
    rewrite: fn(&Rule, LogicalPlan, &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>>,
}

impl OptimizerRule for Guarded {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let copies = matches!(self.name(), SIMPLIFY | PUSH_DOWN);
        let checked = checkpoint().and_then(|()| if copies { check_node(&plan) } else { Ok(()) });
        checked.map_err(|error| DataFusionError::External(Box::new(error)))?;
        (self.rewrite)(&self.rule, plan, config)
    }
}

fn as_it_is(
    rule: &Rule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    rule.rewrite(plan, config)
}

/// Takes back what has other types: the sum of integers is a bigint, that of bigints a numeric, and the optimizer would refuse
/// the whole statement.
fn with_same_types(
    rule: &Rule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    if !matches!(plan, LogicalPlan::Aggregate(_)) {
        return rule.rewrite(plan, config);
    }
    let rewritten = rule.rewrite(plan.clone(), config)?;
    let (old, new) = (plan.schema().fields().iter(), rewritten.data.schema().fields().iter());
    let is_same = old.map(|field| field.data_type()).eq(new.map(|field| field.data_type()));
    Ok(if is_same { rewritten } else { Transformed::no(plan) })
}

/// Leaves nodes alone in which one value is looked for in two lists that do not consist of literals. The simplifier takes
/// `x IN ($1, $2) AND x IN ($3)` for what no row can be, and `x IN ($1, $2) AND x NOT IN ($3)` for `x IN ($1, $2)`, since `$1` and
/// `$3` are different expressions: it does not ask whether they may be equal.
fn with_lists_of_literals(
    rule: &Rule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    match looks_twice(&plan)? {
        true => Ok(Transformed::no(plan)),
        false => rule.rewrite(plan, config),
    }
}

/// Leaves filters without columns where they are above a grouping that has a row even where its input has none (one without
/// keys, or of sets of keys). The rule takes them below, since they name no column that is not a key, and the row stays.
/// And filters that would become much larger below a projection: of sums of sums each would be twice as large as the one above.
fn with_groups_of_nothing(
    rule: &Rule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    if grows_below(&plan) {
        return Ok(Transformed::no(plan));
    }
    let (mut below, mut has_columns) = (&plan, true);
    while let LogicalPlan::Filter(filter) = below {
        let conjuncts = split_conjunction(&filter.predicate);
        has_columns &= conjuncts.iter().all(|conjunct| !conjunct.column_refs().is_empty());
        below = filter.input.as_ref();
    }
    match below {
        LogicalPlan::Aggregate(grouping) if !has_columns && has_group_of_nothing(grouping) => {
            Ok(Transformed::no(plan))
        }
        _ => rule.rewrite(plan, config),
    }
}

fn has_group_of_nothing(grouping: &Aggregate) -> bool {
    grouping.group_expr.iter().all(|key| matches!(key, Expr::GroupingSet(_)))
}

/// Whether two lists of a node, one of them with something else than literals, are asked for the same value.
fn looks_twice(plan: &LogicalPlan) -> Result<bool> {
    // Whether all lists for a value consist of literals.
    let mut lists: HashMap<Expr, bool> = HashMap::new();
    let mut is_doubtful = false;
    plan.apply_expressions(|expr| {
        expr.apply(|expr| {
            if let Expr::InList(InList { expr, list, .. }) = expr {
                let own = list.iter().all(|item| matches!(item, Expr::Literal(..)));
                is_doubtful |= lists.get(expr.as_ref()).is_some_and(|others| !(own && *others));
                *lists.entry(expr.as_ref().clone()).or_insert(own) &= own;
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(is_doubtful)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_that_is_named_here_is_there() {
        let rules = Optimizer::new().rules;
        for name in ASKING.into_iter().chain([SIMPLIFY, SUMS_OF_SUMS, PUSH_DOWN]) {
            assert!(rules.iter().any(|rule| rule.name() == name), "{name}");
        }
    }
}
