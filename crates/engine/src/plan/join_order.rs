//! The order in which a join graph is joined: left-deep, cheapest first.
//!
//! For heavy templates costs are those of a batch ([`ASSUMED_BATCH`](super::selectivity::ASSUMED_BATCH)): an equality with a
//! parameter hardly restricts the union, so templates over the same graph mostly get the same order whatever
//! their predicates, and share the joins. For light ones costs are those of one activation.

use super::catalog::PlannedTable;
use super::cost;
use super::join_graph::JoinGraph;
use crate::types::{IndexId, IndexKind, Predicate, Scalar};

/// Graphs of more relations than this are ordered greedily: the table of subsets would not pay.
const EXHAUSTIVE: usize = 10;

/// What ordering knows about one relation.
#[derive(Debug)]
pub struct Joinable<'a> {
    /// The table, where the relation is a scan: its indexes can serve a join.
    pub table: Option<&'a PlannedTable>,
    /// Rows after its own predicates.
    pub rows: f64,
    /// Nanoseconds to produce them as a first input or as a build side.
    pub cost: f64,
    /// Whether producing them takes a scan of a whole table.
    pub scans: bool,
}

/// One relation joined to those before it.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinStep {
    /// The relation.
    pub relation: usize,
    /// How.
    pub method: JoinMethod,
    /// Partners per pair of rows: output rows are outer rows x inner rows x density.
    pub density: f64,
}

/// How a relation is joined to those before it.
#[derive(Clone, Debug, PartialEq)]
pub enum JoinMethod {
    /// It is the first.
    First,
    /// By an index of the relation.
    Index(IndexMatch),
    /// By a hash table over the relation.
    Hash,
}

/// An index that the joined columns reach.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexMatch {
    /// The index.
    pub index: IndexId,
    /// Its name.
    pub name: std::sync::Arc<str>,
    /// Whether a key names at most one row.
    pub unique: bool,
    /// Outer columns per alternative, one per key column used.
    pub keys: Vec<Vec<usize>>,
    /// The edges (by position) that the keys stand for.
    pub edges: Vec<usize>,
    /// The condition (by position) that the alternatives stand for.
    pub condition: Option<usize>,
    /// Rows that one outer row finds, before the inner predicates.
    pub fan_out: f64,
    /// The table's rows, where it is a star's dimension.
    pub dimension: Option<f64>,
}

/// What is asked of an order.
#[derive(Clone, Copy, Debug)]
pub struct Aim {
    /// Only index joins after the first relation.
    pub probes_only: bool,
    /// Ordered indexes may serve with a prefix of their key.
    pub prefixes: bool,
}

/// The cheapest order; `None` if `probes_only` cannot be met.
pub fn order(graph: &JoinGraph, relations: &[Joinable<'_>], aim: Aim) -> Option<Vec<JoinStep>> {
    let search = Search { graph, relations, aim };
    match relations.len() {
        n if n <= EXHAUSTIVE => search.exhaustive(),
        _ => search.greedy(),
    }
}

#[derive(Clone, Debug)]
struct Partial {
    cost: f64,
    rows: f64,
    mask: u64,
    steps: Vec<JoinStep>,
}

struct Search<'a> {
    graph: &'a JoinGraph,
    relations: &'a [Joinable<'a>],
    aim: Aim,
}

