//! Which columns determine which others, where DataFusion is wrong about it.
//!
//! DataFusion takes a grouping's columns to be determined by what determined some of them before: of `GROUP BY supplier.id,
//! sale.amount` over a join it says that `id`, a primary key, determines `amount`, and of `SELECT id, unnest(list)` that `id` determines the
//! item. Sort keys, and keys of a grouping of such a
//! grouping, are then dropped, or added unasked. In come plans, out the same plans with groupings that are determined by all of
//! their keys together and by nothing less. Called for each derived table while a query is planned ([`derived_tables`]), since
//! `GROUP BY key` lets other columns through there, and before each rule of the optimizer that asks ([`super::optimizer`]).

use std::cell::Cell;
use std::sync::{Arc, LazyLock};

use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Dependency, FunctionalDependence, FunctionalDependencies, Result};
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Aggregate, LogicalPlan};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use datafusion::sql::sqlparser::ast::TableFactor;

/// The rules that drop or turn what others determine.
pub const ASKING: [&str; 4] = [
    "eliminate_duplicated_expr",
    "eliminate_join",
    "optimize_projections",
    "replace_distinct_aggregate",
];

/// What plans derived tables, CTEs and views.
pub fn derived_tables() -> &'static [Arc<dyn RelationPlanner>] {
    static PLANNERS: LazyLock<[Arc<dyn RelationPlanner>; 1]> =
        LazyLock::new(|| [Arc::new(DerivedTables)]);
    &*PLANNERS
}

/// The rule that tells the others.
#[derive(Debug)]
pub struct Dependencies;

impl OptimizerRule for Dependencies {
    fn name(&self) -> &'static str {
        "dependencies"
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        // The plan is no other one: nothing that has been tried has to be tried again.
        corrected(plan).map(Transformed::no)
    }
}

#[derive(Debug)]
struct DerivedTables;

thread_local! {
    /// Whether DataFusion's own way is asked for the relation that comes next.
    static IS_ASKED: Cell<bool> = const { Cell::new(false) };
}

impl RelationPlanner for DerivedTables {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let is_derived = matches!(
            relation,
            TableFactor::Table { args: None, .. } | TableFactor::Derived { lateral: false, .. }
        );
        if IS_ASKED.replace(false) || !is_derived {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        IS_ASKED.set(true);
        let planned = PlannedRelation::new(corrected(context.plan(relation)?)?, None);
        Ok(RelationPlanning::Planned(Box::new(planned)))
    }
}

fn corrected(plan: LogicalPlan) -> Result<LogicalPlan> {
    if !has_doubtful(&plan)? {
        return Ok(plan);
    }
    let correct = |node: LogicalPlan| match node {
        LogicalPlan::Aggregate(mut grouping) => {
            let schema = grouping.schema.as_ref().clone();
            let own = own_dependencies(&grouping);
            grouping.schema = Arc::new(schema.with_functional_dependencies(own)?);
            Ok(Transformed::yes(LogicalPlan::Aggregate(grouping)))
        }
        // Of one row there come several, that differ in what was a list.
        LogicalPlan::Unnest(mut unnest) => {
            let schema = unnest.schema.as_ref().clone();
            let none = FunctionalDependencies::empty();
            unnest.schema = Arc::new(schema.with_functional_dependencies(none)?);
            Ok(Transformed::yes(LogicalPlan::Unnest(unnest)))
        }
        // What is read from tables holds, and everything else says of itself what its inputs do.
        LogicalPlan::TableScan(_) => Ok(Transformed::no(node)),
        _ => node.recompute_schema().map(Transformed::yes),
    };
    Ok(plan.transform_up_with_subqueries(correct)?.data)
}

/// Whether a grouping's columns are said to be determined by fewer than all of its keys, or what was a list by anything.
fn has_doubtful(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Aggregate(grouping) = node {
            let keys = grouping.group_expr.len();
            let dependencies = grouping.schema.functional_dependencies();
            found |= dependencies.iter().any(|known| known.source_indices.len() < keys);
        }
        if let LogicalPlan::Unnest(unnest) = node {
            found |= !unnest.schema.functional_dependencies().is_empty();
        }
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// All keys of a grouping determine all of its columns. Only called where there are some that are plain.
fn own_dependencies(grouping: &Aggregate) -> FunctionalDependencies {
    if grouping.schema.functional_dependencies().is_empty() {
        return FunctionalDependencies::empty();
    }
    let fields = grouping.schema.fields();
    // A key that is named twice is one field.
    let keys = fields.len() - grouping.aggr_expr.len();
    let is_nullable = fields[..keys].iter().any(|field| field.is_nullable());
    let all = (0..fields.len()).collect();
    let own = FunctionalDependence::new((0..keys).collect(), all, is_nullable);
    FunctionalDependencies::new(vec![own.with_mode(Dependency::Single)])
}
