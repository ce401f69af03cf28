//! Expressions over parameters only become parameters: computed once per activation, and then as good as given.

use std::sync::Arc;

use super::compiled::DerivedParameter;
use super::{PlanNode, TemplatePlan};
use crate::types::{Expression, Predicate, Scalar};

/// Lifts what it is shown.
pub struct Lift {
    /// Parameters that an activation brings.
    given: usize,
    /// The parameters that subqueries fill, in the order in which they run.
    filled: Vec<usize>,
    /// What was lifted.
    pub derived: Vec<DerivedParameter>,
}

impl Lift {
    /// Nothing lifted yet.
    pub fn new(plan: &TemplatePlan) -> Lift {
        let filled = plan.scalar_subqueries.iter().map(|s| s.parameter).collect();
        Lift { given: plan.parameters.len(), filled, derived: Vec::new() }
    }

    /// The parameters that subqueries give, directly or through what was lifted.
    pub fn computed(&self) -> Vec<usize> {
        let derived = self.derived.iter().enumerate().filter(|(_, d)| d.stage > 0);
        let derived = derived.map(|(i, _)| self.given + i);
        self.filled.iter().copied().chain(derived).collect()
    }

    /// The tree with its parameter-only expressions lifted.
    pub fn node(&mut self, node: &PlanNode) -> PlanNode {
        match node {
            PlanNode::Scan { table, predicates } => {
                PlanNode::Scan { table: *table, predicates: self.predicates(predicates) }
            }
            PlanNode::Values { rows, types } => {
                let rows = rows.iter().map(|row| row.iter().map(|s| self.scalar(s)).collect());
                PlanNode::Values { rows: rows.collect(), types: types.clone() }
            }
            PlanNode::Filter { input, predicates } => PlanNode::Filter {
                input: self.boxed(input),
                predicates: self.predicates(predicates),
            },
            PlanNode::Project { input, expressions, types } => PlanNode::Project {
                input: self.boxed(input),
                expressions: expressions.iter().map(|s| self.scalar(s)).collect(),
                types: types.clone(),
            },
            PlanNode::Join { kind, left, right, keys, residual } => PlanNode::Join {
                kind: *kind,
                left: self.boxed(left),
                right: self.boxed(right),
                keys: keys.clone(),
                residual: self.predicates(residual),
            },
            PlanNode::Aggregate { input, keys, aggregates } => PlanNode::Aggregate {
                input: self.boxed(input),
                keys: keys.clone(),
                aggregates: aggregates.clone(),
            },
            PlanNode::Sort { input, keys, skip, fetch } => PlanNode::Sort {
                input: self.boxed(input),
                keys: keys.clone(),
                skip: skip.as_ref().map(|s| self.scalar(s)),
                fetch: fetch.as_ref().map(|s| self.scalar(s)),
            },
            PlanNode::Limit { input, skip, fetch } => PlanNode::Limit {
                input: self.boxed(input),
                skip: skip.as_ref().map(|s| self.scalar(s)),
                fetch: fetch.as_ref().map(|s| self.scalar(s)),
            },
            PlanNode::Distinct { input } => PlanNode::Distinct { input: self.boxed(input) },
            PlanNode::Union { inputs } => {
                PlanNode::Union { inputs: inputs.iter().map(|input| self.node(input)).collect() }
            }
        }
    }

    fn boxed(&mut self, node: &PlanNode) -> Box<PlanNode> {
        Box::new(self.node(node))
    }

    fn predicates(&mut self, predicates: &[Predicate]) -> Vec<Predicate> {
        predicates.iter().map(|predicate| self.predicate(predicate)).collect()
    }

    fn predicate(&mut self, predicate: &Predicate) -> Predicate {
        match predicate {
            Predicate::Compare { column, comparison, value } => Predicate::Compare {
                column: *column,
                comparison: *comparison,
                value: self.scalar(value),
            },
            Predicate::In { column, values, negated } => Predicate::In {
                column: *column,
                values: values.iter().map(|value| self.scalar(value)).collect(),
                negated: *negated,
            },
            Predicate::Like { column, pattern, negated, case_insensitive } => Predicate::Like {
                column: *column,
                pattern: self.scalar(pattern),
                negated: *negated,
                case_insensitive: *case_insensitive,
            },
            Predicate::Or(arms) => {
                Predicate::Or(arms.iter().map(|arm| self.predicates(arm)).collect())
            }
            Predicate::IsNull { .. } | Predicate::Expression(_) => predicate.clone(),
        }
    }

    fn scalar(&mut self, scalar: &Scalar) -> Scalar {
        match scalar {
            Scalar::Expression(expression) if expression.columns().is_empty() => {
                Scalar::Parameter(self.given + self.position(expression))
            }
            other => other.clone(),
        }
    }

    /// The place among the derived parameters; equal text is computed once.
    fn position(&mut self, expression: &Arc<dyn Expression>) -> usize {
        let same = |other: &DerivedParameter| {
            other.expression.text() == expression.text()
                && other.expression.parameters() == expression.parameters()
        };
        if let Some(position) = self.derived.iter().position(same) {
            return position;
        }
        let stage = self.stage(expression.parameters());
        self.derived.push(DerivedParameter { expression: expression.clone(), stage });
        self.derived.len() - 1
    }

    /// How many subqueries must have run before all of these parameters are there.
    fn stage(&self, parameters: &[usize]) -> usize {
        let needed = parameters.iter().filter_map(|p| self.filled.iter().position(|f| f == p));
        needed.map(|position| position + 1).max().unwrap_or(0)
    }
}
