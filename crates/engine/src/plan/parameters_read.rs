//! Which parameters a tree reads.

use super::{Operation, Operator};
use crate::types::{Predicate, Scalar};

/// The parameters that a tree reads, ascending.
pub fn parameters_read(root: &Operator) -> Vec<usize> {
    let mut found = Vec::new();
    root.visit(&mut |operator| operation_parameters(&operator.operation, &mut found));
    found.sort_unstable();
    found.dedup();
    found
}

fn operation_parameters(operation: &Operation, found: &mut Vec<usize>) {
    match operation {
        Operation::Scan { predicates, .. } | Operation::Filter { predicates } => {
            predicates.iter().for_each(|p| predicate_parameters(p, found));
        }
        Operation::Values { rows, .. } => {
            rows.iter().flatten().for_each(|s| scalar_parameters(s, found));
        }
        Operation::Project { expressions, .. } => {
            expressions.iter().for_each(|s| scalar_parameters(s, found));
        }
        Operation::IndexJoin { predicates, residual, .. } => {
            predicates.iter().chain(residual).for_each(|p| predicate_parameters(p, found));
        }
        Operation::HashJoin { residual, .. } => {
            residual.iter().for_each(|p| predicate_parameters(p, found));
        }
        Operation::Aggregate { aggregates, .. } => {
            for aggregate in aggregates {
                aggregate.argument.iter().for_each(|s| scalar_parameters(s, found));
                aggregate.filter.iter().for_each(|f| found.extend(f.parameters()));
            }
        }
        Operation::Sort { skip, fetch, .. } | Operation::Limit { skip, fetch } => {
            skip.iter().chain(fetch).for_each(|s| scalar_parameters(s, found));
        }
        // What is read once more has named its parameters where it stands first.
        Operation::Distinct | Operation::Union | Operation::Reused { .. } => {}
    }
}

fn scalar_parameters(scalar: &Scalar, found: &mut Vec<usize>) {
    match scalar {
        Scalar::Parameter(parameter) => found.push(*parameter),
        Scalar::Expression(expression) => found.extend(expression.parameters()),
        Scalar::Column(_) | Scalar::Literal(_) => {}
    }
}

fn predicate_parameters(predicate: &Predicate, found: &mut Vec<usize>) {
    match predicate {
        Predicate::Compare { value, .. } => scalar_parameters(value, found),
        Predicate::In { values, .. } => values.iter().for_each(|s| scalar_parameters(s, found)),
        Predicate::Like { pattern, .. } => scalar_parameters(pattern, found),
        Predicate::Or(arms) => {
            arms.iter().flatten().for_each(|p| predicate_parameters(p, found));
        }
        Predicate::Expression(expression) => found.extend(expression.parameters()),
        Predicate::IsNull { .. } => {}
    }
}
