//! Inner joins in the cheapest order instead of the statement's.
//!
//! In comes a physical plan whose joins stand as the statement names them; out goes one in which every group of inner joins
//! that follow each other, by equal keys or without, is joined in the order that the engine's estimates make cheapest.
//! Joins of other kinds, and all else, stay where they are and are relations of the group around them. Which side of a
//! join is the build side DataFusion decides afterwards, by the same statistics.

use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinSide, JoinType, NullEquality, Result};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Column};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter, JoinOn};
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, PartitionMode,
};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use engine::plan::HashJoins;

/// Values of a key of which nothing is known.
const UNKNOWN_VALUES: f64 = 200.0;

/// The rule.
#[derive(Debug)]
pub struct JoinOrder;

impl PhysicalOptimizerRule for JoinOrder {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        ordered(plan)
    }

    fn name(&self) -> &'static str {
        "join_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

type Expression = Arc<dyn PhysicalExpr>;

fn ordered(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if is_member(&plan) {
        let mut group = Group::default();
        let (columns, _) = group.add(&plan)?;
        if let Some(order) = group.better_order()? {
            let relations = std::mem::take(&mut group.relations);
            group.relations = relations.into_iter().map(ordered).collect::<Result<_>>()?;
            let joined = group.join(&order, &columns, plan.schema().as_ref())?;
            if joined.schema() == plan.schema() {
                return Ok(joined);
            }
        }
    }
    let inputs = plan.children().into_iter().cloned().map(ordered).collect::<Result<Vec<_>>>()?;
    match inputs.is_empty() {
        true => Ok(plan),
        false => replace_children_if_necessary(plan, inputs),
    }
}

/// Whether it is an inner join that may trade places with others.
fn is_member(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let Some(join) = plan.downcast_ref::<HashJoinExec>() else {
        return plan.is::<CrossJoinExec>();
    };
    let mut keys = join.on().iter().flat_map(|(left, right)| [left, right]);
    *join.join_type() == JoinType::Inner
        && join.null_equality() == NullEquality::NullEqualsNothing
        && join.fetch().is_none()
        && !keys.any(is_volatile)
        && !join.filter().is_some_and(|filter| is_volatile(filter.expression()))
}

/// Inner joins without an order. Columns are positions in the concatenation of all relations as the statement names them.
#[derive(Debug, Default)]
struct Group {
    relations: Vec<Arc<dyn ExecutionPlan>>,
    /// The first column of each, and behind the last.
    offsets: Vec<usize>,
    keys: Vec<(Expression, Expression)>,
    conditions: Vec<Expression>,
    /// The statement's joins, inputs first, each by the relations of its sides.
    joins: Vec<(u64, u64)>,
}

impl Group {
    /// Flattens a tree: which columns it puts out, and its relations.
    fn add(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Result<(Vec<usize>, u64)> {
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>()
            && is_member(projection.input())
            && let Some(kept) = plain_columns(projection)
        {
            let (columns, relations) = self.add(projection.input())?;
            return Ok((kept.into_iter().map(|column| columns[column]).collect(), relations));
        }
        if !is_member(plan) {
            return Ok(self.add_relation(plan));
        }
        let inputs = plan.children();
        let (left, left_relations) = self.add(inputs[0])?;
        let (right, right_relations) = self.add(inputs[1])?;
        self.joins.push((left_relations, right_relations));
        let mut columns: Vec<usize> = left.iter().chain(&right).copied().collect();
        if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
            for (a, b) in join.on() {
                self.keys.push((moved(a, &|c| left[c])?, moved(b, &|c| right[c])?));
            }
            if let Some(filter) = join.filter() {
                let place = |column: usize| match filter.column_indices()[column] {
                    ColumnIndex { index, side: JoinSide::Right } => right[index],
                    ColumnIndex { index, .. } => left[index],
                };
                self.conditions.push(moved(filter.expression(), &place)?);
            }
            if let Some(kept) = &join.projection {
                columns = kept.iter().map(|column| columns[*column]).collect();
            }
        }
        Ok((columns, left_relations | right_relations))
    }

    fn add_relation(&mut self, plan: &Arc<dyn ExecutionPlan>) -> (Vec<usize>, u64) {
        let first = self.offsets.last().copied().unwrap_or(0);
        let end = first + plan.schema().fields().len();
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.offsets.push(end);
        self.relations.push(plan.clone());
        // A group of too many relations stays as it is.
        let set = 1u64.checked_shl(self.relations.len() as u32 - 1).unwrap_or(0);
        ((first..end).collect(), set)
    }

    fn relation_of(&self, column: usize) -> usize {
        self.offsets.partition_point(|offset| *offset <= column) - 1
    }

    fn relations_read(&self, expression: &Expression) -> u64 {
        let columns = collect_columns(expression);
        columns.iter().fold(0, |set, column| set | 1 << self.relation_of(column.index()))
    }

