//! Which sub-plans are worth looking for.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};

use super::super::append::AppendExec;
use super::Pipelining;
use super::host::scan_of_chain;
use super::node::PipelinedExec;
use super::order::inputs_in_any_order;
use super::signature::Signature;

/// Row versions that a scan must pass over: what takes less than a millisecond is not looked for.
const LEAST_ROWS: usize = 1 << 15;

/// The plan in which scans with what filters them, joins, groupings, sorts, windows, unions and what a LIMIT leaves of
/// enough rows are shared, outermost first. Rows of the whole may come in any order that it does not set itself.
pub fn wrap(
    plan: Arc<dyn ExecutionPlan>,
    pipelining: &Pipelining,
) -> Result<Arc<dyn ExecutionPlan>> {
    Ok(wrap_below(plan, true, pipelining)?.0)
}

type Signed = (Arc<dyn ExecutionPlan>, Option<Arc<Signature>>);

fn wrap_below(
    plan: Arc<dyn ExecutionPlan>,
    any_order: bool,
    pipelining: &Pipelining,
) -> Result<Signed> {
    let is_chain = scan_of_chain(&plan).is_some();
    let below = inputs_in_any_order(plan.as_ref(), any_order);
    let inputs = plan.children().into_iter().map(|input| match is_chain {
        // What is a chain is shared as a whole.
        true => Ok((input.clone(), sign(input))),
        false => wrap_below(input.clone(), below, pipelining),
    });
    let inputs = inputs.collect::<Result<Vec<Signed>>>()?;
    let (inputs, signatures): (Vec<_>, Vec<_>) = inputs.into_iter().unzip();
    let signature = Signature::of(plan.as_ref(), &signatures).map(Arc::new);
    let plan = match inputs.is_empty() {
        true => plan,
        false => replace_children_if_necessary(plan, inputs)?,
    };
    let worth = signature.as_ref().filter(|signature| {
        signature.largest_scan() >= LEAST_ROWS && (is_chain || is_heavy(plan.as_ref()))
    });
    let Some(worth) = worth.cloned() else { return Ok((plan, signature)) };
    let node = PipelinedExec::new(plan, worth, any_order, pipelining.clone());
    Ok((Arc::new(node), signature))
}

fn sign(plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<Signature>> {
    let inputs: Vec<_> = plan.children().into_iter().map(sign).collect();
    Signature::of(plan.as_ref(), &inputs).map(Arc::new)
}

fn is_heavy(plan: &dyn ExecutionPlan) -> bool {
    plan.is::<AggregateExec>()
        || plan.is::<HashJoinExec>()
        || plan.is::<NestedLoopJoinExec>()
        || plan.is::<CrossJoinExec>()
        || plan.is::<SortExec>()
        || plan.is::<WindowAggExec>()
        || plan.is::<BoundedWindowAggExec>()
        || plan.is::<AppendExec>()
        || plan.fetch().is_some()
}
