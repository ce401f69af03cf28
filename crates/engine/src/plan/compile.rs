//! From a template's tree to physical operators.
//!
//! Rules in order: parameter-only expressions are lifted, filters pushed down, semi joins turned, then the tree
//! is built bottom-up. Inner joins get their order and methods from `join_order`; joins of other kinds keep their
//! place. Columns that a rule moves are tracked in [`Piece::columns`], so projections that only pick columns
//! vanish: rows are read late. At last equal sub-plans become one.

use super::access::{self, Access};
use super::catalog::Catalog;
use super::columns::{move_predicates, move_scalar};
use super::compiled::{CompiledSubquery, CompiledTemplate, Estimate, Operation, Operator, Weight};
use super::dependencies::Dependencies;
use super::joined_subqueries;
use super::known_parameters::KnownParameters;
use super::lift::Lift;
use super::push_filters::push_filters;
use super::reuse::reuse_equal;
use super::selectivity::{self, ASSUMED_BATCH};
use super::semi_joins::turn_semi_joins;
use super::{Aggregate, AggregateFunction, PlanNode, SortKey, TemplatePlan, cost, query_at_a_time};
use crate::types::{
    DataType, Error, IndexKind, NodeId, Predicate, Result, Scalar, SqlState, TableId, Value,
};

/// One activation of a light template takes less than this: about a hundred index probes. A heavier one would
/// delay its neighbours in the light lane.
const LIGHT_COST: f64 = 30_000.0;

/// Nodes of a template's tree at most: planning recurses.
const DEPTH_LIMIT: usize = 200;

/// For whom a plan is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// One activation, by index probes.
    Probes,
    /// A batch.
    Batch,
}

/// A subtree that has been built.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub operator: Operator,
    /// Where the tree's output column `i` is in the operator's output.
    pub columns: Vec<usize>,
    /// In the operator's output.
    pub dependencies: Dependencies,
}

/// Plans a template: light if index probes with a small fan-out answer it. Its subqueries are joined where something of
/// them runs once then.
pub fn compile(plan: &TemplatePlan, catalog: &Catalog) -> Result<CompiledTemplate> {
    let (mut best, mut own) = (compile_as_it_is(plan, catalog)?, plan.clone());
    let (of_subqueries, query_at_a_time) = (best.of_subqueries, best.query_at_a_time);
    for subquery in &plan.scalar_subqueries {
        let joined = joined_subqueries::join(&own, subquery.parameter, catalog)?;
        // A tree that has become too deep to plan is left as it was.
        let compiled = joined.as_ref().and_then(|plan| compile_as_it_is(plan, catalog).ok());
        if let (Some(joined), Some(compiled)) = (joined, compiled)
            && joined_subqueries::is_better(&compiled, &best, subquery.parameter)
        {
            (best, own) = (compiled, joined);
        }
    }
    Ok(CompiledTemplate { of_subqueries, query_at_a_time, ..best })
}

fn compile_as_it_is(plan: &TemplatePlan, catalog: &Catalog) -> Result<CompiledTemplate> {
    let mut lift = Lift::new(plan);
    let below: Vec<PlanNode> =
        plan.scalar_subqueries.iter().map(|subquery| lift.node(&subquery.root)).collect();
    let root = lift.node(&plan.root);
    let given = KnownParameters::new(&plan.parameters, &plan.peeked);
    let known = given.clone().derive(&lift.derived);
    let mut subqueries = Vec::new();
    for (subquery, node) in plan.scalar_subqueries.iter().zip(&below) {
        let (root, weight) = tree(node, catalog, &known)?;
        subqueries.push(CompiledSubquery { parameter: subquery.parameter, root, weight });
    }
    let (root, weight) = tree(&root, catalog, &known.with_computed(lift.computed()))?;
    let heavy = weight == Weight::Heavy || subqueries.iter().any(|s| s.weight == Weight::Heavy);
    let derived = lift.derived.iter().map(|d| d.expression.data_type());
    Ok(CompiledTemplate {
        root,
        parameter_types: plan.parameters.iter().copied().chain(derived).collect(),
        derived: lift.derived,
        subqueries,
        weight: if heavy { Weight::Heavy } else { Weight::Light },
        parameters: plan.parameters.len(),
        of_subqueries: plan.scalar_subqueries.len(),
        query_at_a_time: query_at_a_time(plan, &catalog.with_parameters(given))?,
    })
}

