//! A tree of inner joins as a graph: relations, equal keys between them, conditions over several of them.

use super::catalog::Catalog;
use super::columns::{move_predicates, predicate_columns};
use super::push_filters::width;
use super::{JoinKind, PlanNode};
use crate::types::{Comparison, Predicate, Result, Scalar};

/// Inner joins without an order. Columns are positions in the concatenation of all relations in the order in
/// which the statement names them.
#[derive(Debug, Default)]
pub struct JoinGraph {
    /// What is joined: scans, and trees that joins of other kinds or other operators keep together.
    pub relations: Vec<Relation>,
    /// Equal keys.
    pub edges: Vec<Edge>,
    /// All other conditions.
    pub conditions: Vec<Predicate>,
}

/// One input of the graph.
#[derive(Debug)]
pub struct Relation {
    /// Its tree.
    pub node: PlanNode,
    /// Its first column.
    pub offset: usize,
    /// Its number of columns.
    pub width: usize,
}

/// Columns of two relations that must be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// One side.
    pub a: usize,
    /// The other.
    pub b: usize,
}

impl JoinGraph {
    /// Flattens a tree of inner joins.
    pub fn of(node: PlanNode, catalog: &Catalog) -> Result<JoinGraph> {
        let mut graph = JoinGraph::default();
        graph.add(node, catalog)?;
        Ok(graph)
    }

    /// Adds a tree; returns its number of columns.
    fn add(&mut self, node: PlanNode, catalog: &Catalog) -> Result<usize> {
        let offset = self.relations.last().map_or(0, |r| r.offset + r.width);
        let PlanNode::Join { kind: JoinKind::Inner, left, right, keys, residual } = node else {
            let width = width(&node, catalog)?;
            self.relations.push(Relation { node, offset, width });
            return Ok(width);
        };
        let split = self.add(*left, catalog)?;
        let right = self.add(*right, catalog)?;
        self.edges.extend(keys.iter().map(|(l, r)| Edge { a: offset + l, b: offset + split + r }));
        let moved = move_predicates(&residual, &|c| c + offset);
        self.conditions.extend(moved.into_iter().map(alternatives));
        Ok(split + right)
    }

    /// The relation that a column belongs to.
    pub fn relation_of(&self, column: usize) -> usize {
        self.relations.partition_point(|relation| relation.offset <= column) - 1
    }

    /// The relations that a condition reads, as bits.
    pub fn relations_read(&self, condition: &Predicate) -> u64 {
        let mut read = 0;
        predicate_columns(condition, &mut |column| read |= 1 << self.relation_of(column));
        read
    }
}

/// `a = x OR a = y` over columns as `a IN (x, y)`: an index join can look each of them up.
fn alternatives(predicate: Predicate) -> Predicate {
    let Predicate::Or(arms) = &predicate else { return predicate };
    let pairs: Option<Vec<(usize, usize)>> = arms.iter().map(|arm| column_pair(arm)).collect();
    let Some(pairs) = pairs else { return predicate };
    let Some(first) = pairs.first() else { return predicate };
    for candidate in [first.0, first.1] {
        let other = |&(a, b): &(usize, usize)| match candidate {
            c if c == a => Some(b),
            c if c == b => Some(a),
            _ => None,
        };
        let values: Option<Vec<usize>> = pairs.iter().map(other).collect();
        if let Some(values) = values {
            let values = values.into_iter().map(Scalar::Column).collect();
            return Predicate::In { column: candidate, values, negated: false };
        }
    }
    predicate
}

fn column_pair(arm: &[Predicate]) -> Option<(usize, usize)> {
    match arm {
        [
            Predicate::Compare {
                column,
                comparison: Comparison::Equal,
                value: Scalar::Column(other),
            },
        ] => Some((*column, *other)),
        _ => None,
    }
}
