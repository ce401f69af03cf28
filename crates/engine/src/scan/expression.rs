//! Expressions that only the `sql` crate can evaluate, over many (row, slot) pairs at once: the query is a tuple,
//! so its parameters come as columns beside the row's.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};

use super::conjunction::BoundParameters;
use crate::storage::TableView;
use crate::types::{ColumnId, Error, Expression, Location, Result, SqlState, array_from_values};

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
    truths(&evaluate_with(expression, view, parameters, rows)?)
}

/// For each (row, owner) pair whether the expression is true; pairs come grouped by owner. Fails as a whole.
pub fn evaluate_for_many<'a>(
    expression: &dyn Expression,
    view: &TableView,
    groups: &[(usize, Vec<Location>)],
    parameters: impl Fn(usize) -> &'a BoundParameters,
) -> Result<Vec<bool>> {
    let rows: Vec<Location> = groups.iter().flat_map(|(_, rows)| rows).copied().collect();
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let owners: Vec<usize> =
        groups.iter().flat_map(|(owner, rows)| std::iter::repeat_n(*owner, rows.len())).collect();
    let columns = gather(expression, view, &rows);
    let arrays = parameter_columns(expression, rows.len(), |pair| parameters(owners[pair]));
    truths(&expression.evaluate(&columns, &arrays, rows.len())?)
}

/// The value of an expression that reads no parameter, for each row.
pub fn evaluate_on_columns(
    expression: &dyn Expression,
    view: &TableView,
    rows: &[Location],
) -> Result<ArrayRef> {
    debug_assert!(expression.parameters().is_empty(), "{}", expression.text());
    expression.evaluate(&gather(expression, view, rows), &[], rows.len())
}

/// An expression's value for each row, with the parameters of one activation.
pub fn evaluate_with(
    expression: &dyn Expression,
    view: &TableView,
    parameters: &BoundParameters,
    rows: &[Location],
) -> Result<ArrayRef> {
    let columns = gather(expression, view, rows);
    let parameters = parameter_columns(expression, rows.len(), |_| parameters);
    expression.evaluate(&columns, &parameters, rows.len())
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

/// Which values are true.
pub fn truths(array: &ArrayRef) -> Result<Vec<bool>> {
    let Some(booleans) = array.as_boolean_opt() else {
        let message = format!("a condition evaluated to {}", array.data_type());
        return Err(Error::new(SqlState::InternalError, message));
    };
    Ok(booleans.iter().map(|truth| truth == Some(true)).collect())
}
