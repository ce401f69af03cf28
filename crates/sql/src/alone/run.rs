//! Parameters in, physical plan, answers out.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, TableScan, TableSource};
use datafusion::optimizer::eliminate_limit::EliminateLimit;
use datafusion::optimizer::push_down_limit::PushDownLimit;
use datafusion::optimizer::{Optimizer, OptimizerRule};
use datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream, execute_stream};
use engine::heartbeat::{Answer, AnswerPart};
use engine::plan::OutputColumn;
use engine::storage::{Snapshot, Store};
use engine::types::{DataType, Error, Result, SqlState, Value, array_from_values, check_digits};
use futures::{FutureExt, Stream, StreamExt, TryStreamExt};

use super::Limits;
use super::checked::checked;
use super::found::Found;
use super::overlay::Overlay;
use super::pipelining::{self, Pipelining, Repeats};
use super::row_counts::counted;
use super::table::{SnapshotTable, fields_of};
use super::thread::{Wanted, step_by_step};
use super::to_exact;
use crate::catalog::system::SystemRelation;
use crate::catalog::{FoundRelation, TableRelation};
use crate::dialect::Applied;
use crate::template::{QueryTemplate, fault, placeholder_index};

/// What a query reads.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The tables.
    pub store: Arc<Store>,
    /// At this version.
    pub snapshot: Snapshot,
    /// Under the transaction's own changes.
    pub overlay: Option<Arc<Overlay>>,
    /// What has run before it for its statement.
    pub found: Found,
    /// What may end it early.
    pub limits: Limits,
    /// With whom it shares what others run too; `None` for nobody.
    pub pipelining: Option<Pipelining>,
}

/// Rows, or what went wrong.
type BatchResult = datafusion::common::Result<RecordBatch>;

/// Answers, batch by batch.
pub type Answers = Pin<Box<dyn Stream<Item = Result<Answer>> + Send>>;

/// Runs a query alone, on threads of its own: what takes long keeps nobody else from his.
pub async fn run(
    template: &Arc<QueryTemplate>,
    values: &[Value],
    reading: &Reading,
) -> Result<Answers> {
    let wanted = Wanted::new(reading.limits.clone());
    let answers = begin(template, values, reading).await?;
    Ok(step_by_step(wanted, answers))
}

/// The same on whatever thread asks for the answers.
pub(super) async fn begin(
    template: &Arc<QueryTemplate>,
    values: &[Value],
    reading: &Reading,
) -> Result<Answers> {
    let (physical, repeats) = planned(template, values, reading).await?;
    let context = template.planning.state().task_ctx();
    let stream = execute_stream(physical, context).map_err(|error| fault(&error))?;
    let output = template.output.clone();
    let running = reading.pipelining.as_ref().map(|pipelining| pipelining.lists.load().start());
    let answers = guarded(stream).map(move |batch| {
        let _while_it_runs = (&running, &repeats);
        batch.and_then(|batch| answer(&batch, &output)).map_err(|error| fault(&error))
    });
    Ok(Box::pin(answers))
}

/// What runs, planned on a planning thread.
async fn planned(
    template: &Arc<QueryTemplate>,
    values: &[Value],
    reading: &Reading,
) -> Result<(Arc<dyn ExecutionPlan>, Repeats)> {
    let (own, values, reading) = (template.clone(), values.to_vec(), reading.clone());
    let cancelled = reading.limits.cancelled.clone();
    let plan = move || {
        let physical = physical_plan(&own, &values, &reading, own.planning.state());
        let physical = physical.now_or_never().expect("tables lie in memory: nothing is awaited");
        let physical = physical.and_then(|physical| match &reading.pipelining {
            Some(pipelining) => pipelining::wrap(physical, pipelining),
            None => Ok((physical, Repeats::default())),
        });
        let physical = physical.and_then(|(physical, repeats)| Ok((checked(physical)?, repeats)));
        physical.map_err(|error| fault(&error))
    };
    template.planning.threads().run(template.text.len(), cancelled, None, plan).await
}