    /// The cheapest order, where it is worth leaving the statement's.
    fn better_order(&self) -> Result<Option<Vec<usize>>> {
        if !(3..64).contains(&self.relations.len()) {
            return Ok(None);
        }
        let context = StatisticsContext::new();
        let mut rows = Vec::with_capacity(self.relations.len());
        let mut distinct = Vec::with_capacity(self.offsets.len());
        for relation in &self.relations {
            let known = context.compute(relation.as_ref(), &StatisticsArgs::new())?;
            let Some(count) = known.num_rows.get_value() else { return Ok(None) };
            rows.push((*count as f64).max(1.0));
            let values = known.column_statistics.iter().map(|column| column.distinct_count);
            distinct.extend(values.map(|values| values.get_value().copied()));
        }
        let values = |key: &Expression| {
            let known = column_below(key).and_then(|column| distinct[column]);
            let relation = self.relations_read(key).trailing_zeros() as usize;
            let most = rows.get(relation).copied().unwrap_or(1.0).min(UNKNOWN_VALUES);
            known.map_or(most, |values| values as f64).max(1.0)
        };
        let keys = self.keys.iter().map(|(a, b)| {
            (self.relations_read(a) | self.relations_read(b), values(a).max(values(b)))
        });
        let keys: Vec<(u64, f64)> = keys.collect();
        let conditions = self.conditions.iter().map(|condition| self.relations_read(condition));
        Ok(HashJoins::new(rows, &keys, conditions.collect()).better_than(&self.joins))
    }

    /// The relations joined in this order: these columns, named as in `schema`.
    fn join(
        &self,
        order: &[usize],
        columns: &[usize],
        schema: &Schema,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut order = order.iter().copied();
        let first = order.next().expect("a group has relations");
        let mut building = Building::new(self, first, columns);
        order.try_for_each(|relation| building.add(relation))?;
        let named = columns.iter().zip(schema.fields()).map(|(column, field)| {
            let at = building.place(*column);
            let name = building.plan.schema().field(at).name().clone();
            (Arc::new(Column::new(&name, at)) as Expression, field.name().clone())
        });
        let named: Vec<_> = named.collect();
        Ok(Arc::new(ProjectionExec::try_new(named, building.plan)?))
    }
}

/// The plan of a group, relation by relation.
struct Building<'a> {
    group: &'a Group,
    plan: Arc<dyn ExecutionPlan>,
    /// The group's columns that it puts out.
    columns: Vec<usize>,
    relations: u64,
    /// What has not been asked yet.
    keys: Vec<&'a (Expression, Expression)>,
    conditions: Vec<Expression>,
    /// Columns that are wanted of the whole.
    wanted: &'a [usize],
}

