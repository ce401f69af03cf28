//! Rows given in the statement: `VALUES`, or one row without columns where there is no FROM.
//!
//! Rows of literals are made once for all slots; rows with parameters once per slot, which is their own work.

use arrow_array::new_empty_array;

use super::kernel::{evaluate_constant, of_arrays, reads_parameters};
use super::{Batch, Faults};
use crate::query_set::{QuerySets, SetId, Tuples};
use crate::types::{DataType, Result, Scalar, Slot, Value, array_from_values};

/// Rows given in the statement.
#[derive(Clone, Debug, Default)]
pub struct ValuesNode {
    /// Row after row: literals, parameters, expressions over parameters.
    pub rows: Vec<Vec<Scalar>>,
    /// The columns' types.
    pub types: Vec<DataType>,
}

/// The rows for every slot of `set`. A slot with a failing scalar gets none.
pub fn values(node: &ValuesNode, batch: &Batch<'_>, set: SetId, faults: &mut Faults) -> Tuples {
    let own = node.rows.iter().flatten().any(reads_parameters);
    let mut slots = Vec::new();
    match own {
        true => batch.sets.for_each(set, |slot| slots.push(slot)),
        false => slots.extend(batch.sets.members(set).next()),
    }
    let mut rows: Vec<Vec<Value>> = Vec::new();
    let mut owners = Vec::new();
    for slot in slots {
        match bind(node, batch, slot) {
            Ok(bound) => {
                owners.extend(std::iter::repeat_n(slot, bound.len()));
                rows.extend(bound);
            }
            Err(error) if own => faults.add(slot, error),
            Err(error) => batch.sets.for_each(set, |slot| faults.add(slot, error.clone())),
        }
    }
    let sets = if own { QuerySets::Single(owners) } else { QuerySets::Uniform(set) };
    tuples_of(&rows, &node.types, sets)
}

fn bind(node: &ValuesNode, batch: &Batch<'_>, slot: Slot) -> Result<Vec<Vec<Value>>> {
    let bind_row =
        |row: &Vec<Scalar>| row.iter().map(|s| evaluate_constant(s, slot, batch)).collect();
    node.rows.iter().map(bind_row).collect()
}

fn tuples_of(rows: &[Vec<Value>], types: &[DataType], sets: QuerySets) -> Tuples {
    let column = |(i, &data_type): (usize, &DataType)| match rows.is_empty() {
        true => new_empty_array(&data_type.arrow()),
        false => array_from_values(data_type, rows.iter().map(|row| row[i].borrow())),
    };
    let columns = types.iter().enumerate().map(column).collect();
    of_arrays(columns, rows.len(), sets)
}
