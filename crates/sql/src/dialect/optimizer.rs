//! DataFusion's optimizer, with what it gets wrong put right.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};

use super::dependencies::{ASKING, Dependencies};

type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// The rule that makes sums beside `count(DISTINCT ..)` sums of sums.
const SUMS_OF_SUMS: &str = "single_distinct_aggregation_to_group_by";

/// The rule that puts lists together.
const SIMPLIFY: &str = "simplify_expressions";

/// Its rules: those that ask what determines what are told the truth first, one of them keeps types, and one leaves
/// lists of parameters alone.
pub fn rules() -> Vec<Rule> {
    let told = |rule: Rule| -> Vec<Rule> {
        match rule.name() {
            name if ASKING.contains(&name) => vec![Arc::new(Dependencies), rule],
            SIMPLIFY => vec![Arc::new(LiteralLists(rule))],
            SUMS_OF_SUMS => vec![Arc::new(SameTypes(rule))],
            _ => vec![rule],
        }
    };
    Optimizer::new().rules.into_iter().flat_map(told).collect()
}

/// A rule that is left out where it gives other types: the sum of integers is a bigint, that of bigints a numeric, and the
/// optimizer would refuse the whole statement.
#[derive(Debug)]
struct SameTypes(Rule);

impl OptimizerRule for SameTypes {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let rewritten = self.0.rewrite(plan.clone(), config)?;
        let (old, new) = (plan.schema().fields().iter(), rewritten.data.schema().fields().iter());
        let is_same = old.map(|field| field.data_type()).eq(new.map(|field| field.data_type()));
        Ok(if is_same { rewritten } else { Transformed::no(plan) })
    }
}

/// The simplifier, left out for nodes in which one value is looked for in two lists that do not consist of literals. It takes
/// `x IN ($1, $2) AND x IN ($3)` for what no row can be, and `x IN ($1, $2) AND x NOT IN ($3)` for `x IN ($1, $2)`, since `$1` and
/// `$3` are different expressions: it does not ask whether they may be equal.
#[derive(Debug)]
struct LiteralLists(Rule);

impl OptimizerRule for LiteralLists {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match looks_twice(&plan)? {
            true => Ok(Transformed::no(plan)),
            false => self.0.rewrite(plan, config),
        }
    }
}

/// Whether two lists of a node, one of them with something else than literals, are asked for the same value.
fn looks_twice(plan: &LogicalPlan) -> Result<bool> {
    let mut lists: Vec<(Expr, bool)> = Vec::new();
    plan.apply_expressions(|expr| {
        expr.apply(|expr| {
            if let Expr::InList(InList { expr, list, .. }) = expr {
                let is_literal = list.iter().all(|item| matches!(item, Expr::Literal(..)));
                lists.push((expr.as_ref().clone(), is_literal));
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    let is_doubtful = |(at, own): (usize, &(Expr, bool))| {
        lists[..at].iter().any(|other| other.0 == own.0 && !(other.1 && own.1))
    };
    Ok(lists.iter().enumerate().any(is_doubtful))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_that_is_named_here_is_there() {
        let rules = Optimizer::new().rules;
        for name in ASKING.into_iter().chain([SIMPLIFY, SUMS_OF_SUMS]) {
            assert!(rules.iter().any(|rule| rule.name() == name), "{name}");
        }
    }
}
