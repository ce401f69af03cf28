//! Scalars over the rows of Tuples, with each activation's parameters and each activation's errors.
//!
//! An expression that reads parameters is evaluated per (row, slot), the row is "query = tuple", unless all slots that want
//! the rows have the same values: mostly they do, since literals in a statement's text are parameters too. So Tuples are
//! expanded where they must be ([`one_value_per_row`]). An error belongs to the activations that want the row: the
//! rows at fault are found by halving, their activations fail, all others get their values.

use arrow_array::{ArrayRef, UInt32Array, new_null_array};

use super::whole_columns::WholeColumns;
use super::whole_numbers::whole_array;
use crate::operators::{Batch, Faults};
use crate::query_set::{QuerySets, SetId, Tuples};
use crate::types::{
    DataType, Error, Expression, Result, Scalar, Slot, Value, array_cell, array_from_values,
};

/// Whether the scalar's value may depend on the activation.
pub fn reads_parameters(scalar: &Scalar) -> bool {
    !parameters_read(scalar).is_empty()
}

/// The parameters that the scalar's value depends on.
pub fn parameters_read(scalar: &Scalar) -> &[usize] {
    match scalar {
        Scalar::Parameter(parameter) => std::slice::from_ref(parameter),
        Scalar::Expression(expression) => expression.parameters(),
        Scalar::Column(_) | Scalar::Literal(_) => &[],
    }
}

/// Whether the scalar's value may depend on the row.
pub fn reads_columns(scalar: &Scalar) -> bool {
    match scalar {
        Scalar::Column(_) => true,
        Scalar::Expression(expression) => !expression.columns().is_empty(),
        Scalar::Parameter(_) | Scalar::Literal(_) => false,
    }
}

/// The same rows, such that the slots of each have one value of each of these parameters: as they are where all slots
/// agree, else one slot per row, rows that several want several times, slot after slot.
pub fn one_value_per_row(tuples: Tuples, parameters: &[usize], batch: &Batch<'_>) -> Tuples {
    match &tuples.sets {
        QuerySets::Single(_) => return tuples,
        QuerySets::Uniform(id) if batch.sets.single(*id).is_some() => return tuples,
        sets => {
            let wanted = sets.wanted(tuples.rows, batch.sets);
            if wanted != SetId::EMPTY && agree(parameters, wanted, batch) {
                return tuples;
            }
        }
    }
    let buckets = tuples.sets.expand(tuples.rows, batch.sets);
    let mut slots = Vec::with_capacity(buckets.rows.len());
    for (slot, rows) in buckets.iter() {
        slots.extend(std::iter::repeat_n(slot, rows.len()));
    }
    let shared = Tuples { sets: QuerySets::Uniform(batch.sets.all()), ..tuples };
    let mut expanded = shared.take(&buckets.rows);
    expanded.sets = QuerySets::Single(slots);
    expanded
}

/// Whether these slots have the same values of these parameters, bit for bit.
pub fn agree(parameters: &[usize], slots: SetId, batch: &Batch<'_>) -> bool {
    let mut slots = batch.sets.members(slots);
    let Some(first) = slots.next() else { return true };
    let own = |slot: Slot, parameter: usize| {
        (batch.types[slot.index()][parameter], &batch.parameters[slot.index()][parameter])
    };
    let same = |slot: Slot, parameter: usize| {
        let ((a_type, a), (b_type, b)) = (own(first, parameter), own(slot, parameter));
        a_type == b_type && is_same(a, b)
    };
    slots.all(|slot| parameters.iter().all(|&parameter| same(slot, parameter)))
}

/// Zeros of different signs are different here, and NaNs of equal bits are not.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Real(a), Value::Real(b)) => a.to_bits() == b.to_bits(),
        (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits(),
        _ => a == b,
    }
}

/// The slot whose values of these parameters are those of all rows; `None` where each row's slot has its own, or there is
/// none.
pub(super) fn spokesman(
    sets: &QuerySets,
    rows: usize,
    parameters: &[usize],
    batch: &Batch<'_>,
) -> Option<Slot> {
    match sets {
        QuerySets::Single(slots) => {
            let wanted = sets.wanted(rows, batch.sets);
            slots.first().copied().filter(|_| agree(parameters, wanted, batch))
        }
        QuerySets::Uniform(id) => batch.sets.members(*id).next(),
        _ => (0..rows).find_map(|row| {
            let mut first = None;
            sets.row(row).for_each(batch.sets, |slot| first = first.or(Some(slot)));
            first
        }),
    }
}

