//! What a query costs on the query-at-a-time path, in nanoseconds on one core.
//!
//! That path joins by hash tables only, each over the smaller side, inner joins in an order of its own
//! ([`HashJoins`]), and reads a table whole unless its predicates fix an index's key. So the tree of the
//! [`TemplatePlan`](super::TemplatePlan) is priced in that order, not the operators that this room makes of it. What the
//! keys of one side spare in the scans of the other is not foreseen. Called when a template is planned; whether a query goes
//! that way is decided in `heartbeat`, after both predictions were corrected by what was measured.
//!
//! The constants are rounded from measurements of statements that are little else than one operator, over TPC-H's tables at
//! scale factor 1.

use super::catalog::{Catalog, PlannedTable};
use super::columns::{predicate_columns, scalar_columns};
use super::hash_join_order::{CARRY, HashJoins, NEAR, hash_join, left_deep};
use super::join_graph::JoinGraph;
use super::push_filters::width;
use super::{Aggregate, JoinKind, PlanNode, selectivity};
use crate::types::{Predicate, Result, Scalar, TableId};

/// Making a physical plan of the logical one, and starting it.
const PLAN: f64 = 100_000.0;
/// The same for each operator.
const PLAN_OPERATOR: f64 = 40_000.0;
/// Finding out that a row is visible.
const LOCATE: f64 = 0.4;
/// Copying a value of fixed width out of a chunk.
const CELL: f64 = 2.2;
/// Copying a string.
const TEXT_CELL: f64 = 6.0;
/// Comparing a value with a constant, and copying what is left.
const COMPARE: f64 = 1.5;
/// Matching a pattern.
const LIKE: f64 = 40.0;
/// Evaluating an expression.
const EVALUATE: f64 = 5.0;
/// Fetching a row that an index names.
const FETCH: f64 = 50.0;
/// Finding a key in an index.
const PROBE: f64 = 1_000.0;
/// Putting a row into its group.
const GROUP: f64 = 13.0;
/// The same where no cache holds the groups.
const FAR_GROUP: f64 = 75.0;
/// Each string among a grouping's keys.
const TEXT_KEY: f64 = 8.0;
/// Updating an aggregate.
const AGGREGATE: f64 = 1.0;
/// Comparing two rows of a sort.
const SORT_COMPARISON: f64 = 20.0;
/// Looking whether a row is among the first ones.
const TOP: f64 = 5.0;
/// Values of a column of which nothing is known.
const UNKNOWN_VALUES: f64 = 200.0;

/// Nanoseconds of a tree, and of handing over its rows.
pub fn nanoseconds(root: &PlanNode, catalog: &Catalog) -> Result<f64> {
    let mut pricing = Pricing { catalog, cost: PLAN };
    let columns = width(root, catalog)?;
    let rows = pricing.node(root, &vec![true; columns])?;
    Ok(pricing.cost + rows * columns as f64 * CARRY)
}

struct Pricing<'a> {
    catalog: &'a Catalog,
    cost: f64,
}

