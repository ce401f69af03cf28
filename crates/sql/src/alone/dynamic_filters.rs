//! Filters that operators make while they run, for the scans that their columns come from.
//!
//! A hash join has all keys of one side before it reads the other; a Top-N knows the last row that it still keeps. Here each
//! such filter is handed down to the one scan that all of its columns come from. This stands in for DataFusion's own
//! rule, which finds a column in an input by its name: among a join's columns two may have the same.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinSide, JoinType, NullEquality, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, DynamicFilterPhysicalExpr, lit};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;

use super::condition::Condition;
use super::scan_plan::ScanExec;

/// The rule.
#[derive(Debug)]
pub struct DynamicFilters;

impl PhysicalOptimizerRule for DynamicFilters {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let handed_down = plan.transform_up(|node| {
            let changed = match node.downcast_ref::<HashJoinExec>() {
                Some(join) => with_join_filter(join)?,
                None => node.downcast_ref().map(with_first_rows_filter).transpose()?.flatten(),
            };
            Ok(changed.map_or_else(|| Transformed::no(node), Transformed::yes))
        })?;
        Ok(handed_down.data)
    }

    fn name(&self) -> &'static str {
        "dynamic_filters"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A join whose right side is narrowed by the left side's keys, where right rows without a partner are of no use.
fn with_join_filter(join: &HashJoinExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let (_, only_partners) = join.join_type().on_lr_is_preserved();
    let is_plain = join.null_equality() == NullEquality::NullEqualsNothing && !join.null_aware;
    let keys: Vec<_> = join.on().iter().map(|(_, right)| right.clone()).collect();
    let Some(columns) = columns(&keys).filter(|_| only_partners && is_plain) else {
        return Ok(None);
    };
    let filter = Arc::new(DynamicFilterPhysicalExpr::new(keys, lit(true)));
    let Some(right) = hand_down(join.right(), &columns, &filter)? else { return Ok(None) };
    let inputs = vec![join.left().clone(), right];
    let join = join.builder().with_new_children(inputs)?.build()?;
    Ok(Some(Arc::new(join.with_dynamic_filter_expr(filter)?)))
}

/// A Top-N whose input is narrowed by the last of the rows that it keeps.
fn with_first_rows_filter(sort: &SortExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let filter = sort.dynamic_expressions_produced().pop().filter(|_| sort.fetch().is_some());
    let filter = filter.map(|filter| filter as Arc<dyn Any + Send + Sync>);
    let Some(Ok(filter)) = filter.map(Arc::downcast::<DynamicFilterPhysicalExpr>) else {
        return Ok(None);
    };
    let keys: Vec<_> = filter.children().into_iter().cloned().collect();
    let Some(columns) = columns(&keys) else { return Ok(None) };
    // The sort asks its filter itself before it takes a row in: below, that only spares reading other columns.
    let all = sort.input().schema().fields().len();
    if (0..all).all(|column| columns.contains(&column)) {
        return Ok(None);
    }
    let Some(input) = hand_down(sort.input(), &columns, &filter)? else { return Ok(None) };
    Ok(Some(replace_children_if_necessary(Arc::new(sort.clone()), vec![input])?))
}

/// Positions, where all of these are plain columns: computing a key below what stands between may fail.
fn columns(keys: &[Arc<dyn PhysicalExpr>]) -> Option<Vec<usize>> {
    keys.iter().map(|key| key.downcast_ref::<Column>().map(Column::index)).collect()
}

/// The plan with the filter, over these of its columns, at the scan that they come from; `None` if there is no such scan.
fn hand_down(
    plan: &Arc<dyn ExecutionPlan>,
    columns: &[usize],
    filter: &Arc<DynamicFilterPhysicalExpr>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    // Below a limit fewer rows are other rows.
    if plan.fetch().is_some() {
        return Ok(None);
    }
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        return filtered(scan, columns, filter);
    }
    let Some((input, below)) = origin(plan.as_ref(), columns) else { return Ok(None) };
    let mut inputs: Vec<_> = plan.children().into_iter().cloned().collect();
    let Some(narrowed) = hand_down(&inputs[input], &below, filter)? else { return Ok(None) };
    inputs[input] = narrowed;
    Ok(Some(replace_children_if_necessary(plan.clone(), inputs)?))
}