/// A scalar's value for every row. Where it fails the row's value is NULL and its slots have a fault. Rows must
/// have [one value each](one_value_per_row) of the parameters that the scalar reads.
pub fn evaluate(
    scalar: &Scalar,
    data_type: DataType,
    tuples: &Tuples,
    batch: &Batch<'_>,
    faults: &mut Faults,
) -> ArrayRef {
    match scalar {
        Scalar::Column(column) => tuples.column(*column),
        Scalar::Literal(value) => constant_array(data_type, value, tuples.rows),
        Scalar::Parameter(parameter) => parameter_array(*parameter, data_type, tuples, batch),
        Scalar::Expression(expression) => evaluate_expression(&**expression, tuples, batch, faults),
    }
}

/// An expression's value for every row; see [`evaluate`].
pub fn evaluate_expression(
    expression: &dyn Expression,
    tuples: &Tuples,
    batch: &Batch<'_>,
    faults: &mut Faults,
) -> ArrayRef {
    if let Some(numbers) = WholeColumns::new(tuples).evaluate(expression, batch) {
        return whole_array(expression.data_type(), numbers);
    }
    let inputs = Inputs::gather(expression, tuples, batch);
    match inputs.evaluate(expression) {
        Ok(array) => array,
        Err(error) => evaluate_around_faults(expression, &inputs, error, tuples, batch, faults),
    }
}

/// Like [`evaluate_expression`], failing as a whole.
pub fn try_evaluate_expression(
    expression: &dyn Expression,
    tuples: &Tuples,
    batch: &Batch<'_>,
) -> Result<ArrayRef> {
    Inputs::gather(expression, tuples, batch).evaluate(expression)
}

/// A scalar that reads no column, for one activation.
pub fn evaluate_constant(scalar: &Scalar, slot: Slot, batch: &Batch<'_>) -> Result<Value> {
    match scalar {
        Scalar::Literal(value) => Ok(value.clone()),
        Scalar::Parameter(parameter) => Ok(batch.parameters[slot.index()][*parameter].clone()),
        Scalar::Column(column) => unreachable!("column {column} where there is no row"),
        Scalar::Expression(expression) => {
            assert!(expression.columns().is_empty(), "{} is no constant", expression.text());
            let parameters = expression.parameters().iter().map(|&parameter| {
                let value = &batch.parameters[slot.index()][parameter];
                constant_array(batch.types[slot.index()][parameter], value, 1)
            });
            let array = expression.evaluate(&[], &parameters.collect::<Vec<_>>(), 1)?;
            Ok(array_cell(&array, 0).to_owned())
        }
    }
}

fn parameter_array(
    parameter: usize,
    data_type: DataType,
    tuples: &Tuples,
    batch: &Batch<'_>,
) -> ArrayRef {
    let value = |slot: Slot| &batch.parameters[slot.index()][parameter];
    let spokesman = spokesman(&tuples.sets, tuples.rows, &[parameter], batch);
    match (&tuples.sets, spokesman) {
        (_, Some(slot)) => constant_array(data_type, value(slot), tuples.rows),
        (QuerySets::Single(slots), None) => {
            array_from_values(data_type, slots.iter().map(|&slot| value(slot).borrow()))
        }
        (_, None) => {
            assert_eq!(tuples.rows, 0, "somebody wants the rows");
            constant_array(data_type, &Value::Null, 0)
        }
    }
}

/// An array of one value, `rows` times.
pub fn constant_array(data_type: DataType, value: &Value, rows: usize) -> ArrayRef {
    match value {
        Value::Null => new_null_array(&data_type.arrow(), rows),
        _ => array_from_values(data_type, std::iter::repeat_n(value.borrow(), rows)),
    }
}

struct Inputs {
    columns: Vec<ArrayRef>,
    parameters: Vec<ArrayRef>,
    /// Parameters have one value each, that of all slots.
    constant: bool,
    rows: usize,
}

impl Inputs {
    fn gather(expression: &dyn Expression, tuples: &Tuples, batch: &Batch<'_>) -> Inputs {
        let columns = expression.columns().iter().map(|&column| tuples.column(column));
        let only = match expression.parameters() {
            [] => None,
            read => spokesman(&tuples.sets, tuples.rows, read, batch),
        };
        let parameters = expression.parameters().iter().map(|&parameter| match only {
            Some(slot) => {
                let value = &batch.parameters[slot.index()][parameter];
                constant_array(batch.types[slot.index()][parameter], value, 1)
            }
            None => {
                let data_type = parameter_type(parameter, tuples, batch);
                parameter_array(parameter, data_type, tuples, batch)
            }
        });
        let (columns, parameters) = (columns.collect(), parameters.collect());
        let constant = only.is_some() || expression.parameters().is_empty();
        Inputs { columns, parameters, constant, rows: tuples.rows }
    }

