//! Joins: a graph of inner joins is ordered and built left-deep; other kinds are built where they stand.

use super::catalog::PlannedTable;
use super::columns::{move_predicate, move_predicates};
use super::compile::{Aim, Compiler, Piece};
use super::compiled::{Estimate, Operation, Operator};
use super::dependencies::Dependencies;
use super::join_graph::JoinGraph;
use super::join_order::{self, IndexMatch, JoinMethod, JoinStep, Joinable};
use super::selectivity::{self, ASSUMED_BATCH};
use super::{JoinKind, PlanNode, cost};
use crate::types::{Comparison, IndexKind, Predicate, Result, Scalar};

impl Compiler<'_> {
    pub(super) fn join(
        &self,
        kind: JoinKind,
        left: PlanNode,
        right: PlanNode,
        keys: Vec<(usize, usize)>,
        residual: Vec<Predicate>,
    ) -> Result<Piece> {
        match kind {
            JoinKind::Inner => {
                let (left, right) = (Box::new(left), Box::new(right));
                self.inner(PlanNode::Join { kind, left, right, keys, residual })
            }
            JoinKind::Right => self.right_join(left, right, keys, residual),
            _ => self.outer_join(kind, left, right, keys, residual),
        }
    }

    /// A RIGHT JOIN B is B LEFT JOIN A with the columns put back.
    fn right_join(
        &self,
        left: PlanNode,
        right: PlanNode,
        keys: Vec<(usize, usize)>,
        residual: Vec<Predicate>,
    ) -> Result<Piece> {
        let split = super::push_filters::width(&left, self.catalog)?;
        let other = super::push_filters::width(&right, self.catalog)?;
        let keys = keys.into_iter().map(|(l, r)| (r, l)).collect();
        let swap = |c: usize| if c < split { c + other } else { c - split };
        let residual = move_predicates(&residual, &swap);
        let mut piece = self.outer_join(JoinKind::Left, right, left, keys, residual)?;
        piece.columns = (0..split + other).map(|c| piece.columns[swap(c)]).collect();
        Ok(piece)
    }

    fn outer_join(
        &self,
        kind: JoinKind,
        left: PlanNode,
        right: PlanNode,
        keys: Vec<(usize, usize)>,
        residual: Vec<Predicate>,
    ) -> Result<Piece> {
        let outer = self.compile(left)?;
        let split = outer.columns.len();
        if let Some(piece) = self.outer_index_join(kind, &outer, &right, &keys, &residual)? {
            return Ok(piece);
        }
        let inner = self.compile(right)?;
        let keys: Vec<(usize, usize)> =
            keys.iter().map(|(l, r)| (outer.columns[*l], inner.columns[*r])).collect();
        let width = outer.operator.types.len();
        let place = |c: usize| match c < split {
            true => outer.columns[c],
            false => width + inner.columns[c - split],
        };
        let residual = move_predicates(&residual, &place);
        let columns = match kind {
            JoinKind::Semi | JoinKind::Anti => outer.columns.clone(),
            _ => (0..split + inner.columns.len()).map(place).collect(),
        };
        let (a, b) = (outer.operator.estimate, inner.operator.estimate);
        let rows = |a: f64, b: f64| if keys.is_empty() { a * b.max(1.0) } else { a };
        let estimate =
            Estimate { rows: rows(a.rows, b.rows), limit: rows(a.limit, b.limit), cost: 0.0 };
        Ok(hash_join(kind, outer, inner, keys, residual, columns, estimate))
    }

    /// LEFT, SEMI and ANTI joins whose right side is a table with an index on the keys, where probing is cheaper
    /// than a hash table.
    fn outer_index_join(
        &self,
        kind: JoinKind,
        outer: &Piece,
        right: &PlanNode,
        keys: &[(usize, usize)],
        residual: &[Predicate],
    ) -> Result<Option<Piece>> {
        let PlanNode::Scan { table, predicates } = right else { return Ok(None) };
        if !matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti) {
            return Ok(None);
        }
        let planned = self.catalog.table(*table)?;
        let Some(found) = key_index(planned, keys) else { return Ok(None) };
        let inner = self.scan(*table, predicates.clone())?;
        let rows = self.rows(&outer.operator.estimate);
        let probing = rows * (cost::PROBE + found.fan_out * cost::FETCH);
        let hashing = planned.rows() * cost::SCAN_ROW
            + self.rows(&inner.operator.estimate) * cost::HASH_BUILD
            + rows * cost::HASH_PROBE;
        if self.aim == Aim::Batch && probing > hashing {
            return Ok(None);
        }
        let split = outer.columns.len();
        let width = outer.operator.types.len();
        let place = |c: usize| if c < split { outer.columns[c] } else { c - split + width };
        // Keys that the index does not cover are compared on each pair.
        let mut rest: Vec<Predicate> = keys
            .iter()
            .enumerate()
            .filter(|(i, _)| !found.edges.contains(i))
            .map(|(_, (l, r))| equal(outer.columns[*l], width + r))
            .collect();
        rest.extend(move_predicates(residual, &place));
        let index_keys = found.keys.iter();
        let index_keys =
            index_keys.map(|key| key.iter().map(|c| outer.columns[*c]).collect()).collect();
        let columns = match kind {
            JoinKind::Left => (0..split + planned.schema.columns.len()).map(place).collect(),
            _ => outer.columns.clone(),
        };
        let estimate = Estimate { cost: 0.0, ..outer.operator.estimate };
        let found = IndexMatch { keys: index_keys, ..found };
        let joined = index_join(kind, outer.clone(), inner, found, rest, estimate);
        Ok(Some(Piece { columns, ..joined }))
    }

    fn inner(&self, node: PlanNode) -> Result<Piece> {
        let graph = JoinGraph::of(node, self.catalog)?;
        let pieces: Vec<Piece> = graph
            .relations
            .iter()
            .map(|relation| self.compile(relation.node.clone()))
            .collect::<Result<_>>()?;
        let relations = self.joinables(&graph, &pieces)?;
        let probes = join_order::Aim { probes_only: true, prefixes: true };
        let batch = join_order::Aim { probes_only: false, prefixes: false };
        let aims: &[join_order::Aim] = match self.aim {
            Aim::Probes => &[probes, batch],
            Aim::Batch => &[batch],
        };
        let steps = aims.iter().find_map(|aim| join_order::order(&graph, &relations, *aim));
        let steps = steps.expect("an order with hash joins always exists");
        Ok(Build::new(&graph, pieces).run(steps))
    }

    fn joinables(&self, graph: &JoinGraph, pieces: &[Piece]) -> Result<Vec<Joinable<'_>>> {
        let each = graph.relations.iter().zip(pieces);
        let joinable = |(relation, piece): (&super::join_graph::Relation, &Piece)| {
            let rows = self.rows(&piece.operator.estimate);
            let scans = !piece.operator.only_probes();
            let mut cost = piece.operator.total_cost();
            let PlanNode::Scan { table, predicates } = &relation.node else {
                return Ok(Joinable { table: None, rows, cost, scans });
            };
            let planned = self.catalog.table(*table)?;
            if self.aim == Aim::Batch {
                cost = batch_cost(planned, predicates);
            }
            Ok(Joinable { table: Some(planned), rows, cost, scans })
        };
        each.map(joinable).collect()
    }
}

