//! Whether a tree computes what may take much longer for some rows than for others.

use super::{Operation, Operator};
use crate::types::{Predicate, Scalar};

/// Whether any expression of a tree is uneven.
pub fn is_uneven(root: &Operator) -> bool {
    let mut found = false;
    root.visit(&mut |operator| found |= operation_is_uneven(&operator.operation));
    found
}

fn operation_is_uneven(operation: &Operation) -> bool {
    match operation {
        Operation::Scan { predicates, .. } | Operation::Filter { predicates } => {
            predicates.iter().any(predicate_is_uneven)
        }
        Operation::Values { rows, .. } => rows.iter().flatten().any(scalar_is_uneven),
        Operation::Project { expressions, .. } => expressions.iter().any(scalar_is_uneven),
        Operation::IndexJoin { predicates, residual, .. } => {
            predicates.iter().chain(residual).any(predicate_is_uneven)
        }
        Operation::HashJoin { residual, .. } => residual.iter().any(predicate_is_uneven),
        Operation::Aggregate { aggregates, .. } => aggregates.iter().any(|aggregate| {
            aggregate.argument.iter().any(scalar_is_uneven)
                || aggregate.filter.iter().any(|filter| filter.is_uneven())
        }),
        Operation::Sort { .. }
        | Operation::Limit { .. }
        | Operation::Distinct
        | Operation::Union
        | Operation::Reused { .. } => false,
    }
}

fn scalar_is_uneven(scalar: &Scalar) -> bool {
    matches!(scalar, Scalar::Expression(expression) if expression.is_uneven())
}

fn predicate_is_uneven(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Expression(expression) => expression.is_uneven(),
        Predicate::Or(arms) => arms.iter().flatten().any(predicate_is_uneven),
        // Columns as they are stored, with what is computed once.
        _ => false,
    }
}