/// Nanoseconds of one activation on the query-at-a-time path.
fn query_at_a_time(plan: &TemplatePlan, catalog: &Catalog) -> Result<f64> {
    let subqueries = plan.scalar_subqueries.iter().map(|subquery| &subquery.root);
    let trees = subqueries.chain([&plan.root]);
    trees.map(|root| query_at_a_time::nanoseconds(root, catalog)).sum()
}

fn tree(node: &PlanNode, catalog: &Catalog, known: &KnownParameters) -> Result<(Operator, Weight)> {
    check_depth(node, 0)?;
    let node = turn_semi_joins(push_filters(node.clone(), catalog)?, catalog)?;
    let node = push_filters(node, catalog)?;
    // Light is what every activation finds little by: a range that is short this time may be long the next time.
    let any = catalog.with_parameters(known.without_values());
    let light = Compiler { catalog: &any, aim: Aim::Probes }.compile(node.clone())?;
    let light = light.narrow().operator;
    if light.only_probes() && light.total_cost() <= LIGHT_COST {
        return Ok((reuse_equal(light, catalog), Weight::Light));
    }
    let own = catalog.with_parameters(known.clone());
    let heavy = Compiler { catalog: &own, aim: Aim::Batch }.compile(node)?.narrow().operator;
    Ok((reuse_equal(heavy, catalog), Weight::Heavy))
}

fn check_depth(node: &PlanNode, depth: usize) -> Result<()> {
    if depth > DEPTH_LIMIT {
        return Err(Error::new(SqlState::StatementTooComplex, "statement is nested too deeply"));
    }
    let inputs: Vec<&PlanNode> = match node {
        PlanNode::Scan { .. } | PlanNode::Values { .. } => Vec::new(),
        PlanNode::Filter { input, .. }
        | PlanNode::Project { input, .. }
        | PlanNode::Aggregate { input, .. }
        | PlanNode::Sort { input, .. }
        | PlanNode::Limit { input, .. }
        | PlanNode::Distinct { input } => vec![input],
        PlanNode::Join { left, right, .. } => vec![left, right],
        PlanNode::Union { inputs } => inputs.iter().collect(),
    };
    inputs.into_iter().try_for_each(|input| check_depth(input, depth + 1))
}

pub(super) struct Compiler<'a> {
    pub catalog: &'a Catalog,
    pub aim: Aim,
}