/// Nanoseconds to read what a batch wants of a table: the pass over it, or the union of the index ranges.
fn batch_cost(table: &PlannedTable, predicates: &[Predicate]) -> f64 {
    let pass = table.rows() * cost::SCAN_ROW;
    let Some(index) = super::access::best_index(table, predicates) else { return pass };
    let covered: Vec<Predicate> = index.covered.iter().map(|i| predicates[*i].clone()).collect();
    let share = selectivity::union(table, &covered, ASSUMED_BATCH);
    pass.min(table.rows() * share * cost::FETCH)
}

fn equal(a: usize, b: usize) -> Predicate {
    Predicate::Compare { column: a, comparison: Comparison::Equal, value: Scalar::Column(b) }
}

/// The index of `table` that join keys (outer, inner) reach with the smallest fan-out, by its whole key.
fn key_index(table: &PlannedTable, keys: &[(usize, usize)]) -> Option<IndexMatch> {
    let candidates = table.schema.indexes.iter().filter_map(|index| {
        let part = |c: &crate::types::ColumnId| keys.iter().position(|key| key.1 == c.index());
        let edges: Vec<usize> = index.columns.iter().map(part).collect::<Option<_>>()?;
        let usable = matches!(index.kind, IndexKind::Hash | IndexKind::Ordered);
        let columns: Vec<usize> = edges.iter().map(|i| keys[*i].1).collect();
        usable.then(|| IndexMatch {
            index: index.id,
            name: index.name.clone(),
            unique: index.unique,
            keys: vec![edges.iter().map(|i| keys[*i].0).collect()],
            edges,
            condition: None,
            fan_out: join_order::fan_out(table, &columns),
            dimension: None,
        })
    });
    candidates.min_by(|a, b| a.fan_out.total_cmp(&b.fan_out))
}