/// Zero of floats has two forms, which an index of a join's keys and a comparison may tell apart.
fn filtered(
    scan: &ScanExec,
    columns: &[usize],
    filter: &Arc<DynamicFilterPhysicalExpr>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let schema = Arc::new(scan.scan().schema.project(columns)?);
    if schema.fields().iter().any(|field| field.data_type().is_floating()) {
        return Ok(None);
    }
    let read = schema.fields().iter().enumerate();
    let read = read.map(|(at, field)| Arc::new(Column::new(field.name(), at)) as _).collect();
    let predicate = filter.clone().with_new_children(read)?;
    let fields = columns.iter().map(|column| scan.scan().fields[*column]).collect();
    let mut filters = scan.scan().filters.clone();
    filters.push(Condition { fields, schema, predicate });
    Ok(Some(Arc::new(scan.with_filters(filters))))
}

/// The input that all of these columns come from unchanged, and where they are there. Rows of it with other values in
/// them make no difference to what the operator gives for the rest, so that they may be left out.
fn origin(plan: &dyn ExecutionPlan, columns: &[usize]) -> Option<(usize, Vec<usize>)> {
    if plan.is::<CooperativeExec>() || plan.is::<SortExec>() {
        return Some((0, columns.to_vec()));
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return Some((0, projected(filter.projection().as_deref(), columns)));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let below = columns.iter().map(|column| projection.expr()[*column].expr.clone());
        return Some((0, self::columns(&below.collect::<Vec<_>>())?));
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        let keys = aggregate.group_expr();
        let below = columns.iter().map(|column| Some(keys.expr().get(*column)?.0.clone()));
        let below = below.collect::<Option<Vec<_>>>().filter(|_| keys.is_single())?;
        return Some((0, self::columns(&below)?));
    }
    if let Some(join) = plan.downcast_ref::<CrossJoinExec>() {
        return side(JoinType::Inner, join.left().schema().fields().len(), columns);
    }
    let join = plan.downcast_ref::<HashJoinExec>().filter(|join| !join.null_aware)?;
    let columns = projected(join.projection.as_deref(), columns);
    side(*join.join_type(), join.left().schema().fields().len(), &columns)
}

fn projected(projection: Option<&[usize]>, columns: &[usize]) -> Vec<usize> {
    let below = |column: &usize| projection.map_or(*column, |projection| projection[*column]);
    columns.iter().map(below).collect()
}

/// The side of a join that all of these columns come from, where every row with such columns comes from a row of that side.
fn side(join: JoinType, left: usize, columns: &[usize]) -> Option<(usize, Vec<usize>)> {
    use JoinType::{
        Full, Inner, Left, LeftAnti, LeftMark, LeftSemi, Right, RightAnti, RightMark, RightSemi,
    };
    let place = |column: usize| match (join, column.checked_sub(left)) {
        (RightSemi | RightAnti, _) => (JoinSide::Right, column),
        (RightMark, _) | (LeftMark, Some(_)) => (JoinSide::None, column),
        (_, Some(right)) => (JoinSide::Right, right),
        (_, None) => (JoinSide::Left, column),
    };
    let places: Vec<(JoinSide, usize)> = columns.iter().map(|column| place(*column)).collect();
    let of_one = places.iter().all(|(side, _)| *side == places[0].0);
    let input = match (places.first()?.0, join) {
        (JoinSide::Left, Inner | Left | LeftSemi | LeftAnti | LeftMark) => 0,
        (JoinSide::Right, Inner | Right | RightSemi | RightAnti) => 1,
        (_, Full) | (JoinSide::None | JoinSide::Left | JoinSide::Right, _) => return None,
    };
    of_one.then(|| (input, places.into_iter().map(|(_, column)| column).collect()))
}
