//! Columns of Tuples in whole numbers, each gathered once for all expressions that read it.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::BooleanBuffer;

use super::evaluate::{constant_array, spokesman};
use super::rows::scale_of;
use super::whole_numbers::{WholeColumn, WholeInputs, whole_numbers, whole_numbers_of};
use crate::operators::Batch;
use crate::query_set::{ColumnOrigin, Tuples};
use crate::types::{ArithmeticCondition, DataType, Expression, Value};

/// Columns read so far.
pub(in crate::operators) struct WholeColumns<'a> {
    tuples: &'a Tuples,
    /// By column; `None` for those that hold something else, or NULL.
    known: Vec<(usize, Option<WholeColumn>)>,
}

impl WholeColumns<'_> {
    pub fn new(tuples: &Tuples) -> WholeColumns<'_> {
        WholeColumns { tuples, known: Vec::new() }
    }

    /// A column's number of each row, if it holds such in all.
    pub fn column(&mut self, column: usize) -> Option<Vec<i64>> {
        self.read(column);
        self.find(column).map(|column| column.clone().into_numbers())
    }

    /// An expression's value for each row; `None` where it has to be asked itself. Rows must have
    /// [one value each](super::one_value_per_row) of the parameters that it reads.
    pub fn evaluate(&mut self, expression: &dyn Expression, batch: &Batch<'_>) -> Option<Vec<i64>> {
        let arithmetic = expression.arithmetic()?;
        let (columns, mut known) = (expression.columns(), true);
        arithmetic.for_each_column(&mut |position, scale| {
            known &= scale_of(self.tuples, columns[position]) == scale;
        });
        let parameters = parameters(expression, self.tuples, batch).filter(|_| known)?;
        arithmetic.for_each_column(&mut |position, _| self.read(columns[position]));
        let columns: Vec<Option<&WholeColumn>> =
            columns.iter().map(|&column| self.find(column)).collect();
        let holds = |condition: &ArithmeticCondition| {
            holds(condition, expression, &parameters, self.tuples)
        };
        let values: Vec<&Value> = parameters.iter().map(|(_, value)| *value).collect();
        let inputs = WholeInputs { columns: &columns, parameters: &values, holds: &holds };
        whole_numbers(arithmetic, &inputs, self.tuples.rows)
    }

    fn find(&self, column: usize) -> Option<&WholeColumn> {
        self.known.iter().find(|(known, _)| *known == column)?.1.as_ref()
    }

    fn read(&mut self, column: usize) {
        if self.known.iter().any(|(known, _)| *known == column) {
            return;
        }
        let numbers = match self.tuples.columns[column] {
            ColumnOrigin::Source { source, column } => {
                let source = &self.tuples.sources[source];
                source.view.whole_numbers(column, &source.locations)
            }
            ColumnOrigin::Computed(i) => whole_numbers_of(&self.tuples.computed[i]),
        };
        self.known.push((column, numbers.map(WholeColumn::new)));
    }
}

/// The types and values that all rows have of the parameters; `None` where each row has its own.
fn parameters<'a>(
    expression: &dyn Expression,
    tuples: &Tuples,
    batch: &Batch<'a>,
) -> Option<Vec<(DataType, &'a Value)>> {
    let read = expression.parameters();
    if read.is_empty() {
        return Some(Vec::new());
    }
    let slot = spokesman(&tuples.sets, tuples.rows, read, batch)?;
    let (types, values) = (batch.types[slot.index()], batch.parameters[slot.index()]);
    Some(read.iter().map(|&parameter| (types[parameter], &values[parameter])).collect())
}

/// In which rows a condition inside an expression is true; `None` where it fails in one, perhaps.
fn holds(
    condition: &ArithmeticCondition,
    expression: &dyn Expression,
    parameters: &[(DataType, &Value)],
    tuples: &Tuples,
) -> Option<BooleanBuffer> {
    let column = |&position: &usize| tuples.column(expression.columns()[position]);
    let columns: Vec<ArrayRef> = condition.columns.iter().map(column).collect();
    let constant = |&position: &usize| {
        let (data_type, value) = parameters[position];
        constant_array(data_type, value, 1)
    };
    let constants: Vec<ArrayRef> = condition.parameters.iter().map(constant).collect();
    let truths = condition.expression.evaluate_for_one(&columns, &constants, tuples.rows).ok()?;
    let truths = truths.as_boolean_opt()?;
    Some(match truths.nulls() {
        Some(nulls) => truths.values() & nulls.inner(),
        None => truths.values().clone(),
    })
}