fn hash_join(
    kind: JoinKind,
    left: Piece,
    right: Piece,
    keys: Vec<(usize, usize)>,
    residual: Vec<Predicate>,
    columns: Vec<usize>,
    mut estimate: Estimate,
) -> Piece {
    let width = left.operator.types.len();
    let mut dependencies = left.dependencies;
    let mut types = left.operator.types.clone();
    if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
        dependencies.append(&right.dependencies, width);
        types.extend(right.operator.types.iter().copied());
    }
    if kind == JoinKind::Inner {
        keys.iter().for_each(|(l, r)| dependencies.add_equal(*l, width + r));
    }
    let build = right.operator.estimate.rows * cost::HASH_BUILD;
    let operation = Operation::HashJoin { kind, keys, residual };
    estimate.cost =
        build + cost::operator(&operation, left.operator.estimate.rows, estimate.rows, 0.0);
    let inputs = vec![left.operator, right.operator];
    let node = Default::default();
    let operator = Operator { operation, inputs, types, estimate, looked_at: 0.0, node };
    Piece { operator, columns, dependencies }
}

/// `inner` gives the table, its predicates and types; its scan is not run.
fn index_join(
    kind: JoinKind,
    outer: Piece,
    inner: Piece,
    found: IndexMatch,
    residual: Vec<Predicate>,
    mut estimate: Estimate,
) -> Piece {
    let Operation::Scan { table, predicates, .. } = inner.operator.operation else {
        unreachable!("only tables have indexes")
    };
    let width = outer.operator.types.len();
    let mut dependencies = outer.dependencies;
    let mut types = outer.operator.types.clone();
    if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
        dependencies.append(&inner.dependencies, width);
        types.extend(inner.operator.types.iter().copied());
    }
    let fetched = outer.operator.estimate.rows * found.fan_out;
    let operation = Operation::IndexJoin {
        kind,
        table,
        index: found.index,
        index_name: found.name,
        unique: found.unique,
        keys: found.keys,
        predicates,
        residual,
    };
    let looked_at = found.dimension.unwrap_or(0.0);
    let rows = outer.operator.estimate.rows;
    estimate.cost = cost::operator(&operation, rows, fetched, looked_at);
    let operator = Operator {
        operation,
        inputs: vec![outer.operator],
        types,
        estimate,
        looked_at,
        node: Default::default(),
    };
    Piece { operator, columns: outer.columns, dependencies }
}

/// Builds the ordered joins of a graph.
struct Build<'a> {
    graph: &'a JoinGraph,
    pieces: Vec<Option<Piece>>,
    /// Where each column of the graph is in the output so far.
    place: Vec<Option<usize>>,
    /// Conditions not yet applied.
    conditions: Vec<Option<Predicate>>,
    mask: u64,
}