/// A stream whose panics are faults of this query alone, after which it ends.
fn guarded(stream: SendableRecordBatchStream) -> impl Stream<Item = BatchResult> + Send {
    futures::stream::unfold(Some(stream), |stream| async move {
        let mut stream = stream?;
        match AssertUnwindSafe(stream.next()).catch_unwind().await {
            Ok(batch) => batch.map(|batch| (batch, Some(stream))),
            Err(_) => Some((Err(panicked()), None)),
        }
    })
}

fn panicked() -> DataFusionError {
    tracing::error!("a query that ran alone broke an invariant");
    let message = "internal error: a broken invariant ended this statement";
    DataFusionError::External(Box::new(Error::new(SqlState::InternalError, message)))
}

/// What runs, before anything of it is shared.
pub(super) async fn physical_plan(
    template: &QueryTemplate,
    values: &[Value],
    reading: &Reading,
    state: &SessionState,
) -> datafusion::common::Result<Arc<dyn ExecutionPlan>> {
    let plan = bind(template, values, reading)?;
    state.query_planner().create_physical_plan(&plan, state).await
}

/// Runs a query alone; all its rows at once.
pub async fn collect(
    template: &Arc<QueryTemplate>,
    values: &[Value],
    reading: &Reading,
) -> Result<Answer> {
    let answers: Vec<Answer> = run(template, values, reading).await?.try_collect().await?;
    let parts = answers.into_iter().flat_map(|answer| answer.parts).collect();
    Ok(Answer::new(template.output.clone(), parts))
}

