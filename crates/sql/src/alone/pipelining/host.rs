//! What produces a list's pages, and produces them again for one who must read on alone.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, PlanProperties};
use futures::{StreamExt, TryStreamExt};

use super::super::scan_plan::{Pieces, ScanExec};
use super::node::PipelinedExec;
use super::replay::ReplayExec;

/// Pieces of a scan that make a stretch: the steps in which a scan is joined and left.
const STRETCH: usize = 4;

/// The sub-plan behind a list, in stretches that follow each other and then begin again.
///
/// A chain of filters and projections over one scan has a linear window of opportunity (simultaneous pipelining, "Linear
/// Window of Opportunity"): any stretch can be produced for itself, so that whoever comes late reads to the end and
/// then the stretches before. Everything else has a step window and is one stretch: until its first page is forgotten,
/// it is entered at the begin. What puts nothing out before it has read all (groupings, sorts, windows over all rows,
/// the build side of a join) can be entered all that time: its window is QPipe's full one, and longer by the pages that
/// are kept. Sorts and limits have no linear one though their rows come one by one, since late comers would need their
/// order; nor has a union, but each scan below it has its own.
#[derive(Debug)]
pub struct Host {
    plan: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
    /// Of the scan below, where the window is linear.
    pieces: Option<usize>,
}

impl Host {
    /// Runs a sub-plan.
    pub fn new(plan: Arc<dyn ExecutionPlan>, context: Arc<TaskContext>) -> Host {
        let pieces = scan_of_chain(&plan).map(|scan| scan.scan().pieces());
        Host { plan, context, pieces }
    }

    /// In whose memory it runs.
    pub fn context(&self) -> &Arc<TaskContext> {
        &self.context
    }

    /// What its rows look like.
    pub fn properties(&self) -> &Arc<PlanProperties> {
        self.plan.properties()
    }

    fn schema(&self) -> SchemaRef {
        self.plan.schema()
    }

    /// Whether it can be entered between any two stretches.
    pub fn is_linear(&self) -> bool {
        self.pieces.is_some()
    }

    /// How many stretches make the whole.
    pub fn stretches(&self) -> u64 {
        self.pieces.map_or(1, |pieces| pieces.div_ceil(STRETCH).max(1) as u64)
    }

    /// One stretch, counted on around the end. For the producer of the list.
    pub fn stretch(&self, number: u64) -> Result<SendableRecordBatchStream> {
        let Some(pieces) = self.pieces else { return self.plan.execute(0, self.context.clone()) };
        let first = (number % self.stretches()) as usize * STRETCH;
        self.plan.execute(0, self.context_for(first..(first + STRETCH).min(pieces)))
    }

    fn context_for(&self, pieces: std::ops::Range<usize>) -> Arc<TaskContext> {
        let config = self.context.session_config().clone();
        Arc::new(TaskContext::new(
            self.context.task_id(),
            self.context.session_id(),
            config.with_extension(Arc::new(Pieces(pieces))),
            // Plans hold their functions.
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            self.context.runtime_env(),
        ))
    }

    /// What the list of this host holds from a place on to the end of the round that began
    /// at `entry`: the same rows in the same order.
    pub fn replay(self: &Arc<Self>, at: Place, entry: u64) -> SendableRecordBatchStream {
        let (host, end) = (self.clone(), entry + self.stretches());
        let stretches =
            futures::stream::iter(at.stretch..end).map(move |number| host.again(number));
        let mut skip = at.rows;
        let rest = stretches.try_flatten().map_ok(move |batch| {
            let skipped = skip.min(batch.num_rows());
            skip -= skipped;
            batch.slice(skipped, batch.num_rows() - skipped)
        });
        let rest = rest.try_filter(|batch| std::future::ready(batch.num_rows() > 0));
        Box::pin(RecordBatchStreamAdapter::new(self.schema(), rest))
    }

    fn again(&self, number: u64) -> Result<SendableRecordBatchStream> {
        if self.is_linear() {
            return self.stretch(number);
        }
        let plan = self.plan.clone().transform_down(|node| {
            let Some(shared) = node.downcast_ref::<PipelinedExec>() else {
                return Ok(Transformed::no(node));
            };
            Ok(match shared.joined() {
                Some((host, entry)) => {
                    let replay = ReplayExec::new(host.clone(), *entry);
                    Transformed::new(Arc::new(replay), true, TreeNodeRecursion::Jump)
                }
                // Nobody has asked it for rows yet.
                None => Transformed::yes(shared.input().clone()),
            })
        })?;
        reset_plan_states(plan.data)?.execute(0, self.context.clone())
    }
}

/// How far somebody has read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// The stretch, counted on around the end.
    pub stretch: u64,
    /// Rows of it.
    pub rows: usize,
}

/// The scan below, if the plan does nothing but filter and compute row by row.
pub fn scan_of_chain(plan: &Arc<dyn ExecutionPlan>) -> Option<&ScanExec> {
    if plan.fetch().is_some() {
        return None;
    }
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        let is_whole = scan.scan().probe.is_none() && scan.scan().overlay.is_none();
        return is_whole.then_some(scan);
    }
    let streams =
        plan.is::<FilterExec>() || plan.is::<ProjectionExec>() || plan.is::<CooperativeExec>();
    let input = plan.children().into_iter().next().filter(|_| streams);
    input.and_then(scan_of_chain)
}