impl<'a> Build<'a> {
    fn new(graph: &'a JoinGraph, pieces: Vec<Piece>) -> Build<'a> {
        let width = graph.relations.last().map_or(0, |r| r.offset + r.width);
        Build {
            graph,
            pieces: pieces.into_iter().map(Some).collect(),
            place: vec![None; width],
            conditions: graph.conditions.iter().cloned().map(Some).collect(),
            mask: 0,
        }
    }

    fn run(mut self, steps: Vec<JoinStep>) -> Piece {
        let mut so_far: Option<Piece> = None;
        for step in steps {
            let piece = self.pieces[step.relation].take().expect("an order names each once");
            so_far = Some(match (so_far, step.method) {
                (None, _) => self.first(step.relation, piece),
                (Some(left), JoinMethod::Index(found)) => {
                    self.by_index(left, step.relation, piece, found, step.density)
                }
                (Some(left), _) => self.by_hash(left, step.relation, piece, step.density),
            });
        }
        let piece = so_far.expect("a graph has relations");
        let placed = self.place.iter().map(|p| p.expect("all relations are joined"));
        Piece { columns: placed.collect(), ..piece }
    }

    /// Columns of `relation` come to lie from `at` on.
    fn put(&mut self, relation: usize, columns: &[usize], at: usize) {
        let offset = self.graph.relations[relation].offset;
        for (i, column) in columns.iter().enumerate() {
            self.place[offset + i] = Some(at + column);
        }
        self.mask |= 1 << relation;
    }

    fn first(&mut self, relation: usize, piece: Piece) -> Piece {
        self.put(relation, &piece.columns, 0);
        let ready = self.ready(None);
        if ready.is_empty() {
            return piece;
        }
        let estimate = piece.operator.estimate;
        piece.under(Operation::Filter { predicates: ready }, estimate)
    }

    /// Conditions whose relations are all joined, moved to where their columns are now.
    fn ready(&mut self, answered: Option<usize>) -> Vec<Predicate> {
        let mut ready = Vec::new();
        for (i, place) in self.conditions.iter_mut().enumerate() {
            let Some(condition) = place else { continue };
            if self.graph.relations_read(condition) & !self.mask != 0 {
                continue;
            }
            let to = |c: usize| self.place[c].expect("its relation is joined");
            if answered != Some(i) {
                ready.push(move_predicate(condition, &to));
            }
            *place = None;
        }
        ready
    }

    /// Edges between `relation` and what is joined: (edge, outer column, inner column), both of the graph.
    fn edges(&self, relation: usize) -> Vec<(usize, usize, usize)> {
        let within = |c: usize| self.mask >> self.graph.relation_of(c) & 1 == 1;
        let inner = |c: usize| self.graph.relation_of(c) == relation;
        let edges = self.graph.edges.iter().enumerate();
        let oriented = edges.filter_map(|(i, e)| match () {
            _ if inner(e.b) && within(e.a) => Some((i, e.a, e.b)),
            _ if inner(e.a) && within(e.b) => Some((i, e.b, e.a)),
            _ => None,
        });
        oriented.collect()
    }

    fn by_index(
        &mut self,
        left: Piece,
        relation: usize,
        inner: Piece,
        found: IndexMatch,
        density: f64,
    ) -> Piece {
        let edges = self.edges(relation);
        let width = left.operator.types.len();
        let to = |c: &usize| self.place[*c].expect("outer columns are joined");
        let keys = found.keys.iter().map(|key| key.iter().map(to).collect()).collect();
        self.put(relation, &inner.columns, width);
        let mut equal_pairs = Vec::new();
        let mut residual = Vec::new();
        for (edge, a, b) in edges {
            let pair = (self.placed(a), self.placed(b));
            equal_pairs.push(pair);
            if !found.edges.contains(&edge) {
                residual.push(equal(pair.0, pair.1));
            }
        }
        residual.extend(self.ready(found.condition));
        let estimate = joined(&left, &inner, density);
        let found = IndexMatch { keys, ..found };
        let mut piece = index_join(JoinKind::Inner, left, inner, found, residual, estimate);
        add_equal(&mut piece.dependencies, &equal_pairs);
        piece
    }

    fn by_hash(&mut self, left: Piece, relation: usize, right: Piece, density: f64) -> Piece {
        let edges = self.edges(relation);
        let width = left.operator.types.len();
        self.put(relation, &right.columns, width);
        let pairs = edges.iter().map(|(_, a, b)| (self.placed(*a), self.placed(*b) - width));
        let keys: Vec<(usize, usize)> = pairs.collect();
        let residual = self.ready(None);
        let estimate = joined(&left, &right, density);
        hash_join(JoinKind::Inner, left, right, keys, residual, Vec::new(), estimate)
    }

    fn placed(&self, column: usize) -> usize {
        self.place[column].expect("its relation is joined")
    }
}

fn joined(left: &Piece, right: &Piece, density: f64) -> Estimate {
    let (a, b) = (left.operator.estimate, right.operator.estimate);
    let (rows, limit) = (a.rows * b.rows * density, a.limit * b.limit * density);
    Estimate { rows, limit: limit.max(rows), cost: 0.0 }
}

fn add_equal(dependencies: &mut Dependencies, pairs: &[(usize, usize)]) {
    pairs.iter().for_each(|(a, b)| dependencies.add_equal(*a, *b));
}
