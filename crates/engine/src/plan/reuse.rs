//! Equal sub-plans of one statement become one: a CTE or a view that is named twice, a subquery written twice.
//!
//! In comes a template's physical tree, out the same tree in which each later occurrence of an equal sub-plan is
//! [`Operation::Reused`]. When the template is merged, that has no node of its own: the node of the first occurrence
//! gets another consumer, and what several consumers read is run once and kept.
//!
//! Equal is what does the same with the same values: operations, predicates, cuts, computed columns and parameters, by
//! number. A literal that the text has twice is two parameters, whose values may differ in the template's next
//! activation: those sub-plans stay apart.
//!
//! Shared is what a breaker gives (groups, distinct or sorted rows), with what makes no more rows of these on top: it
//! is whole in the batch's memory anyway, and is worth most. Scans, and what streams over them, stay apart: to keep
//! their rows costs more than to read them again, keys narrow each scan for its own join, and star passes, chains of probes
//! and scans for one consumer alone build on it that a template has one consumer for each node below a breaker. Pairs
//! of a join stay apart too, since they may be many; the groupings that it joins are shared.

use std::collections::HashMap;
use std::sync::Arc;

use super::JoinKind;
use super::catalog::Catalog;
use super::compiled::{Estimate, Operation, Operator};
use super::signature;

/// The tree with equal sub-plans as one.
pub fn reuse_equal(root: Operator, catalog: &Catalog) -> Operator {
    let (identities, first) = (HashMap::new(), HashMap::new());
    Reuse { catalog, identities, first, operators: 0 }.of(root).0
}

struct Reuse<'a> {
    catalog: &'a Catalog,
    /// Numbers of sub-plans by their root's text and their inputs' numbers: equal numbers, equal rows.
    identities: HashMap<(String, Vec<usize>), usize>,
    /// By that number, the position of a sub-plan's root among the operators that have nodes, inputs first.
    first: HashMap<usize, usize>,
    /// How many have nodes so far.
    operators: usize,
}

impl Reuse<'_> {
    /// The sub-plan, and its number.
    fn of(&mut self, mut operator: Operator) -> (Operator, usize) {
        let before = self.operators;
        let inputs = operator.inputs.into_iter().map(|input| self.of(input));
        let (inputs, below): (Vec<Operator>, Vec<usize>) = inputs.unzip();
        operator.inputs = inputs;
        let text = signature::identity(&operator, self.catalog);
        let next = self.identities.len();
        let identity = *self.identities.entry((text, below)).or_insert(next);
        if let Some(&first) = self.first.get(&identity) {
            // What lies below it has no nodes either.
            self.operators = before;
            return (reused(operator, first), identity);
        }
        if is_bounded(&operator) {
            self.first.insert(identity, self.operators);
        }
        self.operators += 1;
        (operator, identity)
    }
}

/// Costs nothing: its rows are there.
fn reused(operator: Operator, first: usize) -> Operator {
    Operator {
        types: operator.types.clone(),
        estimate: Estimate { cost: 0.0, ..operator.estimate },
        looked_at: 0.0,
        node: operator.node,
        inputs: Vec::new(),
        operation: Operation::Reused { first, operator: Arc::new(operator) },
    }
}

/// Whether a breaker gives its rows, or what makes no more of a breaker's.
fn is_bounded(operator: &Operator) -> bool {
    let mut inputs = operator.inputs.iter();
    match &operator.operation {
        Operation::Aggregate { .. } | Operation::Distinct | Operation::Sort { .. } => true,
        Operation::Reused { .. } => true,
        Operation::Filter { .. } | Operation::Project { .. } | Operation::Limit { .. } => {
            inputs.all(is_bounded)
        }
        Operation::Union => inputs.all(is_bounded),
        Operation::IndexJoin { kind, unique, keys, .. } => {
            let at_most_one = *unique && keys.len() == 1;
            (at_most_one || keeps_left(*kind)) && inputs.all(is_bounded)
        }
        Operation::HashJoin { kind, .. } => {
            keeps_left(*kind) && operator.inputs.first().is_some_and(is_bounded)
        }
        Operation::Scan { .. } | Operation::Values { .. } => false,
    }
}

fn keeps_left(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Semi | JoinKind::Anti)
}
