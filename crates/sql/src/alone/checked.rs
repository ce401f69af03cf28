//! Operators that end when their statement does.
//!
//! In comes a plan of DataFusion's operators; out goes the same plan in which each asks for its statement's limit
//! ([`engine::types::limit::check`]) before it puts out rows, and joins before they ask their conditions: whatever an operator
//! makes of its rows, it asks for the next ones. Operators that may take long for one row get them in small pieces
//! ([`super::pace`]), those that keep one side whole get it whole ([`super::collected`]). Whoever looks at the plan sees the
//! operators themselves.

use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::thread::{self, ThreadId};
use std::time::Instant;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, Statistics};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{OrderingRequirements, PhysicalExpr};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::{
    CardinalityEffect, ChildrenPropertiesMode, ReplaceChildrenOptions,
    replace_children_if_necessary,
};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{CrossJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties,
};
use futures::{Stream, StreamExt};

use super::checked_condition::with_checked_condition;
use super::collected::Collected;
use super::pace::{Pace, is_uneven};

/// Grouping sets that a batch is grouped by at once, however many rows it has.
const GROUPING_SETS: usize = 8;

/// Fails where the statement that this thread works for is to end.
pub fn check() -> Result<()> {
    engine::types::limit::check().map_err(|fault| DataFusionError::External(Box::new(fault)))
}

/// The same plan, which ends with its statement.
pub fn checked(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let (in_pieces, keeps_first) = (takes_pieces(plan.as_ref())?, keeps_first(plan.as_ref()));
    let inputs = plan.children().into_iter().cloned().enumerate().map(|(number, input)| {
        let input = checked(input)?;
        Ok(match number {
            0 if keeps_first => CheckedExec::of(input, Form::Whole),
            _ if in_pieces => CheckedExec::of(input, Form::InPieces),
            _ => input,
        })
    });
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    let plan = match inputs.is_empty() {
        true => plan,
        false => replace_children_if_necessary(plan, inputs)?,
    };
    // Checked keys of a join are no columns, but of its rows all is known that was known before.
    let properties = plan.properties().clone();
    let plan = with_checked_condition(plan)?;
    Ok(Arc::new(CheckedExec { plan, properties, form: Form::AsTheyCome }))
}

/// Whether an operator keeps its first input whole and looks at nothing of it before.
fn keeps_first(plan: &dyn ExecutionPlan) -> bool {
    plan.is::<CrossJoinExec>() || plan.is::<NestedLoopJoinExec>()
}

/// Whether a few rows may be long work for an operator.
fn takes_pieces(plan: &dyn ExecutionPlan) -> Result<bool> {
    if plan.is::<UnnestExec>() {
        return Ok(true);
    }
    let mut expressions: Vec<Arc<dyn PhysicalExpr>> = Vec::new();
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        expressions.push(filter.predicate().clone());
    } else if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        expressions.extend(projection.expr().iter().map(|projected| projected.expr.clone()));
    } else if let Some(grouping) = plan.downcast_ref::<AggregateExec>() {
        if grouping.group_expr().groups().len() > GROUPING_SETS {
            return Ok(true);
        }
        expressions.extend(grouping.group_expr().input_exprs());
        expressions.extend(grouping.aggr_expr().iter().flat_map(|one| one.expressions()));
        expressions.extend(grouping.filter_expr().iter().flatten().cloned());
    }
    let Some(input) = plan.children().first().map(|input| input.schema()) else {
        return Ok(false);
    };
    for expression in expressions {
        if is_uneven(expression.as_ref(), &input)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How whoever reads an operator's rows gets them.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// In the operator's batches.
    AsTheyCome,
    /// In small ones.
    InPieces,
    /// As one.
    Whole,
}

/// An operator that asks for its statement's limit before it puts out rows.
#[derive(Debug)]
struct CheckedExec {
    plan: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    form: Form,
}

impl CheckedExec {
    fn of(plan: Arc<dyn ExecutionPlan>, form: Form) -> Arc<dyn ExecutionPlan> {
        let properties = plan.properties().clone();
        Arc::new(CheckedExec { plan, properties, form })
    }