impl Search<'_> {
    fn exhaustive(&self) -> Option<Vec<JoinStep>> {
        let count = self.relations.len();
        let mut best: Vec<Option<Partial>> = vec![None; 1 << count];
        for relation in 0..count {
            best[1 << relation] = self.first(relation);
        }
        for mask in 1..best.len() {
            let Some(partial) = best[mask].clone() else { continue };
            for relation in self.next(&partial) {
                let Some(longer) = self.extend(&partial, relation) else { continue };
                let place = &mut best[longer.mask as usize];
                if place.as_ref().is_none_or(|other| longer.cost < other.cost) {
                    *place = Some(longer);
                }
            }
        }
        best.pop().flatten().map(|partial| partial.steps)
    }

    fn greedy(&self) -> Option<Vec<JoinStep>> {
        let starts = (0..self.relations.len()).filter_map(|relation| self.first(relation));
        let complete = starts.filter_map(|mut partial| {
            while partial.steps.len() < self.relations.len() {
                let longer = self.next(&partial).into_iter();
                let longer = longer.filter_map(|relation| self.extend(&partial, relation));
                partial = longer.min_by(|a, b| a.cost.total_cmp(&b.cost))?;
            }
            Some(partial)
        });
        complete.min_by(|a, b| a.cost.total_cmp(&b.cost)).map(|partial| partial.steps)
    }

    fn first(&self, relation: usize) -> Option<Partial> {
        let joinable = &self.relations[relation];
        if self.aim.probes_only && joinable.scans {
            return None;
        }
        let step = JoinStep { relation, method: JoinMethod::First, density: 1.0 };
        let (cost, rows) = (joinable.cost, joinable.rows);
        Some(Partial { cost, rows, mask: 1 << relation, steps: vec![step] })
    }

    /// Relations that are joined with those in `partial`; all others where none is (a cross join).
    fn next(&self, partial: &Partial) -> Vec<usize> {
        let outside = |r: &usize| partial.mask & (1 << r) == 0;
        let all: Vec<usize> = (0..self.relations.len()).filter(outside).collect();
        let near: Vec<usize> =
            all.iter().copied().filter(|r| self.connected(partial.mask, *r)).collect();
        if near.is_empty() { all } else { near }
    }

    fn connected(&self, mask: u64, relation: usize) -> bool {
        let joined = !self.keys_to(mask, relation).is_empty();
        joined || self.listed(mask, relation).next().is_some()
    }

    /// Edges between `relation` and `mask`: (edge, inner column of the table, outer column).
    fn keys_to(&self, mask: u64, relation: usize) -> Vec<(usize, usize, usize)> {
        let within = |column: usize| mask >> self.graph.relation_of(column) & 1 == 1;
        let offset = self.graph.relations[relation].offset;
        let edges = self.graph.edges.iter().enumerate();
        let oriented = edges.flat_map(|(i, e)| [(i, e.a, e.b), (i, e.b, e.a)]);
        let ours = oriented
            .filter(|(_, inner, outer)| {
                self.graph.relation_of(*inner) == relation && within(*outer)
            })
            .map(|(i, inner, outer)| (i, inner - offset, outer));
        ours.collect()
    }

    /// Conditions `inner column IN (outer columns)`: (condition, inner column, outer columns).
    fn listed(
        &self,
        mask: u64,
        relation: usize,
    ) -> impl Iterator<Item = (usize, usize, Vec<usize>)> + '_ {
        let offset = self.graph.relations[relation].offset;
        let conditions = self.graph.conditions.iter().enumerate();
        conditions.filter_map(move |(i, condition)| {
            let Predicate::In { column, values, negated: false } = condition else { return None };
            if self.graph.relation_of(*column) != relation {
                return None;
            }
            let outer = values.iter().map(|value| match value {
                Scalar::Column(c) if mask >> self.graph.relation_of(*c) & 1 == 1 => Some(*c),
                _ => None,
            });
            Some((i, column - offset, outer.collect::<Option<Vec<usize>>>()?))
        })
    }

    fn extend(&self, partial: &Partial, relation: usize) -> Option<Partial> {
        let joinable = &self.relations[relation];
        let keys = self.keys_to(partial.mask, relation);
        let matches = self.matches(partial.mask, relation, &keys);
        let density = matches / joinable.rows.max(f64::MIN_POSITIVE);
        let rows = partial.rows * matches;
        let index = self.index(partial.mask, relation, &keys);
        let index_cost = index.as_ref().map(|found| {
            let fetched = partial.rows * found.fan_out;
            cost::index_join(partial.rows, found.keys.len(), found.dimension, fetched)
        });
        let hash_cost = match keys.is_empty() {
            true => joinable.cost + partial.rows * joinable.rows * cost::PAIR,
            false => {
                let build = joinable.cost + joinable.rows * cost::HASH_BUILD;
                build + partial.rows * cost::HASH_PROBE + rows * cost::FETCH
            }
        };
        let (method, cost) = match (index, index_cost) {
            (Some(found), Some(cost)) if cost <= hash_cost || self.aim.probes_only => {
                (JoinMethod::Index(found), cost)
            }
            _ if self.aim.probes_only => return None,
            _ => (JoinMethod::Hash, hash_cost),
        };
        let mut steps = partial.steps.clone();
        steps.push(JoinStep { relation, method, density });
        let mask = partial.mask | 1 << relation;
        Some(Partial { cost: partial.cost + cost, rows, mask, steps })
    }

    /// Partners that one row finds, on average and after the inner predicates.
    fn matches(&self, mask: u64, relation: usize, keys: &[(usize, usize, usize)]) -> f64 {
        let joinable = &self.relations[relation];
        let Some(table) = joinable.table else {
            return if keys.is_empty() { joinable.rows } else { 1.0f64.max(joinable.rows / 100.0) };
        };
        let share = joinable.rows / table.rows();
        let columns: Vec<usize> = keys.iter().map(|key| key.1).collect();
        if let Some((_, column, outer)) = self.listed(mask, relation).next() {
            let found = fan_out(table, &[column]) * outer.len() as f64;
            return share * found.min(table.rows());
        }
        share * fan_out(table, &columns)
    }

    fn index(
        &self,
        mask: u64,
        relation: usize,
        keys: &[(usize, usize, usize)],
    ) -> Option<IndexMatch> {
        let table = self.relations[relation].table?;
        let by_keys = self.index_by_keys(table, keys);
        by_keys.or_else(|| self.index_by_list(table, mask, relation))
    }

    fn index_by_keys(
        &self,
        table: &PlannedTable,
        keys: &[(usize, usize, usize)],
    ) -> Option<IndexMatch> {
        let candidates = table.schema.indexes.iter().filter_map(|index| {
            let parts = index.columns.iter();
            let found = parts.map_while(|c| keys.iter().find(|key| key.1 == c.index()));
            let found: Vec<&(usize, usize, usize)> = found.collect();
            let whole = found.len() == index.columns.len();
            let prefix = self.aim.prefixes && index.kind == IndexKind::Ordered;
            if found.is_empty() || !(whole || prefix) {
                return None;
            }
            let columns: Vec<usize> = found.iter().map(|key| key.1).collect();
            let unique = whole && index.unique;
            Some(IndexMatch {
                index: index.id,
                name: index.name.clone(),
                unique,
                keys: vec![found.iter().map(|key| key.2).collect()],
                edges: found.iter().map(|key| key.0).collect(),
                condition: None,
                fan_out: if unique { 1.0 } else { fan_out(table, &columns) },
                dimension: (unique && self.is_dimension(table)).then(|| table.rows()),
            })
        });
        candidates.min_by(|a, b| a.fan_out.total_cmp(&b.fan_out))
    }

    /// Whether the largest input has many times the table's rows.
    fn is_dimension(&self, table: &PlannedTable) -> bool {
        let largest = self.relations.iter().map(|relation| relation.rows).fold(0.0, f64::max);
        !self.aim.probes_only && largest >= cost::DIMENSION_SHARE * table.rows()
    }

    fn index_by_list(
        &self,
        table: &PlannedTable,
        mask: u64,
        relation: usize,
    ) -> Option<IndexMatch> {
        self.listed(mask, relation).find_map(|(condition, column, outer)| {
            let fits = |i: &&crate::types::IndexSchema| {
                i.columns.len() == 1 && i.columns[0].index() == column
            };
            let index = table.schema.indexes.iter().find(fits)?;
            Some(IndexMatch {
                index: index.id,
                name: index.name.clone(),
                unique: index.unique,
                fan_out: outer.len() as f64 * fan_out(table, &[column]),
                keys: outer.into_iter().map(|c| vec![c]).collect(),
                edges: Vec::new(),
                condition: Some(condition),
                dimension: None,
            })
        })
    }
}

/// Rows of a table that share values in `columns`.
pub(super) fn fan_out(table: &PlannedTable, columns: &[usize]) -> f64 {
    if table.is_unique(columns) {
        return 1.0;
    }
    let distinct: f64 = columns.iter().map(|c| table.distinct(*c)).product();
    (table.rows() / distinct.max(1.0)).max(1.0)
}
