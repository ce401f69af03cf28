//! Conditions that compare columns with columns, as expressions: operators see values of one row only there.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};

use crate::transaction::compare;
use crate::types::{Comparison, DataType, Expression, Predicate, Result, Scalar, array_cell};

/// `first op any of the others`, three-valued.
#[derive(Debug)]
struct ColumnComparison {
    columns: Vec<usize>,
    comparison: Comparison,
    negated: bool,
    text: String,
}

impl ColumnComparison {
    /// True if one comparison is, else NULL if one is NULL, else false.
    fn row(&self, columns: &[ArrayRef], row: usize) -> Option<bool> {
        let first = array_cell(&columns[0], row);
        let mut result = Some(false);
        for other in &columns[1..] {
            match compare(first, self.comparison, array_cell(other, row)) {
                Some(true) => return Some(!self.negated),
                Some(false) => {}
                None => result = None,
            }
        }
        result.map(|holds| holds != self.negated)
    }
}

impl Expression for ColumnComparison {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn parameters(&self) -> &[usize] {
        &[]
    }

    fn data_type(&self) -> DataType {
        DataType::Boolean
    }

    fn evaluate(
        &self,
        columns: &[ArrayRef],
        _parameters: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef> {
        let holds: BooleanArray = (0..rows).map(|row| self.row(columns, row)).collect();
        Ok(Arc::new(holds))
    }

    fn text(&self) -> &str {
        &self.text
    }
}

/// Replaces comparisons of a column with columns by an expression; everything else stays.
pub fn opaque(predicate: Predicate) -> Predicate {
    match &predicate {
        Predicate::Compare { column, comparison, value: Scalar::Column(other) } => {
            expression(vec![*column, *other], *comparison, false)
        }
        Predicate::In { column, values, negated } => {
            let others = values.iter().map(|value| match value {
                Scalar::Column(column) => Some(*column),
                _ => None,
            });
            match others.collect::<Option<Vec<usize>>>() {
                Some(others) if !others.is_empty() => {
                    let columns = std::iter::once(*column).chain(others).collect();
                    expression(columns, Comparison::Equal, *negated)
                }
                _ => predicate,
            }
        }
        Predicate::Or(arms) => {
            let arm = |arm: &Vec<Predicate>| arm.iter().cloned().map(opaque).collect();
            Predicate::Or(arms.iter().map(arm).collect())
        }
        _ => predicate,
    }
}

fn expression(columns: Vec<usize>, comparison: Comparison, negated: bool) -> Predicate {
    let text = format!("{}{comparison:?}{columns:?}", if negated { "not " } else { "" });
    Predicate::Expression(Arc::new(ColumnComparison { columns, comparison, negated, text }))
}
