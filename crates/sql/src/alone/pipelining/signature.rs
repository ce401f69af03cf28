//! What a sub-plan computes, in a form that can be compared: operators with all that they are told, their expressions
//! with parameters bound, the tables below with the last version that changed each.
//!
//! Only operators that are named here have one. All of them run in one partition, hash with fixed seeds and spill
//! nothing, so that the same sub-plan over the same table view gives the same rows in the same order, which a consumer
//! that must read on by itself relies on.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{JoinType, NullEquality};
use datafusion::logical_expr::Volatility;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::window::WindowExpr;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, LimitOptions};
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, InputOrderMode};
use engine::types::{IndexId, TableId, Value, Version};

use super::super::append::AppendExec;
use super::super::condition::Condition;
use super::super::overlay::TableOverlay;
use super::super::scan::{Field, Scan};
use super::super::scan_plan::ScanExec;
use super::expression::is_shareable;
use super::window_function::WindowFunction;

/// A sub-plan in comparable form. Equality is that of the whole, the hash only finds candidates.
#[derive(Debug)]
pub struct Signature {
    operator: Operator,
    expressions: Vec<Arc<dyn PhysicalExpr>>,
    /// How many rows it puts out at most.
    fetch: Option<usize>,
    schema: SchemaRef,
    inputs: Vec<Arc<Signature>>,
    hash: u64,
    /// Filters that scans below ask and no operator below makes. They are not compared: they only leave out rows that an
    /// operator above has no use for.
    open: Vec<u64>,
    /// Row versions that the largest scan below passes over.
    largest_scan: usize,
    /// The operator and the tables below.
    name: String,
}

/// What an operator is told besides its expressions, which follow each other in a fixed order.
#[derive(Debug, PartialEq)]
enum Operator {
    Scan(ScannedTable),
    Cooperative,
    Filter {
        projection: Option<Arc<[usize]>>,
    },
    Projection,
    Aggregate {
        nulls: Vec<Vec<bool>>,
        functions: Vec<Function>,
        limit: Option<LimitOptions>,
    },
    HashJoin {
        keys: usize,
        join_type: JoinType,
        null_equality: NullEquality,
        null_aware: bool,
        projection: Option<Arc<[usize]>>,
        filter: Option<FilterColumns>,
    },
    NestedLoopJoin {
        join_type: JoinType,
        projection: Option<Arc<[usize]>>,
        filter: Option<FilterColumns>,
    },
    CrossJoin,
    Sort {
        options: Vec<SortOptions>,
    },
    Window {
        functions: Vec<WindowFunction>,
        /// Of one that puts rows out before it has read all.
        order: Option<InputOrderMode>,
    },
    Union,
    Append,
    Limit {
        skip: usize,
    },
}

/// Rows of a table as one or several snapshots see them.
#[derive(Debug, PartialEq)]
struct ScannedTable {
    table: TableId,
    rows: SeenRows,
    fields: Vec<Field>,
    /// What its condition reads.
    asked: Vec<Field>,
    probe: Option<(IndexId, Vec<Value>)>,
    own: Option<OwnChanges>,
}

/// A transaction's own changes, as one statement sees them: nobody else's.
#[derive(Debug)]
struct OwnChanges(Arc<TableOverlay>);

impl PartialEq for OwnChanges {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[derive(Debug, PartialEq)]
enum SeenRows {
    /// Of all snapshots between this change and the next.
    Since(Version),
    /// Of this snapshot only.
    At(Version),
}

/// Where a join's filter finds its columns.
#[derive(Debug, PartialEq)]
struct FilterColumns {
    columns: Vec<ColumnIndex>,
    schema: SchemaRef,
}

/// An aggregate function with what its own equality leaves out.
#[derive(Debug)]
struct Function {
    function: Arc<AggregateFunctionExpr>,
    order: Vec<PhysicalSortExpr>,
    is_filtered: bool,
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        let flags =
            |f: &AggregateFunctionExpr| (f.is_distinct(), f.ignore_nulls(), f.is_reversed());
        self.function == other.function
            && flags(&self.function) == flags(&other.function)
            && self.order == other.order
            && self.is_filtered == other.is_filtered
    }
}

impl PartialEq for Signature {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
            && self.operator == other.operator
            && self.expressions == other.expressions
            && self.fetch == other.fetch
            && self.schema == other.schema
            && self.inputs == other.inputs
    }
}

/// An operator, its expressions, and its inputs, before the whole is known to be shareable.
type Parts = (Operator, Vec<Arc<dyn PhysicalExpr>>);