impl<'a> Building<'a> {
    fn new(group: &'a Group, first: usize, wanted: &'a [usize]) -> Building<'a> {
        Building {
            group,
            plan: group.relations[first].clone(),
            columns: (group.offsets[first]..group.offsets[first + 1]).collect(),
            relations: 1 << first,
            keys: group.keys.iter().collect(),
            conditions: group.conditions.clone(),
            wanted,
        }
    }

    /// Where one of the group's columns is.
    fn place(&self, column: usize) -> usize {
        let found = self.columns.iter().position(|present| *present == column);
        found.expect("columns are kept as long as they are needed")
    }

    /// Joins one more relation.
    fn add(&mut self, relation: usize) -> Result<()> {
        let (left, right) = (self.relations, 1 << relation);
        let on = self.take_keys(left, right)?;
        let conditions = self.take_conditions(left | right);
        let split = self.columns.len();
        let offsets = &self.group.offsets;
        self.columns.extend(offsets[relation]..offsets[relation + 1]);
        self.relations |= right;
        let filter = self.filter(conditions, split, relation)?;
        let inputs = (self.plan.clone(), self.group.relations[relation].clone());
        if on.is_empty() {
            self.plan = match filter {
                None => Arc::new(CrossJoinExec::new(inputs.0, inputs.1)),
                some => {
                    let inner = &JoinType::Inner;
                    Arc::new(NestedLoopJoinExec::try_new(inputs.0, inputs.1, some, inner, None)?)
                }
            };
            return Ok(());
        }
        let on = on.into_iter().map(|(a, b)| {
            let first = self.group.offsets[relation];
            let (left, right) = (inputs.0.schema(), inputs.1.schema());
            Ok((over(&a, &left, &|c| self.place(c))?, over(&b, &right, &|c| c - first)?))
        });
        let on: JoinOn = on.collect::<Result<_>>()?;
        let kept: Vec<usize> =
            (0..self.columns.len()).filter(|at| self.is_needed(self.columns[*at])).collect();
        self.plan = Arc::new(HashJoinExec::try_new(
            inputs.0,
            inputs.1,
            on,
            filter,
            &JoinType::Inner,
            Some(kept.clone()),
            PartitionMode::CollectLeft,
            NullEquality::NullEqualsNothing,
            false,
        )?);
        self.columns = kept.into_iter().map(|at| self.columns[at]).collect();
        Ok(())
    }

    /// The keys that these two sides have in common, left side first. A key of more than one relation may have both
    /// its sides on one of the two: then it is a condition.
    fn take_keys(&mut self, left: u64, right: u64) -> Result<Vec<(Expression, Expression)>> {
        let (mut taken, mut kept) = (Vec::new(), Vec::new());
        for key in std::mem::take(&mut self.keys) {
            let (a, b) = key;
            let (of_a, of_b) = (self.group.relations_read(a), self.group.relations_read(b));
            let within = |set: u64, side: u64| set != 0 && set & !side == 0;
            if within(of_a, left) && within(of_b, right) {
                taken.push((a.clone(), b.clone()));
            } else if within(of_b, left) && within(of_a, right) {
                taken.push((b.clone(), a.clone()));
            } else if within(of_a | of_b, left | right) {
                let equal = BinaryExpr::new(a.clone(), Operator::Eq, b.clone());
                self.conditions.push(Arc::new(equal));
            } else {
                kept.push(key);
            }
        }
        self.keys = kept;
        Ok(taken)
    }

    fn take_conditions(&mut self, relations: u64) -> Vec<Expression> {
        let (ready, later) = std::mem::take(&mut self.conditions)
            .into_iter()
            .partition(|condition| self.group.relations_read(condition) & !relations == 0);
        self.conditions = later;
        ready
    }

    /// Conditions over the columns of both sides, of which the left one has `split`.
    fn filter(
        &self,
        conditions: Vec<Expression>,
        split: usize,
        relation: usize,
    ) -> Result<Option<JoinFilter>> {
        let both =
            conditions.into_iter().reduce(|a, b| Arc::new(BinaryExpr::new(a, Operator::And, b)));
        let Some(both) = both else { return Ok(None) };
        let mut read: Vec<usize> = collect_columns(&both).iter().map(Column::index).collect();
        read.sort_unstable();
        read.dedup();
        let schemas = [self.plan.schema(), self.group.relations[relation].schema()];
        let found = read.iter().map(|column| {
            let at = self.place(*column);
            match at.checked_sub(split) {
                None => (ColumnIndex { index: at, side: JoinSide::Left }, schemas[0].field(at)),
                Some(at) => {
                    (ColumnIndex { index: at, side: JoinSide::Right }, schemas[1].field(at))
                }
            }
        });
        let (places, fields): (Vec<_>, Vec<_>) =
            found.map(|(place, field)| (place, field.clone())).unzip();
        let position = |column| read.iter().position(|other| *other == column).unwrap_or(0);
        let schema = Arc::new(Schema::new(fields));
        Ok(Some(JoinFilter::new(over(&both, &schema, &position)?, places, schema)))
    }

    fn is_needed(&self, column: usize) -> bool {
        let reads = |expression: &Expression| {
            collect_columns(expression).iter().any(|read| read.index() == column)
        };
        self.wanted.contains(&column)
            || self.keys.iter().any(|(a, b)| reads(a) || reads(b))
            || self.conditions.iter().any(reads)
    }
}

/// The columns that a projection keeps, if it computes nothing.
fn plain_columns(projection: &ProjectionExec) -> Option<Vec<usize>> {
    let columns = projection.expr().iter().map(|projected| projected.expr.downcast_ref::<Column>());
    columns.map(|column| column.map(Column::index)).collect()
}

/// The column whose values a key has.
fn column_below(key: &Expression) -> Option<usize> {
    match key.downcast_ref::<CastExpr>() {
        Some(cast) => column_below(cast.expr()),
        None => key.downcast_ref::<Column>().map(Column::index),
    }
}

/// The expression over columns at other places.
fn moved(expression: &Expression, place: &dyn Fn(usize) -> usize) -> Result<Expression> {
    replaced(expression, &|column| Column::new(column.name(), place(column.index())))
}

/// The expression over the columns of a schema, which may have other names: what is joined may have stood below a projection.
fn over(
    expression: &Expression,
    schema: &Schema,
    place: &dyn Fn(usize) -> usize,
) -> Result<Expression> {
    replaced(expression, &|column| {
        let at = place(column.index());
        Column::new(schema.field(at).name(), at)
    })
}

fn replaced(expression: &Expression, other: &dyn Fn(&Column) -> Column) -> Result<Expression> {
    let replaced = expression.clone().transform_up(|node| {
        Ok(match node.downcast_ref::<Column>() {
            Some(column) => Transformed::yes(Arc::new(other(column)) as Expression),
            None => Transformed::no(node),
        })
    })?;
    Ok(replaced.data)
}
