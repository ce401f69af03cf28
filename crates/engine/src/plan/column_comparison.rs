//! Conditions that compare columns with columns, as expressions: operators see values of one row only there.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::DataType as ArrowType;

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

/// Two columns of one type of numbers, compared in one loop; `None` for other types.
fn numbers(left: &ArrayRef, comparison: Comparison, right: &ArrayRef) -> Option<BooleanArray> {
    fn of<T: ArrowPrimitiveType>(
        left: &ArrayRef,
        comparison: Comparison,
        right: &ArrayRef,
    ) -> BooleanArray
    where
        T::Native: Ord,
    {
        let (a, b) = (left.as_primitive::<T>(), right.as_primitive::<T>());
        let (a, b) = (a.values(), b.values());
        let holds = |holds: fn(&T::Native, &T::Native) -> bool| {
            BooleanBuffer::collect_bool(a.len(), |row| holds(&a[row], &b[row]))
        };
        let values = match comparison {
            Comparison::Equal => holds(|a, b| a == b),
            Comparison::NotEqual => holds(|a, b| a != b),
            Comparison::Less => holds(|a, b| a < b),
            Comparison::LessOrEqual => holds(|a, b| a <= b),
            Comparison::Greater => holds(|a, b| a > b),
            Comparison::GreaterOrEqual => holds(|a, b| a >= b),
        };
        BooleanArray::new(values, NullBuffer::union(left.nulls(), right.nulls()))
    }
    if left.data_type() != right.data_type() {
        return None;
    }
    Some(match left.data_type() {
        ArrowType::Int16 => of::<Int16Type>(left, comparison, right),
        ArrowType::Int32 => of::<Int32Type>(left, comparison, right),
        ArrowType::Int64 => of::<Int64Type>(left, comparison, right),
        ArrowType::Date32 => of::<Date32Type>(left, comparison, right),
        _ => return None,
    })
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
        if let [left, right] = columns
            && let Some(holds) = numbers(left, self.comparison, right)
        {
            return Ok(match self.negated {
                true => Arc::new(BooleanArray::new(!holds.values(), holds.nulls().cloned())),
                false => Arc::new(holds),
            });
        }
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

#[cfg(test)]
mod tests {
    use arrow_array::{Int32Array, Int64Array};
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn loops_over_numbers_equal_the_comparison_row_by_row() {
        const SEED: u64 = 5;
        println!("seed {SEED}");
        let mut random = StdRng::seed_from_u64(SEED);
        let mut column = |wide: bool| -> ArrayRef {
            let mut value = || random.random_bool(0.8).then(|| random.random_range(-2..3));
            let values: Vec<Option<i32>> = (0..100).map(|_| value()).collect();
            match wide {
                true => Arc::new(values.iter().map(|v| v.map(i64::from)).collect::<Int64Array>()),
                false => Arc::new(Int32Array::from(values)),
            }
        };
        use Comparison::*;
        for comparison in [Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual] {
            for (wide, negated) in [(false, false), (true, false), (false, true)] {
                let columns = [column(false), column(wide)];
                let Predicate::Expression(compared) = expression(vec![0, 1], comparison, negated)
                else {
                    unreachable!("made as one")
                };
                let own = ColumnComparison {
                    columns: vec![0, 1],
                    comparison,
                    negated,
                    text: String::new(),
                };
                let expected: BooleanArray = (0..100).map(|row| own.row(&columns, row)).collect();
                let found = compared.evaluate(&columns, &[], 100).expect("nothing fails");
                assert_eq!(*found.as_boolean(), expected, "{comparison:?}, NOT {negated}");
            }
        }
    }
}
