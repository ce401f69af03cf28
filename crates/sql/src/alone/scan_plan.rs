//! A scan as a leaf of DataFusion's physical plans.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::coalesce::LimitedBatchCoalescer;
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions, SchedulingType,
};
use datafusion::physical_plan::limit::LimitStream;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::projection::{ProjectionExec, all_alias_free_columns};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, apply_expression_roots,
};
use futures::{StreamExt, TryStreamExt};

use super::condition::Condition;
use super::scan::Scan;

/// An extension of a task's context: the pieces of the one scan below that are to be read, instead of all.
#[derive(Clone, Debug)]
pub struct Pieces(pub Range<usize>);

/// The leaf.
#[derive(Debug)]
pub struct ScanExec {
    scan: Scan,
    fetch: Option<usize>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ScanExec {
    /// Puts out at most `fetch` rows.
    pub fn new(scan: Scan, fetch: Option<usize>) -> ScanExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(scan.schema.clone()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let properties = Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative));
        ScanExec { scan, fetch, properties, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// What it reads.
    pub fn scan(&self) -> &Scan {
        &self.scan
    }

    /// The same with these filters of operators above instead of its own.
    pub fn with_filters(&self, filters: Vec<Condition>) -> ScanExec {
        ScanExec::new(Scan { filters, ..self.scan.clone() }, self.fetch)
    }
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScanExec: {}", self.scan.view.schema().name)?;
        if let Some(condition) = &self.scan.condition {
            write!(f, ", predicate={condition}")?;
        }
        if let Some(fetch) = self.fetch {
            write!(f, ", fetch={fetch}")?;
        }
        self.scan.filters.iter().try_for_each(|filter| write!(f, ", filter={filter}"))
    }
}

impl ExecutionPlan for ScanExec {
    fn name(&self) -> &'static str {
        "ScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    /// A join looks here whether anybody listens to the filter that it could make.
    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let conditions = self.scan.condition.iter().chain(&self.scan.filters);
        apply_expression_roots(conditions.map(|condition| condition.predicate.clone()), f)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("a scan has no inputs") }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("a scan has no inputs") }
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let pieces = context.session_config().get_extension::<Pieces>();
        let pieces = pieces.map_or(0..self.scan.pieces(), |pieces| pieces.0.clone());
        let stream = make_cooperative(self.scan.read(pieces));
        let stream = match self.scan.is_selective() {
            true => coalesced(stream, context.session_config().batch_size()),
            false => stream,
        };
        Ok(match self.fetch {
            None => stream,
            fetch => {
                let metrics = BaselineMetrics::new(&self.metrics, 0);
                Box::pin(LimitStream::new(stream, 0, fetch, metrics))
            }
        })
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let statistics = Statistics::clone(&self.scan.statistics);
        Ok(Arc::new(statistics.with_fetch(self.fetch, 0, 1)?))
    }

    /// What is run again may need other rows.
    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(self.with_filters(Vec::new())))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }

    fn with_fetch(&self, fetch: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(ScanExec::new(self.scan.clone(), fetch)))
    }

    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if !all_alias_free_columns(projection.expr()) {
            return Ok(None);
        }
        let columns = projection
            .expr()
            .iter()
            .filter_map(|projected| projected.expr.downcast_ref::<Column>().map(Column::index));
        let columns: Vec<usize> = columns.collect();
        Ok(Some(Arc::new(ScanExec::new(self.scan.project(&columns)?, self.fetch))))
    }
}

/// The rows of small batches in batches of about `rows`.
fn coalesced(batches: SendableRecordBatchStream, rows: usize) -> SendableRecordBatchStream {
    let schema = batches.schema();
    let coalescer = LimitedBatchCoalescer::new(schema.clone(), rows, None);
    let state = (batches.fuse(), coalescer, false);
    let batches =
        futures::stream::try_unfold(state, |(mut batches, mut held, mut ended)| async move {
            loop {
                if let Some(batch) = held.next_completed_batch() {
                    return Ok(Some((batch, (batches, held, ended))));
                }
                match batches.try_next().await? {
                    Some(batch) => drop(held.push_batch(batch)?),
                    None if ended => return Ok(None),
                    None => {
                        held.finish()?;
                        ended = true;
                    }
                }
            }
        });
    Box::pin(RecordBatchStreamAdapter::new(schema, batches))
}
