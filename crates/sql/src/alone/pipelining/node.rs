//! A sub-plan that is looked for among those that run now, when its first row is wanted.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{Stream, StreamExt};

use super::super::scan_plan::ScanExec;
use super::Pipelining;
use super::consumer::Consumer;
use super::host::Host;
use super::pages::StatementId;
use super::repeated::{Reading, Repeated};
use super::signature::Signature;

/// Stands above a sub-plan. Whether that runs, or an equal one that is running already is read, is decided as late as
/// possible, when the operator above asks for the first row: until then a list would wait for this consumer, and the
/// sub-plans further down may find lists of their own only if this one is run.
#[derive(Clone, Debug)]
pub struct PipelinedExec {
    input: Arc<dyn ExecutionPlan>,
    signature: Arc<Signature>,
    /// Whether the rows may come in another order than alone.
    any_order: bool,
    sharing: Sharing,
    /// Whose list it reads, and from which stretch on.
    joined: Arc<OnceLock<(Arc<Host>, u64)>>,
}

/// With whom a sub-plan is shared.
#[derive(Clone, Debug)]
pub struct Sharing {
    /// Others that run alone.
    pub pipelining: Pipelining,
    /// Whose sub-plan it is.
    pub statement: StatementId,
    /// The statement's other readings of it, as long as that runs.
    pub repeated: Option<Weak<Repeated>>,
}

impl PipelinedExec {
    /// Above a sub-plan of this signature.
    pub fn new(
        input: Arc<dyn ExecutionPlan>,
        signature: Arc<Signature>,
        any_order: bool,
        sharing: Sharing,
    ) -> PipelinedExec {
        PipelinedExec { input, signature, any_order, sharing, joined: Arc::default() }
    }

    /// The sub-plan.
    pub fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    /// Whose list it reads, and from which stretch on, once it does.
    pub fn joined(&self) -> Option<&(Arc<Host>, u64)> {
        self.joined.get()
    }

    /// Whose rows to read.
    fn join(&self, context: Arc<TaskContext>) -> Result<Way> {
        let consumer = match self.repeated() {
            Some(repeated) => {
                let reading =
                    Reading { any_order: self.any_order, is_open: self.signature.is_open() };
                repeated.join(reading, |whole_follows| self.begin(&context, whole_follows))
            }
            None => self.begin(&context, false),
        };
        let Some(consumer) = consumer? else {
            return Ok(Way::Alone(self.input.execute(0, context)?));
        };
        let took = consumer.took();
        if took.is_late && !took.is_again {
            self.forgo_below()?;
        }
        let host = consumer.list().host.clone();
        // A plan is executed once; where that is not so, nobody replays what is above it.
        let _ = self.joined.set((host, consumer.entry()));
        Ok(Way::Shared(consumer))
    }

    fn repeated(&self) -> Option<Arc<Repeated>> {
        self.sharing.repeated.as_ref().and_then(Weak::upgrade)
    }

    /// A place in a list that runs, or in a new one. A sub-plan with filters from above takes all rows where somebody
    /// produces them anyway, be it the statement itself later on (`whole_follows`); else it runs by itself, unless its
    /// filters leave nearly all rows: then it gives them up for the others.
    fn begin(&self, context: &Arc<TaskContext>, whole_follows: bool) -> Result<Option<Consumer>> {
        let Sharing { pipelining: Pipelining { lists, .. }, statement, .. } = &self.sharing;
        let gives_up = whole_follows || !self.signature.is_open() || !self.is_narrowed()?;
        if !gives_up {
            return Ok(lists.enter(&self.signature, self.any_order, *statement));
        }
        let input = match self.signature.is_open() {
            true => self.closed()?,
            false => self.input.clone(),
        };
        let host = || Host::new(input, context.clone());
        Ok(Some(lists.join(&self.signature, self.any_order, *statement, host)))
    }

    /// Whether some filter from above leaves few of a scan's rows.
    fn is_narrowed(&self) -> Result<bool> {
        let mut narrowed = false;
        self.input.apply(|node| {
            if let Some(scan) = node.downcast_ref::<ScanExec>() {
                let filters = scan.scan().filters.iter();
                for filter in filters.filter(|filter| self.signature.is_from_above(filter)) {
                    narrowed |= scan.scan().is_narrowed_by(filter)?;
                }
            }
            Ok(if narrowed { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        Ok(narrowed)
    }

    /// Somebody else's list has its rows, so that what lies below is not read here.
    fn forgo_below(&self) -> Result<()> {
        self.input.apply(|node| {
            let repeated = node.downcast_ref::<PipelinedExec>().and_then(|below| {
                below.repeated().map(|repeated| repeated.forgo(below.signature.is_open()))
            });
            // What lies below that is read with the readings that are left.
            let is_read = repeated.is_some_and(|left| left > 0);
            Ok(if is_read { TreeNodeRecursion::Jump } else { TreeNodeRecursion::Continue })
        })?;
        Ok(())
    }

    /// The sub-plan without the filters from above.
    fn closed(&self) -> Result<Arc<dyn ExecutionPlan>> {
        let closed = self.input.clone().transform_up(|node| {
            let Some(scan) = node.downcast_ref::<ScanExec>() else {
                return Ok(Transformed::no(node));
            };
            let mut filters = scan.scan().filters.clone();
            filters.retain(|filter| !self.signature.is_from_above(filter));
            Ok(Transformed::yes(Arc::new(scan.with_filters(filters)) as _))
        })?;
        Ok(closed.data)
    }
}

impl DisplayAs for PipelinedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PipelinedExec")
    }
}

impl ExecutionPlan for PipelinedExec {
    fn name(&self) -> &'static str {
        "PipelinedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    /// The same sub-plan in a fresh state: plans are rewritten before they are made to share.
    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (Some(input), true) = (children.pop(), children.is_empty()) else {
            return internal_err!("a shared sub-plan has one input");
        };
        Ok(Arc::new(PipelinedExec { input, joined: Arc::default(), ..Self::clone(&self) }))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(
            children,
            ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute),
        )
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        Ok(Box::pin(PipelinedStream { node: self.clone(), context, way: Way::Open }))
    }
}

/// Where a sub-plan's rows come from.
enum Way {
    /// Nobody has asked yet.
    Open,
    Shared(Consumer),
    Alone(SendableRecordBatchStream),
}

/// The rows of a sub-plan, from whoever produces them.
struct PipelinedStream {
    node: PipelinedExec,
    context: Arc<TaskContext>,
    way: Way,
}

impl Stream for PipelinedStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if matches!(this.way, Way::Open) {
            match this.node.join(this.context.clone()) {
                Ok(way) => this.way = way,
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
        match &mut this.way {
            Way::Open => unreachable!("decided above"),
            Way::Shared(consumer) => consumer.poll_next(context),
            Way::Alone(rows) => rows.poll_next_unpin(context),
        }
    }
}

impl RecordBatchStream for PipelinedStream {
    fn schema(&self) -> SchemaRef {
        self.node.input.schema()
    }
}

impl Drop for PipelinedStream {
    fn drop(&mut self) {
        if let (Some(report), Way::Shared(consumer)) =
            (&self.node.sharing.pipelining.report, &self.way)
        {
            report.add(self.node.signature.name(), consumer.took());
        }
    }
}