impl Compiler<'_> {
    /// Rows that an input brings to a shared operator, or to one activation's.
    pub(super) fn rows(&self, estimate: &Estimate) -> f64 {
        match self.aim {
            Aim::Probes => estimate.rows,
            Aim::Batch => estimate.union(ASSUMED_BATCH),
        }
    }

    pub(super) fn compile(&self, node: PlanNode) -> Result<Piece> {
        match node {
            PlanNode::Scan { table, predicates } => self.scan(table, predicates),
            PlanNode::Values { rows, types } => Ok(values(rows, types)),
            PlanNode::Filter { input, predicates } => self.filter(*input, predicates),
            PlanNode::Project { input, expressions, types } => {
                Ok(project(self.compile(*input)?, expressions, types))
            }
            PlanNode::Join { kind, left, right, keys, residual } => {
                self.join(kind, *left, *right, keys, residual)
            }
            PlanNode::Aggregate { input, keys, aggregates } => {
                self.aggregate(*input, &keys, aggregates)
            }
            PlanNode::Sort { input, keys, skip, fetch } => self.sort(*input, &keys, skip, fetch),
            PlanNode::Limit { input, skip, fetch } => {
                let piece = self.compile(*input)?;
                let estimate = cut(piece.operator.estimate, fetch.as_ref());
                Ok(piece.under(Operation::Limit { skip, fetch }, estimate))
            }
            PlanNode::Distinct { input } => {
                let mut piece = self.compile(*input)?.narrow();
                let all = (0..piece.columns.len()).collect::<Vec<_>>();
                piece.dependencies.add(all.clone(), all);
                let estimate = piece.operator.estimate;
                Ok(piece.under(Operation::Distinct, estimate))
            }
            PlanNode::Union { inputs } => self.union(inputs),
        }
    }

    pub(super) fn scan(&self, table: TableId, predicates: Vec<Predicate>) -> Result<Piece> {
        let planned = self.catalog.table(table)?;
        let all = planned.rows();
        let access = access::choose(planned, &predicates);
        let (looked_at, rows) = access.reached(planned, &predicates);
        let limit = all * selectivity::union(planned, &predicates, f64::INFINITY);
        let types: Vec<DataType> = planned.schema.columns.iter().map(|c| c.data_type).collect();
        let mut dependencies = Dependencies::default();
        for key in planned.unique_keys() {
            let key = key.columns.iter().map(|c| c.index()).collect();
            dependencies.add(key, (0..types.len()).collect());
        }
        let operation = Operation::Scan { table, predicates, access };
        let mut estimate = Estimate { rows, limit: limit.max(rows), cost: 0.0 };
        estimate.cost = cost::operator(&operation, looked_at, rows, looked_at);
        let columns = (0..types.len()).collect();
        let node = NodeId::default();
        let operator = Operator { operation, inputs: vec![], types, estimate, looked_at, node };
        Ok(Piece { operator, columns, dependencies })
    }

    fn filter(&self, input: PlanNode, predicates: Vec<Predicate>) -> Result<Piece> {
        let piece = self.compile(input)?;
        let share = (1.0f64 / 3.0).powi(predicates.len() as i32);
        let Estimate { rows, limit, .. } = piece.operator.estimate;
        let estimate = Estimate { rows: rows * share, limit: limit * share, cost: 0.0 };
        let predicates = move_predicates(&predicates, &|c| piece.columns[c]);
        Ok(piece.under(Operation::Filter { predicates }, estimate))
    }

    fn aggregate(
        &self,
        input: PlanNode,
        keys: &[usize],
        aggregates: Vec<Aggregate>,
    ) -> Result<Piece> {
        let piece = match extreme(&input, keys, &aggregates, self.catalog)? {
            Some((column, descending)) => self.first(input, column, descending, 1)?,
            None => self.compile(input)?,
        };
        let to = |c: usize| piece.columns[c];
        let keys: Vec<usize> = keys.iter().map(|c| to(*c)).collect();
        let aggregates: Vec<Aggregate> =
            aggregates.into_iter().map(|a| moved_aggregate(a, &to)).collect();
        let determinants = match piece.dependencies.is_empty() {
            true => Vec::new(),
            false => piece.dependencies.reduce(&keys).0,
        };
        let Estimate { rows, limit, .. } = piece.operator.estimate;
        let groups = |rows: f64| if keys.is_empty() { 1.0 } else { (rows / 2.0).max(1.0) };
        let estimate = Estimate { rows: groups(rows), limit: groups(limit), cost: 0.0 };
        let input_types = &piece.operator.types;
        let types: Vec<DataType> = keys.iter().map(|k| input_types[*k]).collect();
        let types: Vec<DataType> =
            types.into_iter().chain(aggregates.iter().map(|a| a.data_type)).collect();
        let mut dependencies =
            piece.dependencies.project(&|c| keys.iter().position(|key| *key == c));
        dependencies.add((0..keys.len()).collect(), (0..types.len()).collect());
        let columns = (0..types.len()).collect();
        let operation = Operation::Aggregate { keys, determinants, aggregates };
        let mut above = piece.under(operation, estimate);
        above.operator.types = types;
        Ok(Piece { columns, dependencies, ..above })
    }

    fn sort(
        &self,
        input: PlanNode,
        keys: &[SortKey],
        skip: Option<Scalar>,
        fetch: Option<Scalar>,
    ) -> Result<Piece> {
        let piece = match self.ordered(&input, keys, skip.as_ref(), fetch.as_ref())? {
            Some((column, descending, rows)) => self.first(input, column, descending, rows)?,
            None => self.compile(input)?,
        };
        let moved = |key: &SortKey| SortKey { column: piece.columns[key.column], ..*key };
        let keys = keys.iter().map(moved).collect();
        let estimate = cut(piece.operator.estimate, fetch.as_ref());
        Ok(piece.under(Operation::Sort { keys, skip, fetch }, estimate))
    }

    /// Whether an ordered index gives the first rows of a sort over a table: (column, descending, rows).
    fn ordered(
        &self,
        input: &PlanNode,
        keys: &[SortKey],
        skip: Option<&Scalar>,
        fetch: Option<&Scalar>,
    ) -> Result<Option<(usize, bool, usize)>> {
        let (PlanNode::Scan { table, .. }, [key]) = (input, keys) else { return Ok(None) };
        let Some(rows) = rows_wanted(skip, fetch) else { return Ok(None) };
        let planned = self.catalog.table(*table)?;
        let column = &planned.schema.columns[key.column];
        // Ties and NULLs would need more rows than the index walk gives: a unique, non-NULL key has neither.
        let exact = column.not_null && planned.is_unique(&[key.column]);
        Ok(exact.then_some((key.column, key.descending, rows)))
    }

    /// A scan that walks an ordered index on `column` from one end and stops after `rows` rows.
    fn first(
        &self,
        input: PlanNode,
        column: usize,
        descending: bool,
        rows: usize,
    ) -> Result<Piece> {
        let PlanNode::Scan { table, predicates } = &input else { return self.compile(input) };
        let planned = self.catalog.table(*table)?;
        let leads = |i: &&crate::types::IndexSchema| {
            i.kind == IndexKind::Ordered && i.columns.first().is_some_and(|c| c.index() == column)
        };
        let Some(index) = planned.schema.indexes.iter().find(leads) else {
            return self.compile(input);
        };
        if !predicates.is_empty() {
            return self.compile(input);
        }
        let mut piece = self.scan(*table, Vec::new())?;
        let walk = access::IndexAccess {
            index: index.id,
            name: index.name.clone(),
            equal: Vec::new(),
            whole: false,
            unique: false,
            lower: None,
            upper: None,
            first: Some((descending, rows)),
            covered: Vec::new(),
            rows: rows as f64,
        };
        let (table, access) = (*table, Access::Index(walk));
        piece.operator.operation = Operation::Scan { table, predicates: Vec::new(), access };
        piece.operator.looked_at = rows as f64;
        let rows = rows as f64;
        let cost = cost::operator(&piece.operator.operation, rows, rows, rows);
        piece.operator.estimate = Estimate { rows, limit: rows, cost };
        Ok(piece)
    }

    fn union(&self, inputs: Vec<PlanNode>) -> Result<Piece> {
        let pieces: Vec<Piece> =
            inputs.into_iter().map(|i| Ok(self.compile(i)?.narrow())).collect::<Result<_>>()?;
        let sum = |f: &dyn Fn(&Estimate) -> f64| {
            pieces.iter().map(|piece| f(&piece.operator.estimate)).sum::<f64>()
        };
        let estimate = Estimate { rows: sum(&|e| e.rows), limit: sum(&|e| e.limit), cost: 0.0 };
        let first = pieces.first();
        let types = first.map_or(Vec::new(), |piece| piece.operator.types.clone());
        let columns = (0..types.len()).collect();
        let inputs = pieces.into_iter().map(|piece| piece.operator).collect();
        let operator = Operator {
            operation: Operation::Union,
            inputs,
            types,
            estimate,
            looked_at: 0.0,
            node: NodeId::default(),
        };
        Ok(Piece { operator, columns, dependencies: Dependencies::default() })
    }
}

