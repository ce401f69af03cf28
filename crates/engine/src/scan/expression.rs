//! Expressions that only the `sql` crate can evaluate, over many (row, slot) pairs at once: the query is a tuple,
//! so its parameters come as columns beside the row's.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};

use super::conjunction::BoundParameters;
use crate::storage::TableView;
use crate::types::{
    ColumnId, Error, Expression, Location, Result, Slot, SqlState, array_from_values,
};

/// For each row whether the expression is true for one activation.
pub fn evaluate_for_one(
    expression: &dyn Expression,
    view: &TableView,
    parameters: &BoundParameters,
    rows: &[Location],
) -> Result<Vec<bool>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let columns = gather(expression, view, rows);
    let parameters = parameter_columns(expression, rows.len(), |_| parameters);
    truths(&expression.evaluate(&columns, &parameters, rows.len())?)
}

/// For each (row, slot) pair whether the expression is true; pairs come grouped by slot. Where the evaluation of
/// all fails, each slot is evaluated on its own: whose fails gets its error, and its pairs count as false.
pub fn evaluate_for_many<'a>(
    expression: &dyn Expression,
    view: &TableView,
    pairs: &[(Slot, Vec<Location>)],
    parameters: impl Fn(Slot) -> &'a BoundParameters,
    errors: &mut Vec<(Slot, Error)>,
) -> Vec<Vec<bool>> {
    let rows: Vec<Location> = pairs.iter().flat_map(|(_, rows)| rows).copied().collect();
    if rows.is_empty() {
        return vec![Vec::new(); pairs.len()];
    }
    let owners: Vec<Slot> =
        pairs.iter().flat_map(|(slot, rows)| std::iter::repeat_n(*slot, rows.len())).collect();
    let columns = gather(expression, view, &rows);
    let arrays = parameter_columns(expression, rows.len(), |pair| parameters(owners[pair]));
    let together = expression.evaluate(&columns, &arrays, rows.len());
    if let Ok(truths) = together.and_then(|array| truths(&array)) {
        let mut rest = truths.into_iter();
        return pairs.iter().map(|(_, rows)| rest.by_ref().take(rows.len()).collect()).collect();
    }
    let mut alone = |(slot, rows): &(Slot, Vec<Location>)| {
        evaluate_for_one(expression, view, parameters(*slot), rows).unwrap_or_else(|error| {
            errors.push((*slot, error));
            vec![false; rows.len()]
        })
    };
    pairs.iter().map(&mut alone).collect()
}

fn gather(expression: &dyn Expression, view: &TableView, rows: &[Location]) -> Vec<ArrayRef> {
    let columns = expression.columns().iter();
    columns.map(|&column| view.gather(ColumnId(column as u32), rows)).collect()
}

fn parameter_columns<'a>(
    expression: &dyn Expression,
    pairs: usize,
    owner: impl Fn(usize) -> &'a BoundParameters,
) -> Vec<ArrayRef> {
    let column = |&parameter: &usize| {
        let values = (0..pairs).map(|pair| owner(pair).values[parameter].borrow());
        array_from_values(owner(0).types[parameter], values)
    };
    expression.parameters().iter().map(column).collect()
}

fn truths(array: &ArrayRef) -> Result<Vec<bool>> {
    let Some(booleans) = array.as_boolean_opt() else {
        let message = format!("a condition evaluated to {}", array.data_type());
        return Err(Error::new(SqlState::InternalError, message));
    };
    Ok(booleans.iter().map(|truth| truth == Some(true)).collect())
}