impl Signature {
    /// The signature of a sub-plan whose inputs have these; `None` where it must not be shared.
    pub fn of(plan: &dyn ExecutionPlan, inputs: &[Option<Arc<Signature>>]) -> Option<Signature> {
        let inputs = inputs.iter().cloned().collect::<Option<Vec<_>>>()?;
        let (operator, expressions) = parts(plan)?;
        // A union's partitions are appended above it.
        let is_one = plan.output_partitioning().partition_count() == 1;
        let is_one = is_one || operator == Operator::Union;
        if !is_one || !expressions.iter().all(is_shareable) {
            return None;
        }
        let fetch = plan.fetch();
        let below = inputs.iter().map(|input| input.largest_scan).max();
        let largest_scan = below.unwrap_or_else(|| scanned_rows(plan));
        let schema = plan.schema();
        let hash = hash(&operator, &expressions, &inputs);
        let (open, name) = (open(plan, &inputs), name(plan, &inputs));
        Some(Signature {
            operator,
            expressions,
            fetch,
            schema,
            inputs,
            hash,
            open,
            largest_scan,
            name,
        })
    }

    /// Whether filters come from above: then the rows are not all that somebody else may want.
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether a filter that a scan below asks is one of these.
    pub fn is_from_above(&self, filter: &Condition) -> bool {
        filter.predicate.expression_id().is_some_and(|id| self.open.contains(&id))
    }

    /// The operator and the tables below.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Row versions that the largest scan below passes over.
    pub fn largest_scan(&self) -> usize {
        self.largest_scan
    }
}

fn open(plan: &dyn ExecutionPlan, inputs: &[Arc<Signature>]) -> Vec<u64> {
    let asked = plan.downcast_ref::<ScanExec>().map_or(&[][..], |scan| &scan.scan().filters);
    let asked = asked.iter().filter_map(|filter| filter.predicate.expression_id());
    let below = inputs.iter().flat_map(|input| input.open.iter().copied());
    let made = plan.dynamic_expressions_produced();
    let made: Vec<u64> = made.iter().filter_map(|filter| filter.expression_id()).collect();
    asked.chain(below).filter(|filter| !made.contains(filter)).collect()
}

/// `HashJoin of item, author`
fn name(plan: &dyn ExecutionPlan, inputs: &[Arc<Signature>]) -> String {
    let tables = match plan.downcast_ref::<ScanExec>() {
        Some(scan) => scan.scan().view.schema().name.to_string(),
        None => {
            let below = inputs.iter().filter_map(|input| input.name.split_once(" of "));
            below.map(|(_, tables)| tables).collect::<Vec<_>>().join(", ")
        }
    };
    format!("{} of {tables}", plan.name().trim_end_matches("Exec"))
}

fn hash(
    operator: &Operator,
    expressions: &[Arc<dyn PhysicalExpr>],
    inputs: &[Arc<Signature>],
) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    std::mem::discriminant(operator).hash(&mut hasher);
    if let Operator::Scan(scanned) = operator {
        scanned.table.hash(&mut hasher);
    }
    expressions.iter().for_each(|expression| expression.hash(&mut hasher));
    inputs.iter().for_each(|input| input.hash.hash(&mut hasher));
    hasher.finish()
}

fn scanned_rows(plan: &dyn ExecutionPlan) -> usize {
    let scan = plan.downcast_ref::<ScanExec>().map(ScanExec::scan);
    let scan = scan.filter(|scan| scan.probe.is_none());
    scan.map_or(0, |scan| scan.view.chunks().iter().map(|(_, chunk)| chunk.rows()).sum())
}

fn parts(plan: &dyn ExecutionPlan) -> Option<Parts> {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        return Some(scanned_table(scan.scan()));
    }
    if plan.is::<CooperativeExec>() {
        return Some((Operator::Cooperative, Vec::new()));
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let projection = filter.projection().clone();
        return Some((Operator::Filter { projection }, vec![filter.predicate().clone()]));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        // Names are in the schema.
        let expressions = projection.expr().iter().map(|projected| projected.expr.clone());
        return Some((Operator::Projection, expressions.collect()));
    }
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        let options = sort.expr().iter().map(|key| key.options).collect();
        let expressions = sort.expr().iter().map(|key| key.expr.clone()).collect();
        return Some((Operator::Sort { options }, expressions));
    }
    if plan.is::<CrossJoinExec>() {
        return Some((Operator::CrossJoin, Vec::new()));
    }
    if plan.is::<UnionExec>() {
        return Some((Operator::Union, Vec::new()));
    }
    if plan.is::<AppendExec>() {
        return Some((Operator::Append, Vec::new()));
    }
    let skip = plan.downcast_ref().map(GlobalLimitExec::skip);
    if let Some(skip) = skip.or(plan.is::<LocalLimitExec>().then_some(0)) {
        return Some((Operator::Limit { skip }, Vec::new()));
    }
    None.or_else(|| plan.downcast_ref().and_then(aggregate))
        .or_else(|| plan.downcast_ref().and_then(window))
        .or_else(|| plan.downcast_ref().and_then(bounded_window))
        .or_else(|| plan.downcast_ref().map(hash_join))
        .or_else(|| plan.downcast_ref().map(nested_loop_join))
}

