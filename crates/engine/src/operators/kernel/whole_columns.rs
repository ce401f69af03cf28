//! Columns of Tuples in whole numbers, each gathered once for all expressions that read it.

use super::evaluate::spokesman;
use super::rows::scale_of;
use super::whole_numbers::{WholeColumn, whole_numbers, whole_numbers_of};
use crate::operators::Batch;
use crate::query_set::{ColumnOrigin, Tuples};
use crate::types::{Expression, Value};

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
        columns.iter().for_each(|&column| self.read(column));
        let columns = columns.iter().map(|&column| self.find(column));
        let columns: Vec<&WholeColumn> = columns.collect::<Option<_>>()?;
        whole_numbers(arithmetic, &columns, &parameters, self.tuples.rows)
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

/// The values that all rows have of the parameters; `None` where each row has its own.
fn parameters<'a>(
    expression: &dyn Expression,
    tuples: &Tuples,
    batch: &Batch<'a>,
) -> Option<Vec<&'a Value>> {
    let read = expression.parameters();
    if read.is_empty() {
        return Some(Vec::new());
    }
    let slot = spokesman(&tuples.sets, tuples.rows, read, batch)?;
    let own = batch.parameters[slot.index()];
    Some(read.iter().map(|&parameter| &own[parameter]).collect())
}