impl Pricing<'_> {
    /// Adds what a tree costs whose consumer wants these of its columns; the rows that it puts out.
    fn node(&mut self, node: &PlanNode, wanted: &[bool]) -> Result<f64> {
        self.cost += PLAN_OPERATOR;
        match node {
            PlanNode::Scan { table, predicates } => self.scan(*table, predicates, wanted),
            PlanNode::Values { rows, .. } => Ok(rows.len() as f64),
            PlanNode::Filter { input, predicates } => {
                let rows = self.node(input, &reading(wanted, predicates))?;
                self.cost += rows * tests(predicates);
                Ok(rows * (1.0f64 / 3.0).powi(predicates.len() as i32))
            }
            PlanNode::Project { input, expressions, .. } => {
                self.project(input, expressions, wanted)
            }
            PlanNode::Join { kind: JoinKind::Inner, .. } => self.inner_joins(node, wanted),
            PlanNode::Join { kind, left, right, keys, residual } => {
                self.join(*kind, [left, right], keys, residual, wanted)
            }
            PlanNode::Aggregate { input, keys, aggregates } => {
                self.aggregate(input, keys, aggregates)
            }
            PlanNode::Sort { input, keys, fetch, .. } => {
                let mut below = wanted.to_vec();
                keys.iter().for_each(|key| below[key.column] = true);
                let rows = self.node(input, &below)?;
                self.cost += match fetch {
                    Some(_) => rows * TOP,
                    None => rows * rows.max(2.0).log2() * SORT_COMPARISON,
                };
                Ok(rows.min(most(fetch.as_ref())))
            }
            PlanNode::Limit { input, fetch, .. } => {
                Ok(self.node(input, wanted)?.min(most(fetch.as_ref())))
            }
            PlanNode::Distinct { input } => {
                let columns = width(input, self.catalog)?;
                let rows = self.node(input, &vec![true; columns])?;
                let all: Vec<usize> = (0..columns).collect();
                self.group(input, &all, rows)
            }
            PlanNode::Union { inputs } => {
                inputs.iter().map(|input| self.node(input, wanted)).sum::<Result<f64>>()
            }
        }
    }

    fn scan(&mut self, table: TableId, predicates: &[Predicate], wanted: &[bool]) -> Result<f64> {
        let planned = self.catalog.table(table)?;
        let rows = planned.rows() * selectivity::alone(planned, predicates);
        let cells = |read: &[bool]| -> f64 {
            let columns = planned.schema.columns.iter().zip(read).filter(|(_, read)| **read);
            let cell = |text: bool| if text { TEXT_CELL } else { CELL };
            columns.map(|(column, _)| cell(column.data_type.is_string())).sum()
        };
        let asked = reading(&vec![false; wanted.len()], predicates);
        let looked_at = match probed(planned, predicates) {
            Some(rows) => {
                self.cost += PROBE + rows * FETCH;
                rows
            }
            None => planned.rows(),
        };
        let rows = rows.min(looked_at);
        self.cost +=
            looked_at * (LOCATE + cells(&asked) + tests(predicates)) + rows * cells(wanted);
        Ok(rows)
    }

    fn project(
        &mut self,
        input: &PlanNode,
        expressions: &[Scalar],
        wanted: &[bool],
    ) -> Result<f64> {
        let mut below = vec![false; width(input, self.catalog)?];
        let kept = || expressions.iter().zip(wanted).filter(|(_, wanted)| **wanted);
        kept().for_each(|(scalar, _)| scalar_columns(scalar, &mut |c| below[c] = true));
        let computed = kept().filter(|(scalar, _)| !matches!(scalar, Scalar::Column(_))).count();
        let rows = self.node(input, &below)?;
        self.cost += rows * computed as f64 * EVALUATE;
        Ok(rows)
    }

    fn join(
        &mut self,
        kind: JoinKind,
        [left, right]: [&PlanNode; 2],
        keys: &[(usize, usize)],
        residual: &[Predicate],
        wanted: &[bool],
    ) -> Result<f64> {
        let split = width(left, self.catalog)?;
        let mut below = wanted.to_vec();
        below.resize(split + width(right, self.catalog)?, false);
        let mut below = reading(&below, residual);
        let carried = below.iter().filter(|read| **read).count() as f64;
        keys.iter().for_each(|(l, r)| (below[*l], below[split + r]) = (true, true));
        let (a, b) = (self.node(left, &below[..split])?, self.node(right, &below[split..])?);
        let values = keys.iter().map(|(l, r)| self.values([(left, *l, a), (right, *r, b)]));
        let values: Vec<(u64, f64)> = values.map(|values| (3, values)).collect();
        let pairs = HashJoins::new(vec![a, b], &values, Vec::new()).rows(3);
        self.cost += match keys.is_empty() {
            true => pairs * CARRY * carried,
            false => hash_join(a, b, pairs, carried),
        };
        self.cost += pairs * tests(residual);
        let kept = pairs * (1.0f64 / 3.0).powi(residual.len() as i32);
        Ok(match kind {
            JoinKind::Inner => kept,
            JoinKind::Left => kept.max(a),
            JoinKind::Right => kept.max(b),
            JoinKind::Full => kept.max(a + b),
            JoinKind::Semi => kept.min(a),
            JoinKind::Anti => (a - kept).max(a / 10.0),
        })
    }

    /// Inner joins that follow each other, in the order in which they will be.
    fn inner_joins(&mut self, node: &PlanNode, wanted: &[bool]) -> Result<f64> {
        let graph = JoinGraph::of(node.clone(), self.catalog)?;
        let carried = reading(wanted, &graph.conditions);
        let mut read = carried.clone();
        graph.edges.iter().for_each(|edge| (read[edge.a], read[edge.b]) = (true, true));
        let mut rows = Vec::with_capacity(graph.relations.len());
        for relation in &graph.relations {
            let columns = relation.offset..relation.offset + relation.width;
            rows.push(self.node(&relation.node, &read[columns])?);
        }
        let joins = self.hash_joins(&graph, rows);
        let mut statement = Vec::new();
        let all = sides(node, &mut 0, &mut statement);
        self.cost += PLAN_OPERATOR * (statement.len() - 1) as f64;
        let order = joins.better_than(&statement).map(|order| left_deep(&order));
        for (left, right) in order.unwrap_or(statement) {
            let joined = |column: &usize| (left | right) >> graph.relation_of(*column) & 1 == 1;
            let columns = (0..carried.len()).filter(|column| carried[*column]).filter(joined);
            self.cost += joins.cost(left, right, columns.count() as f64);
            let asked: f64 = joins.asked(left, right).map(|at| test(&graph.conditions[at])).sum();
            self.cost += joins.rows(left | right) * asked;
        }
        Ok(joins.rows(all))
    }

    fn hash_joins(&self, graph: &JoinGraph, rows: Vec<f64>) -> HashJoins {
        let side = |column: usize| {
            let relation = graph.relation_of(column);
            let tree = &graph.relations[relation];
            (relation, (&tree.node, column - tree.offset, rows[relation]))
        };
        let keys = graph.edges.iter().map(|edge| {
            let ((a, left), (b, right)) = (side(edge.a), side(edge.b));
            (1 << a | 1 << b, self.values([left, right]))
        });
        let keys: Vec<(u64, f64)> = keys.collect();
        let conditions = graph.conditions.iter().map(|condition| graph.relations_read(condition));
        HashJoins::new(rows, &keys, conditions.collect())
    }

    /// How many values two trees' columns have that must be equal, on the side that has more; of the rows of each.
    fn values(&self, sides: [(&PlanNode, usize, f64); 2]) -> f64 {
        let values = sides.into_iter().map(|(node, column, rows)| {
            let origin = self.origin(node, column);
            origin.map_or(rows.min(UNKNOWN_VALUES), |(table, column)| table.distinct(column))
        });
        values.fold(1.0, f64::max)
    }

    fn aggregate(
        &mut self,
        input: &PlanNode,
        keys: &[usize],
        aggregates: &[Aggregate],
    ) -> Result<f64> {
        let mut below = vec![false; width(input, self.catalog)?];
        keys.iter().for_each(|key| below[*key] = true);
        let mut work = 0.0;
        for aggregate in aggregates {
            let argument = aggregate.argument.iter();
            argument.for_each(|scalar| scalar_columns(scalar, &mut |c| below[c] = true));
            let filter = aggregate.filter.iter();
            filter.for_each(|filter| filter.columns().iter().for_each(|c| below[*c] = true));
            let is_computed = matches!(aggregate.argument, Some(Scalar::Expression(_)));
            work += AGGREGATE + if is_computed { EVALUATE } else { 0.0 };
            work += if aggregate.distinct { FAR_GROUP } else { 0.0 };
        }
        let rows = self.node(input, &below)?;
        self.cost += rows * work;
        match keys.is_empty() {
            true => Ok(1.0),
            false => self.group(input, keys, rows),
        }
    }

    /// Puts rows into groups; how many there are.
    fn group(&mut self, input: &PlanNode, keys: &[usize], rows: f64) -> Result<f64> {
        let (mut groups, mut texts) = (1.0, 0.0);
        for key in keys {
            let origin = self.origin(input, *key);
            groups *= origin.map_or(rows, |(table, column)| table.distinct(column));
            let is_text = |(table, column): (&PlannedTable, usize)| {
                table.schema.columns[column].data_type.is_string()
            };
            texts += f64::from(u8::from(origin.is_some_and(is_text)));
        }
        let groups = groups.min(rows);
        let far = if groups > NEAR { FAR_GROUP } else { GROUP };
        self.cost += rows * (far + texts * TEXT_KEY);
        Ok(groups)
    }

    /// The table's column that a column of a tree comes from.
    fn origin(&self, node: &PlanNode, column: usize) -> Option<(&PlannedTable, usize)> {
        match node {
            PlanNode::Scan { table, .. } => Some((self.catalog.table(*table).ok()?, column)),
            PlanNode::Filter { input, .. }
            | PlanNode::Sort { input, .. }
            | PlanNode::Limit { input, .. }
            | PlanNode::Distinct { input } => self.origin(input, column),
            PlanNode::Project { input, expressions, .. } => match expressions.get(column)? {
                Scalar::Column(c) => self.origin(input, *c),
                _ => None,
            },
            PlanNode::Join { left, right, .. } => {
                let split = width(left, self.catalog).ok()?;
                match column.checked_sub(split) {
                    None => self.origin(left, column),
                    Some(column) => self.origin(right, column),
                }
            }
            PlanNode::Aggregate { input, keys, .. } => self.origin(input, *keys.get(column)?),
            PlanNode::Values { .. } | PlanNode::Union { .. } => None,
        }
    }
}