impl Piece {
    /// Puts an operator that keeps the layout on top. `estimate.cost` is filled in.
    pub(super) fn under(mut self, operation: Operation, mut estimate: Estimate) -> Piece {
        estimate.cost = cost::operator(&operation, self.operator.estimate.rows, estimate.rows, 0.0);
        self.operator = Operator {
            operation,
            types: self.operator.types.clone(),
            estimate,
            looked_at: 0.0,
            node: NodeId::default(),
            inputs: vec![self.operator],
        };
        self
    }

    /// Makes the operator's columns those of the tree.
    pub(super) fn narrow(self) -> Piece {
        if self.columns.iter().copied().eq(0..self.operator.types.len()) {
            return self;
        }
        let types: Vec<DataType> = self.columns.iter().map(|c| self.operator.types[*c]).collect();
        let expressions: Vec<Scalar> = self.columns.iter().map(|c| Scalar::Column(*c)).collect();
        let positions = self.columns.clone();
        let dependencies = self.dependencies.project(&|c| positions.iter().position(|p| *p == c));
        let estimate = self.operator.estimate;
        let operation = Operation::Project { expressions, types: types.clone() };
        let mut above = self.under(operation, estimate);
        above.columns = (0..types.len()).collect();
        above.operator.types = types;
        Piece { dependencies, ..above }
    }
}