fn scanned_table(scan: &Scan) -> Parts {
    let version = scan.view.version();
    // The version of a row is that of the snapshot.
    let mut read = scan.fields.iter().chain(scan.condition.iter().flat_map(|c| &c.fields));
    let names_version = read.any(|field| *field == Field::RowVersion);
    let rows = match scan.view.table().last_change(version) {
        Some(change) if !names_version => SeenRows::Since(change),
        _ => SeenRows::At(version),
    };
    let table = scan.view.schema().id;
    let probe = scan.probe.as_ref().map(|(index, key)| (index.schema().id, key.clone()));
    let condition = scan.condition.as_ref();
    let asked = condition.map_or(Vec::new(), |condition| condition.fields.clone());
    let expressions = condition.map(|condition| condition.predicate.clone());
    let (fields, own) = (scan.fields.clone(), scan.overlay.clone().map(OwnChanges));
    let scanned = ScannedTable { table, rows, fields, asked, probe, own };
    (Operator::Scan(scanned), expressions.into_iter().collect())
}

fn aggregate(plan: &AggregateExec) -> Option<Parts> {
    let immutable =
        |f: &Arc<AggregateFunctionExpr>| f.fun().signature().volatility == Volatility::Immutable;
    // Partial aggregation gives groups out early where memory is short: another order.
    if *plan.mode() != AggregateMode::Single || !plan.aggr_expr().iter().all(immutable) {
        return None;
    }
    let group = plan.group_expr();
    let keys = group.expr().iter().chain(group.null_expr()).map(|(key, _)| key.clone());
    let mut expressions: Vec<_> = keys.collect();
    let functions = plan.aggr_expr().iter().zip(plan.filter_expr()).map(|(function, filter)| {
        let order = function.order_bys().to_vec();
        expressions.extend(function.expressions());
        expressions.extend(order.iter().map(|key| key.expr.clone()));
        expressions.extend(filter.clone());
        Function { function: function.clone(), order, is_filtered: filter.is_some() }
    });
    let functions = functions.collect();
    let nulls = group.groups().to_vec();
    Some((Operator::Aggregate { nulls, functions, limit: plan.limit_options() }, expressions))
}

fn window(plan: &WindowAggExec) -> Option<Parts> {
    windows(plan.window_expr(), None)
}

fn bounded_window(plan: &BoundedWindowAggExec) -> Option<Parts> {
    windows(plan.window_expr(), Some(plan.input_order_mode.clone()))
}

fn windows(computed: &[Arc<dyn WindowExpr>], order: Option<InputOrderMode>) -> Option<Parts> {
    let functions = computed.iter().map(|function| WindowFunction::of(function.as_ref()));
    let functions = functions.collect::<Option<Vec<_>>>()?;
    let expressions = functions.iter().flat_map(|function| function.expressions().to_vec());
    let expressions = expressions.collect();
    Some((Operator::Window { functions, order }, expressions))
}

fn hash_join(plan: &HashJoinExec) -> Parts {
    let keys = plan.on().iter().flat_map(|(left, right)| [left.clone(), right.clone()]);
    let expressions = keys.chain(plan.filter().map(|filter| filter.expression().clone()));
    let operator = Operator::HashJoin {
        keys: plan.on().len(),
        join_type: *plan.join_type(),
        null_equality: plan.null_equality(),
        null_aware: plan.null_aware,
        projection: plan.projection.clone(),
        filter: plan.filter().map(filter_columns),
    };
    (operator, expressions.collect())
}

fn nested_loop_join(plan: &NestedLoopJoinExec) -> Parts {
    let expressions = plan.filter().map(|filter| filter.expression().clone());
    let operator = Operator::NestedLoopJoin {
        join_type: *plan.join_type(),
        projection: plan.projection().clone(),
        filter: plan.filter().map(filter_columns),
    };
    (operator, expressions.into_iter().collect())
}

fn filter_columns(filter: &JoinFilter) -> FilterColumns {
    FilterColumns { columns: filter.column_indices().to_vec(), schema: filter.schema().clone() }
}
