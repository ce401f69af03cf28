//! Expressions that only the `sql` crate can evaluate, over many (row, slot) pairs at once: the query is a tuple,
//! so its parameters come as columns beside the row's.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};

use super::conjunction::BoundParameters;
use super::row_test::ChunkReader;
use crate::types::{ColumnId, Error, Expression, Location, Result, Slot, SqlState, array_from_values};

/// For each row whether the expression is true for one activation.
pub fn evaluate_for_one(
    expression: &dyn Expression,
    reader: ChunkReader<'_>,
    parameters: &BoundParameters,
    rows: &[u32],
) -> Result<Vec<bool>> {
    let columns = gather(expression, reader, rows);
    let parameters = parameter_columns(expression, rows.len(), |_| parameters);
    truths(&expression.evaluate(&columns, &parameters, rows.len())?)
}

/// For each (row, slot) pair whether the expression is true; pairs come grouped by slot. Where the evaluation of
/// all fails, each slot is evaluated on its own: whose fails gets its error, and its pairs count as false.
pub fn evaluate_for_many<'a>(
    expression: &dyn Expression,
    reader: ChunkReader<'_>,
    pairs: &[(Slot, Vec<u32>)],
    parameters: impl Fn(Slot) -> &'a BoundParameters,
    errors: &mut Vec<(Slot, Error)>,
) -> Vec<Vec<bool>> {
    let rows: Vec<u32> = pairs.iter().flat_map(|(_, rows)| rows).copied().collect();
    let owners: Vec<Slot> =
        pairs.iter().flat_map(|(slot, rows)| std::iter::repeat_n(*slot, rows.len())).collect();
    let columns = gather(expression, reader, &rows);
    let arrays = parameter_columns(expression, rows.len(), |pair| parameters(owners[pair]));
    let together = expression.evaluate(&columns, &arrays, rows.len());
    if let Ok(truths) = together.and_then(|array| truths(&array)) {
        let mut rest = truths.into_iter();
        return pairs.iter().map(|(_, rows)| rest.by_ref().take(rows.len()).collect()).collect();
    }
    let mut alone = |(slot, rows): &(Slot, Vec<u32>)| {
        evaluate_for_one(expression, reader, parameters(*slot), rows).unwrap_or_else(|error| {
            errors.push((*slot, error));
            vec![false; rows.len()]
        })
    };
    pairs.iter().map(&mut alone).collect()
}

fn gather(expression: &dyn Expression, reader: ChunkReader<'_>, rows: &[u32]) -> Vec<ArrayRef> {
    let locations: Vec<Location> = rows.iter().map(|&row| reader.location(row)).collect();
    let columns = expression.columns().iter();
    columns.map(|&column| reader.view.gather(ColumnId(column as u32), &locations)).collect()
}

fn parameter_columns<'a>(
    expression: &dyn Expression,
    pairs: usize,
    owner: impl Fn(usize) -> &'a BoundParameters,
) -> Vec<ArrayRef> {
    if pairs == 0 {
        return expression.parameters().iter().map(|_| empty_column()).collect();
    }
    let column = |&parameter: &usize| {
        let values = (0..pairs).map(|pair| owner(pair).values[parameter].borrow());
        array_from_values(owner(0).types[parameter], values)
    };
    expression.parameters().iter().map(column).collect()
}

fn empty_column() -> ArrayRef {
    std::sync::Arc::new(arrow_array::NullArray::new(0))
}

fn truths(array: &ArrayRef) -> Result<Vec<bool>> {
    let Some(booleans) = array.as_boolean_opt() else {
        let message = format!("a condition evaluated to {}", array.data_type());
        return Err(Error::new(SqlState::InternalError, message));
    };
    Ok(booleans.iter().map(|truth| truth == Some(true)).collect())
}
