//! Which columns and parameters a predicate reads, and the same predicate over other positions.

use std::sync::Arc;

use arrow_array::ArrayRef;

use crate::types::{
    Arithmetic, ComputedComparison, DataType, Expression, Predicate, PrefixIn, Result, Scalar,
};

/// An expression over moved columns: `evaluate` stays as it is, since it takes its columns in its own order.
#[derive(Debug)]
struct Moved {
    inner: Arc<dyn Expression>,
    columns: Vec<usize>,
    comparison: Option<ComputedComparison>,
}

impl Expression for Moved {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn parameters(&self) -> &[usize] {
        self.inner.parameters()
    }

    fn data_type(&self) -> DataType {
        self.inner.data_type()
    }

    fn evaluate(
        &self,
        columns: &[ArrayRef],
        parameters: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef> {
        self.inner.evaluate(columns, parameters, rows)
    }

    fn evaluate_for_one(
        &self,
        columns: &[ArrayRef],
        constants: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef> {
        self.inner.evaluate_for_one(columns, constants, rows)
    }

    fn is_uneven(&self) -> bool {
        self.inner.is_uneven()
    }

    fn text(&self) -> &str {
        self.inner.text()
    }

    fn meaning(&self) -> &str {
        self.inner.meaning()
    }

    fn comparison(&self) -> Option<&ComputedComparison> {
        self.comparison.as_ref()
    }

    fn prefix(&self) -> Option<&PrefixIn> {
        self.inner.prefix()
    }

    fn arithmetic(&self) -> Option<&Arithmetic> {
        self.inner.arithmetic()
    }
}

/// Calls `visit` with each column that `scalar` reads.
pub fn scalar_columns(scalar: &Scalar, visit: &mut dyn FnMut(usize)) {
    match scalar {
        Scalar::Column(column) => visit(*column),
        Scalar::Parameter(_) | Scalar::Literal(_) => {}
        Scalar::Expression(expression) => expression.columns().iter().for_each(|c| visit(*c)),
    }
}

/// Calls `visit` with each column that `predicate` reads.
pub fn predicate_columns(predicate: &Predicate, visit: &mut dyn FnMut(usize)) {
    match predicate {
        Predicate::Compare { column, value, .. } => {
            visit(*column);
            scalar_columns(value, visit);
        }
        Predicate::In { column, values, .. } => {
            visit(*column);
            values.iter().for_each(|value| scalar_columns(value, visit));
        }
        Predicate::Like { column, pattern, .. } => {
            visit(*column);
            scalar_columns(pattern, visit);
        }
        Predicate::IsNull { column, .. } => visit(*column),
        Predicate::Or(arms) => {
            arms.iter().flatten().for_each(|inner| predicate_columns(inner, visit));
        }
        Predicate::Expression(expression) => expression.columns().iter().for_each(|c| visit(*c)),
    }
}

/// Whether all columns that `predicate` reads satisfy `accept`.
pub fn reads_only(predicate: &Predicate, accept: impl Fn(usize) -> bool) -> bool {
    let mut all = true;
    predicate_columns(predicate, &mut |column| all &= accept(column));
    all
}

/// The scalar with each column `c` replaced by `to(c)`.
pub fn move_scalar(scalar: &Scalar, to: &dyn Fn(usize) -> usize) -> Scalar {
    match scalar {
        Scalar::Column(column) => Scalar::Column(to(*column)),
        Scalar::Expression(expression) => Scalar::Expression(move_expression(expression, to)),
        other => other.clone(),
    }
}

/// The expression with each column `c` replaced by `to(c)`.
pub fn move_expression(
    expression: &Arc<dyn Expression>,
    to: &dyn Fn(usize) -> usize,
) -> Arc<dyn Expression> {
    let columns: Vec<usize> = expression.columns().iter().map(|c| to(*c)).collect();
    if columns == expression.columns() {
        return expression.clone();
    }
    let comparison = expression.comparison().map(|compared| ComputedComparison {
        left: move_expression(&compared.left, to),
        ..compared.clone()
    });
    Arc::new(Moved { inner: expression.clone(), columns, comparison })
}

/// The predicate with each column `c` replaced by `to(c)`.
pub fn move_predicate(predicate: &Predicate, to: &dyn Fn(usize) -> usize) -> Predicate {
    match predicate {
        Predicate::Compare { column, comparison, value } => Predicate::Compare {
            column: to(*column),
            comparison: *comparison,
            value: move_scalar(value, to),
        },
        Predicate::In { column, values, negated } => Predicate::In {
            column: to(*column),
            values: values.iter().map(|value| move_scalar(value, to)).collect(),
            negated: *negated,
        },
        Predicate::Like { column, pattern, negated, case_insensitive } => Predicate::Like {
            column: to(*column),
            pattern: move_scalar(pattern, to),
            negated: *negated,
            case_insensitive: *case_insensitive,
        },
        Predicate::IsNull { column, negated } => {
            Predicate::IsNull { column: to(*column), negated: *negated }
        }
        Predicate::Or(arms) => {
            Predicate::Or(arms.iter().map(|arm| move_predicates(arm, to)).collect())
        }
        Predicate::Expression(expression) => Predicate::Expression(move_expression(expression, to)),
    }
}

/// [`move_predicate`] for a conjunction.
pub fn move_predicates(predicates: &[Predicate], to: &dyn Fn(usize) -> usize) -> Vec<Predicate> {
    predicates.iter().map(|predicate| move_predicate(predicate, to)).collect()
}