/// The statement's inner joins, inputs first, each by its sides; the relations of all, numbered as in [`JoinGraph`].
fn sides(node: &PlanNode, next: &mut usize, joins: &mut Vec<(u64, u64)>) -> u64 {
    let PlanNode::Join { kind: JoinKind::Inner, left, right, .. } = node else {
        *next += 1;
        return 1 << (*next - 1);
    };
    let left = sides(left, next, joins);
    let right = sides(right, next, joins);
    joins.push((left, right));
    left | right
}

/// What must be read so that these columns are there and the predicates can be tested.
fn reading(wanted: &[bool], predicates: &[Predicate]) -> Vec<bool> {
    let mut read = wanted.to_vec();
    for predicate in predicates {
        predicate_columns(predicate, &mut |column| read[column] = true);
    }
    read
}

/// Nanoseconds to test a row.
fn tests(predicates: &[Predicate]) -> f64 {
    predicates.iter().map(test).sum()
}

fn test(predicate: &Predicate) -> f64 {
    match predicate {
        Predicate::Compare { value: Scalar::Expression(_), .. } => COMPARE + EVALUATE,
        Predicate::Compare { .. } | Predicate::IsNull { .. } => COMPARE,
        Predicate::In { values, .. } => COMPARE * values.len().min(4) as f64,
        Predicate::Like { .. } => LIKE,
        Predicate::Or(arms) => arms.iter().map(|arm| tests(arm)).sum(),
        Predicate::Expression(_) => EVALUATE,
    }
}

/// Rows that are fetched where the predicates fix the whole key of an index.
fn probed(table: &PlannedTable, predicates: &[Predicate]) -> Option<f64> {
    let index = super::access::best_index(table, predicates)?;
    (index.whole && index.equal.len() == 1).then_some(index.rows)
}

/// Rows that LIMIT leaves; a parameter is taken for a page.
fn most(fetch: Option<&Scalar>) -> f64 {
    match fetch {
        None => f64::INFINITY,
        Some(fetch) => super::compile::literal_count(fetch).map_or(100.0, |count| count as f64),
    }
}
