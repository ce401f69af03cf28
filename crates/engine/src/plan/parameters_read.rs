//! Which parameters a tree reads.

use super::{Operation, Operator};
use crate::types::{Predicate, Scalar};

/// The parameters that a tree reads, ascending.
pub fn parameters_read(root: &Operator) -> Vec<usize> {
    let mut found = Vec::new();
    visit_uses(root, &mut |parameter, _| found.push(parameter));
    found.sort_unstable();
    found.dedup();
    found
}

/// Calls `visit` with each use of a parameter, and whether it is computed with: put into an array of its type. Otherwise it is
/// compared as it is.
pub fn visit_uses(root: &Operator, visit: &mut dyn FnMut(usize, bool)) {
    root.visit(&mut |operator| of_operation(&operator.operation, visit));
}

fn of_operation(operation: &Operation, visit: &mut dyn FnMut(usize, bool)) {
    match operation {
        Operation::Scan { predicates, .. } | Operation::Filter { predicates } => {
            predicates.iter().for_each(|p| of_predicate(p, visit));
        }
        Operation::Values { rows, .. } => {
            rows.iter().flatten().for_each(|s| of_scalar(s, true, visit));
        }
        Operation::Project { expressions, .. } => {
            expressions.iter().for_each(|s| of_scalar(s, true, visit));
        }
        Operation::IndexJoin { predicates, residual, .. } => {
            predicates.iter().chain(residual).for_each(|p| of_predicate(p, visit));
        }
        Operation::HashJoin { residual, .. } => {
            residual.iter().for_each(|p| of_predicate(p, visit));
        }
        Operation::Aggregate { aggregates, .. } => {
            for aggregate in aggregates {
                aggregate.argument.iter().for_each(|s| of_scalar(s, true, visit));
                aggregate.filter.iter().for_each(|f| of_computed(f.parameters(), visit));
            }
        }
        Operation::Sort { skip, fetch, .. } | Operation::Limit { skip, fetch } => {
            skip.iter().chain(fetch).for_each(|s| of_scalar(s, true, visit));
        }
        // What is read once more has named its parameters where it stands first.
        Operation::Distinct | Operation::Union | Operation::Reused { .. } => {}
    }
}

fn of_computed(parameters: &[usize], visit: &mut dyn FnMut(usize, bool)) {
    parameters.iter().for_each(|parameter| visit(*parameter, true));
}

fn of_scalar(scalar: &Scalar, is_computed: bool, visit: &mut dyn FnMut(usize, bool)) {
    match scalar {
        Scalar::Parameter(parameter) => visit(*parameter, is_computed),
        Scalar::Expression(expression) => of_computed(expression.parameters(), visit),
        Scalar::Column(_) | Scalar::Literal(_) => {}
    }
}

fn of_predicate(predicate: &Predicate, visit: &mut dyn FnMut(usize, bool)) {
    match predicate {
        Predicate::Compare { value, .. } => of_scalar(value, false, visit),
        Predicate::In { values, .. } => values.iter().for_each(|s| of_scalar(s, false, visit)),
        Predicate::Like { pattern, .. } => of_scalar(pattern, false, visit),
        Predicate::Or(arms) => {
            arms.iter().flatten().for_each(|p| of_predicate(p, visit));
        }
        Predicate::Expression(expression) => of_computed(expression.parameters(), visit),
        Predicate::IsNull { .. } => {}
    }
}