    fn evaluate(&self, expression: &dyn Expression) -> Result<ArrayRef> {
        match self.constant {
            true => expression.evaluate_for_one(&self.columns, &self.parameters, self.rows),
            false => expression.evaluate(&self.columns, &self.parameters, self.rows),
        }
    }

    fn take(&self, rows: &[u32]) -> Inputs {
        let take =
            |arrays: &[ArrayRef]| arrays.iter().map(|array| take_rows(array, rows)).collect();
        let parameters = match self.constant {
            true => self.parameters.clone(),
            false => take(&self.parameters),
        };
        let columns = take(&self.columns);
        Inputs { columns, parameters, constant: self.constant, rows: rows.len() }
    }
}

/// A parameter's type. Slots that evaluate the same expression are of templates that gave its parameters the same types; where
/// nobody wants a row it does not matter.
pub fn parameter_type(parameter: usize, tuples: &Tuples, batch: &Batch<'_>) -> DataType {
    let slot = match &tuples.sets {
        QuerySets::Single(slots) => slots.first().copied(),
        sets => spokesman(sets, tuples.rows, &[parameter], batch),
    };
    slot.map_or(DataType::BigInt, |slot| batch.types[slot.index()][parameter])
}

/// The rows named, in that order.
fn take_rows(array: &ArrayRef, rows: &[u32]) -> ArrayRef {
    let indices = UInt32Array::from(rows.to_vec());
    arrow_select::take::take(array, &indices, None).expect("rows lie inside the array")
}

/// Finds the rows that fail, fails their slots and evaluates the rows that are left.
fn evaluate_around_faults(
    expression: &dyn Expression,
    inputs: &Inputs,
    error: Error,
    tuples: &Tuples,
    batch: &Batch<'_>,
    faults: &mut Faults,
) -> ArrayRef {
    let all: Vec<u32> = (0..tuples.rows as u32).collect();
    let mut search = Search { expression, inputs, tuples, batch, faults };
    search.halve(&all, error);
    let sound: Vec<u32> = all.into_iter().filter(|&row| search.is_wanted(row)).collect();
    match inputs.take(&sound).evaluate(expression) {
        Ok(value) => scatter(&value, &sound, tuples.rows),
        // It fails whatever the rows, even for none.
        Err(error) => {
            search.fail(&sound, &error);
            new_null_array(&expression.data_type().arrow(), tuples.rows)
        }
    }
}

struct Search<'a> {
    expression: &'a dyn Expression,
    inputs: &'a Inputs,
    tuples: &'a Tuples,
    batch: &'a Batch<'a>,
    faults: &'a mut Faults,
}

impl Search<'_> {
    /// `rows` fail with `error` when evaluated together.
    fn halve(&mut self, rows: &[u32], error: Error) {
        if let [_] = rows {
            return self.fail(rows, &error);
        }
        let (left, right) = rows.split_at(rows.len() / 2);
        for half in [left, right] {
            let wanted: Vec<u32> = half.iter().copied().filter(|&r| self.is_wanted(r)).collect();
            if wanted.is_empty() {
                continue;
            }
            if let Err(error) = self.inputs.take(&wanted).evaluate(self.expression) {
                self.halve(&wanted, error);
            }
        }
    }

    /// Fails the slots that want one of the rows.
    fn fail(&mut self, rows: &[u32], error: &Error) {
        for &row in rows {
            let set = self.tuples.sets.row(row as usize);
            set.for_each(self.batch.sets, |slot| self.faults.add(slot, error.clone()));
        }
    }

    /// Whether a slot without a fault wants the row.
    fn is_wanted(&self, row: u32) -> bool {
        let mut wanted = false;
        let set = self.tuples.sets.row(row as usize);
        set.for_each(self.batch.sets, |slot| wanted |= !self.faults.contains(slot));
        wanted
    }
}

/// `values[i]` at row `rows[i]`, NULL elsewhere.
fn scatter(values: &ArrayRef, rows: &[u32], total: usize) -> ArrayRef {
    let mut places: Vec<Option<u32>> = vec![None; total];
    rows.iter().enumerate().for_each(|(place, &row)| places[row as usize] = Some(place as u32));
    let indices = UInt32Array::from(places);
    arrow_select::take::take(values, &indices, None).expect("places lie inside the array")
}