fn values(rows: Vec<Vec<Scalar>>, types: Vec<DataType>) -> Piece {
    let count = rows.len() as f64;
    let operator = Operator {
        operation: Operation::Values { rows, types: types.clone() },
        inputs: Vec::new(),
        estimate: Estimate { rows: count, limit: count, cost: cost::START },
        looked_at: count,
        node: NodeId::default(),
        types,
    };
    let columns = (0..operator.types.len()).collect();
    Piece { operator, columns, dependencies: Dependencies::default() }
}

/// Picks vanish into the column map; anything computed makes an operator.
fn project(piece: Piece, expressions: Vec<Scalar>, types: Vec<DataType>) -> Piece {
    let to = |c: usize| piece.columns[c];
    let expressions: Vec<Scalar> = expressions.iter().map(|s| move_scalar(s, &to)).collect();
    let picks: Option<Vec<usize>> = expressions.iter().map(plain).collect();
    if let Some(columns) = picks {
        return Piece { columns, ..piece };
    }
    let place = |c: usize| expressions.iter().position(|s| plain(s) == Some(c));
    let dependencies = piece.dependencies.project(&place);
    let estimate = piece.operator.estimate;
    let operation = Operation::Project { expressions, types: types.clone() };
    let mut above = piece.under(operation, estimate);
    above.columns = (0..types.len()).collect();
    above.operator.types = types;
    Piece { dependencies, ..above }
}

fn plain(scalar: &Scalar) -> Option<usize> {
    match scalar {
        Scalar::Column(column) => Some(*column),
        _ => None,
    }
}

fn moved_aggregate(aggregate: Aggregate, to: &dyn Fn(usize) -> usize) -> Aggregate {
    Aggregate {
        argument: aggregate.argument.as_ref().map(|s| move_scalar(s, to)),
        filter: aggregate.filter.as_ref().map(|f| super::columns::move_expression(f, to)),
        ..aggregate
    }
}

/// MIN or MAX of a non-NULL column over a whole table: (column, from the upper end).
fn extreme(
    input: &PlanNode,
    keys: &[usize],
    aggregates: &[Aggregate],
    catalog: &Catalog,
) -> Result<Option<(usize, bool)>> {
    let (PlanNode::Scan { table, predicates }, [only]) = (input, aggregates) else {
        return Ok(None);
    };
    let descending = match only.function {
        AggregateFunction::Max => true,
        AggregateFunction::Min => false,
        _ => return Ok(None),
    };
    let Some(Scalar::Column(column)) = only.argument else { return Ok(None) };
    let not_null = catalog.table(*table)?.schema.columns[column].not_null;
    let whole = keys.is_empty() && predicates.is_empty() && only.filter.is_none();
    Ok((whole && not_null).then_some((column, descending)))
}

/// OFFSET + LIMIT where both are literals.
fn rows_wanted(skip: Option<&Scalar>, fetch: Option<&Scalar>) -> Option<usize> {
    let fetch = literal_count(fetch?)?;
    let skip = skip.map_or(Some(0), literal_count)?;
    fetch.checked_add(skip)
}

pub(super) fn literal_count(scalar: &Scalar) -> Option<usize> {
    match scalar {
        Scalar::Literal(Value::Integer(n)) => usize::try_from(*n).ok(),
        Scalar::Literal(Value::BigInt(n)) => usize::try_from(*n).ok(),
        Scalar::Literal(Value::SmallInt(n)) => usize::try_from(*n).ok(),
        _ => None,
    }
}

/// Rows kept by LIMIT; a parameter is taken for a page.
fn cut(estimate: Estimate, fetch: Option<&Scalar>) -> Estimate {
    const PAGE: f64 = 100.0;
    let Some(fetch) = fetch else { return estimate };
    let most = literal_count(fetch).map_or(PAGE, |n| n as f64);
    // Each activation's first rows are its own: the union is not bounded by LIMIT.
    Estimate { rows: estimate.rows.min(most), ..estimate }
}
