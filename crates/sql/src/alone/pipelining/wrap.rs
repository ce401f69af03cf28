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
use super::node::{PipelinedExec, Sharing};
use super::order::inputs_in_any_order;
use super::pages::StatementId;
use super::repeated::{Repeated, Repeats};
use super::signature::Signature;

/// Row versions that a scan must pass over: what takes less than a millisecond is not looked for.
const LEAST_ROWS: usize = 1 << 15;

/// The plan in which scans with what filters them, joins, groupings, sorts, windows, unions and what a LIMIT leaves of
/// enough rows are shared, outermost first, and what it has several times of these. Rows of the whole may come in any
/// order that it does not set itself.
pub fn wrap(
    plan: Arc<dyn ExecutionPlan>,
    pipelining: &Pipelining,
) -> Result<(Arc<dyn ExecutionPlan>, Repeats)> {
    let signed = Signed::of(plan);
    let repeats = Repeats::of(&signed);
    let wrapping = Wrapping { pipelining, statement: pipelining.lists.statement(), repeats };
    let plan = wrapping.of(signed, true)?;
    Ok((plan, wrapping.repeats))
}

/// A plan whose sub-plans have their signatures.
pub struct Signed {
    pub plan: Arc<dyn ExecutionPlan>,
    pub inputs: Vec<Signed>,
    signature: Option<Arc<Signature>>,
    is_chain: bool,
}

impl Signed {
    fn of(plan: Arc<dyn ExecutionPlan>) -> Signed {
        let inputs: Vec<Signed> = plan.children().into_iter().cloned().map(Signed::of).collect();
        let below: Vec<_> = inputs.iter().map(|input| input.signature.clone()).collect();
        let signature = Signature::of(plan.as_ref(), &below).map(Arc::new);
        let is_chain = scan_of_chain(&plan).is_some();
        // What is a chain is shared as a whole.
        let inputs = if is_chain { Vec::new() } else { inputs };
        Signed { plan, inputs, signature, is_chain }
    }

    /// Its signature, if it is worth looking for.
    pub fn worth(&self) -> Option<&Arc<Signature>> {
        let large = |signature: &&Arc<Signature>| signature.largest_scan() >= LEAST_ROWS;
        let worth = self.is_chain || is_heavy(self.plan.as_ref());
        self.signature.as_ref().filter(|_| worth).filter(large)
    }
}

struct Wrapping<'a> {
    pipelining: &'a Pipelining,
    statement: StatementId,
    repeats: Repeats,
}

impl Wrapping<'_> {
    fn of(&self, signed: Signed, any_order: bool) -> Result<Arc<dyn ExecutionPlan>> {
        let worth = signed.worth().cloned();
        let repeated = worth.as_ref().and_then(|signature| self.repeats.find(signature));
        let any_order = any_order && repeated.is_none_or(|repeated| repeated.any_order());
        let below = inputs_in_any_order(signed.plan.as_ref(), any_order);
        let inputs = signed.inputs.into_iter().map(|input| self.of(input, below));
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        let plan = match inputs.is_empty() {
            true => signed.plan,
            false => replace_children_if_necessary(signed.plan, inputs)?,
        };
        let Some(signature) = worth else { return Ok(plan) };
        Ok(Arc::new(PipelinedExec::new(plan, signature, any_order, self.sharing(repeated))))
    }

    fn sharing(&self, repeated: Option<&Arc<Repeated>>) -> Sharing {
        let (pipelining, repeated) = (self.pipelining.clone(), repeated.map(Arc::downgrade));
        Sharing { pipelining, statement: self.statement, repeated }
    }
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