fn answer(batch: &RecordBatch, output: &Arc<[OutputColumn]>) -> datafusion::common::Result<Answer> {
    use datafusion::arrow::array::RecordBatchOptions;
    use datafusion::arrow::datatypes::{Field, Schema};
    let fields = output.iter().map(|c| Field::new(&*c.name, c.data_type.arrow(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let columns = batch.columns().iter().zip(output.iter());
    let columns = columns.map(|(array, column)| to_exact(array, &column.data_type.arrow()));
    let columns = columns.collect::<datafusion::common::Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
    Ok(Answer::new(output.clone(), vec![AnswerPart::Alone(batch)]))
}

/// The plan with values for its parameters and tables at the snapshot; its guards guard row by row.
fn bind(
    template: &QueryTemplate,
    values: &[Value],
    reading: &Reading,
) -> datafusion::common::Result<LogicalPlan> {
    let given = Given { types: &template.parameters, values };
    let bound = bind_plan(template.plan.clone(), given, reading)?;
    give_sorts_their_limits(bound, template.planning.state())
}

/// Values for parameters. Those that the query does not mention may be of another type than it believes: they belong to
/// another part of the statement, whose types may have been learnt later.
#[derive(Clone, Copy)]
struct Given<'a> {
    types: &'a [DataType],
    values: &'a [Value],
}

impl Given<'_> {
    fn literal(&self, index: usize) -> datafusion::common::Result<Option<ScalarValue>> {
        let given = self.types.get(index).zip(self.values.get(index));
        given.map(|(data_type, value)| scalar_value(*data_type, value)).transpose()
    }
}

/// The template was optimized while its LIMITs were parameters. A sort that does not know of the LIMIT above it is
/// dropped by the physical planner where nothing above that LIMIT asks for an order, and with it the choice of rows. A
/// LIMIT 0 goes with all that is below it: there is no sort that keeps no row.
fn give_sorts_their_limits(
    plan: LogicalPlan,
    state: &SessionState,
) -> datafusion::common::Result<LogicalPlan> {
    let rules: Vec<Arc<dyn OptimizerRule + Send + Sync>> =
        vec![Arc::new(EliminateLimit::new()), Arc::new(PushDownLimit::new())];
    Optimizer::with_rules(rules).optimize(plan, state, |_, _| ())
}

fn bind_plan(
    plan: LogicalPlan,
    given: Given<'_>,
    reading: &Reading,
) -> datafusion::common::Result<LogicalPlan> {
    let bound = plan.transform_down_with_subqueries(|node| {
        // Nodes above name what this one computes by the expression's text, in which the placeholders stay.
        let names = NamePreserver::new(&node);
        let node = node.map_expressions(|expr| {
            let name = names.save(&expr);
            Ok(bind_expression(expr, given, reading)?.update_data(|expr| name.restore(expr)))
        })?;
        node.transform_data(|node| match node {
            LogicalPlan::TableScan(scan) => bind_scan(scan, reading),
            LogicalPlan::Limit(limit) => counted(limit),
            other => Ok(Transformed::no(other)),
        })
    })?;
    crate::dialect::lazy_plan(bound.data)
}

/// The engine's value as DataFusion's.
pub(super) fn scalar_value(
    data_type: DataType,
    value: &Value,
) -> datafusion::common::Result<ScalarValue> {
    // The types around it are settled, and a comparison with fewer digits would be another one.
    let checked = check_digits(data_type, value.borrow());
    checked.map_err(|error| DataFusionError::External(Box::new(error)))?;
    let array = array_from_values(data_type, std::iter::once(value.borrow()));
    ScalarValue::try_from_array(&array, 0)
}

fn bind_expression(
    expr: Expr,
    given: Given<'_>,
    reading: &Reading,
) -> datafusion::common::Result<Transformed<Expr>> {
    use datafusion::common::tree_node::TreeNode;
    expr.transform_up(|expr| {
        if let Expr::ScalarFunction(call) = &expr
            && let Some(applied) = Applied::of(&call.func)
        {
            let plan = bind_plan(applied.plan().as_ref().clone(), given, reading)?;
            let function = Arc::new(applied.with_plan(plan));
            let call = ScalarFunction::new_udf(function, call.args.clone());
            return Ok(Transformed::yes(Expr::ScalarFunction(call)));
        }
        let Expr::Placeholder(placeholder) = &expr else { return Ok(Transformed::no(expr)) };
        let index = placeholder_index(&placeholder.id)
            .map_err(|error| DataFusionError::External(Box::new(error)))?;
        let value = given.literal(index)?.ok_or_else(|| {
            let message = format!("there is no parameter {}", placeholder.id);
            let error = Error::new(SqlState::UndefinedParameter, message);
            DataFusionError::External(Box::new(error))
        })?;
        let wanted = placeholder.field.as_ref().map(|field| field.data_type());
        let value = match wanted {
            Some(wanted) => value.cast_to(wanted)?,
            None => value,
        };
        Ok(Transformed::yes(Expr::Literal(value, None)))
    })
}

fn bind_scan(
    scan: TableScan,
    reading: &Reading,
) -> datafusion::common::Result<Transformed<LogicalPlan>> {
    let source = scan.source.as_ref() as &dyn Any;
    let bound: Arc<dyn TableSource> = if let Some(relation) = source.downcast_ref::<TableRelation>()
    {
        stored(relation, reading)?
    } else if let Some(system) = source.downcast_ref::<SystemRelation>() {
        let rows = system.rows()?;
        provider_as_source(Arc::new(MemTable::try_new(rows.schema(), vec![vec![rows]])?))
    } else if let Some(found) = source.downcast_ref::<FoundRelation>() {
        reading.found.source(found)?
    } else {
        return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
    };
    Ok(Transformed::yes(LogicalPlan::TableScan(TableScan { source: bound, ..scan })))
}

fn stored(
    relation: &TableRelation,
    reading: &Reading,
) -> datafusion::common::Result<Arc<dyn TableSource>> {
    let table = reading.store.table(relation.table.id).ok_or_else(|| {
        let message = format!("relation \"{}\" does not exist", relation.table.name);
        DataFusionError::External(Box::new(Error::new(SqlState::UndefinedTable, message)))
    })?;
    let overlay = reading.overlay.as_ref().and_then(|o| o.table(relation.table.id));
    Ok(provider_as_source(Arc::new(SnapshotTable {
        view: table.view(reading.snapshot.version()),
        snapshot: reading.snapshot.clone(),
        overlay: overlay.cloned(),
        fields: fields_of(relation),
        schema: relation.arrow.clone(),
    })))
}