    /// The same for another state of the operator. What was known of its rows is still so where the operator says nothing else.
    fn with(&self, plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        let is_same = Arc::ptr_eq(plan.properties(), self.plan.properties());
        let properties = if is_same { &self.properties } else { plan.properties() }.clone();
        Arc::new(CheckedExec { plan, properties, form: self.form })
    }
}

impl DisplayAs for CheckedExec {
    fn fmt_as(&self, form: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt_as(form, f)
    }
}

impl ExecutionPlan for CheckedExec {
    fn name(&self) -> &str {
        self.plan.name()
    }

    fn downcast_delegate(&self) -> Option<&dyn ExecutionPlan> {
        Some(self.plan.as_ref())
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn dynamic_expressions_produced(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        self.plan.dynamic_expressions_produced()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        self.plan.input_distribution_requirements()
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        self.plan.required_input_ordering()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.plan.maintains_input_order()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.plan.children()
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self.with(self.plan.clone().replace_children(children, options)?))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.plan.apply_expressions(f)
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self.with(self.plan.clone().reset_state()?))
    }

    fn with_new_state(&self, state: Arc<dyn Any + Send + Sync>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(self.with(self.plan.with_new_state(state)?))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let shaping = match self.form {
            Form::AsTheyCome => Shaping::None,
            Form::InPieces => Shaping::Pieces(Pieces::default()),
            Form::Whole => Shaping::Whole(Collected::new(&context)),
        };
        let rows = self.plan.execute(partition, context)?;
        Ok(Box::pin(CheckedStream { rows, shaping }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.plan.metrics()
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        arguments: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        self.plan.statistics_from_inputs(inputs, arguments)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.plan.child_stats_requests(partition)
    }

    fn fetch(&self) -> Option<usize> {
        self.plan.fetch()
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        self.plan.cardinality_effect()
    }
}

/// What becomes of batches on their way.
enum Shaping {
    None,
    Pieces(Pieces),
    Whole(Collected),
}

/// Rows of an operator.
struct CheckedStream {
    rows: SendableRecordBatchStream,
    shaping: Shaping,
}

impl Stream for CheckedStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Err(error) = check() {
            return Poll::Ready(Some(Err(error)));
        }
        let this = &mut *self;
        match &mut this.shaping {
            Shaping::None => this.rows.poll_next_unpin(context),
            Shaping::Pieces(pieces) => pieces.poll(&mut this.rows, context),
            Shaping::Whole(collected) => collected.poll(&mut this.rows, context),
        }
    }
}

impl RecordBatchStream for CheckedStream {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }
}

/// A batch on its way in pieces.
#[derive(Default)]
struct Pieces {
    pace: Pace,
    rest: Option<RecordBatch>,
    /// The piece that was put out last: its rows, when, and by which thread. What another thread has done between is not
    /// known, and a query that waits for its client rests.
    last: Option<(usize, Instant, ThreadId)>,
}

impl Pieces {
    fn poll(
        &mut self,
        rows: &mut SendableRecordBatchStream,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<RecordBatch>>> {
        self.learn();
        if self.rest.is_none() {
            match ready!(rows.poll_next_unpin(context)) {
                Some(Ok(batch)) => self.rest = Some(batch),
                end => return Poll::Ready(end),
            }
        }
        Poll::Ready(self.next().map(Ok))
    }

    fn learn(&mut self) {
        if let Some((rows, began, thread)) = self.last.take()
            && thread == thread::current().id()
        {
            self.pace.learn(rows, began);
        }
    }

    fn next(&mut self) -> Option<RecordBatch> {
        let batch = self.rest.take()?;
        let rows = batch.num_rows().min(self.pace.rows());
        if rows < batch.num_rows() {
            self.rest = Some(batch.slice(rows, batch.num_rows() - rows));
        }
        self.last = Some((rows, Instant::now(), thread::current().id()));
        Some(batch.slice(0, rows))
    }
}
