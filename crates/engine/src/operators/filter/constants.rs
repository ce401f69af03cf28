//! Comparisons of a column, or of an expression over columns, with each activation's own constant: the constants are
//! sorted, and a row's value finds its place among them, which says at once who wants the row.

use std::cmp::Ordering;

use arrow_array::{Array, ArrayRef};

use super::mask::{digits, digits_of, number, numbers};
use crate::operators::kernel::{evaluate_constant, evaluate_expression, reads_columns};
use crate::operators::{Batch, Faults};
use crate::query_set::{SetId, Tuples, words};
use crate::types::{Comparison, Predicate, Scalar, Slot, Value, array_cell};

/// Who wants each row, by this predicate alone; `None` where it is no comparison with constants. Slots whose
/// constant fails get a fault, and so do those that want a row for which a computed side fails.
pub fn sets(
    predicate: &Predicate,
    slots: SetId,
    batch: &Batch<'_>,
    tuples: &Tuples,
    faults: &mut Faults,
) -> Option<Vec<SetId>> {
    let (comparison, values) = match predicate {
        Predicate::Compare { comparison, value, .. } => (*comparison, std::slice::from_ref(value)),
        Predicate::In { values, negated: false, .. } => (Comparison::Equal, values.as_slice()),
        // Different from every one of several constants: see `Constants::wanted`.
        Predicate::In { values, .. } if !values.is_empty() => {
            (Comparison::NotEqual, values.as_slice())
        }
        Predicate::Expression(expression) => {
            let compared = expression.comparison()?;
            (compared.comparison, std::slice::from_ref(&compared.right))
        }
        _ => return None,
    };
    if values.iter().any(reads_columns) {
        return None;
    }
    let array = match predicate {
        Predicate::Compare { column, .. } | Predicate::In { column, .. } => tuples.column(*column),
        Predicate::Expression(expression) => {
            let left = &expression.comparison()?.left;
            evaluate_expression(&**left, tuples, batch, faults)
        }
        Predicate::Like { .. } | Predicate::IsNull { .. } | Predicate::Or(_) => return None,
    };
    let constants = Constants::bind(values, slots, batch, faults);
    let wanted = constants.wanted(comparison, batch);
    let mut sets: Vec<SetId> =
        constants.places(&array).map(|(place, equal)| wanted.get(place, equal)).collect();
    if let Some(nulls) = array.logical_nulls() {
        let rows = sets.iter_mut().zip(nulls.iter());
        rows.filter(|(_, valid)| !valid).for_each(|(set, _)| *set = SetId::EMPTY);
    }
    Some(sets)
}

/// Distinct constants, ascending, each with the slots that brought it. NULLs compare with nothing.
struct Constants {
    values: Vec<Value>,
    slots: Vec<Vec<Slot>>,
    /// Slots with a NULL among theirs: nothing is known to differ from all of them.
    unsure: Vec<Slot>,
}

impl Constants {
    fn bind(scalars: &[Scalar], slots: SetId, batch: &Batch<'_>, faults: &mut Faults) -> Constants {
        let mut pairs: Vec<(Value, Slot)> = Vec::new();
        let mut unsure = Vec::new();
        batch.sets.for_each(slots, |slot| {
            for scalar in scalars {
                match evaluate_constant(scalar, slot, batch) {
                    Ok(Value::Null) => unsure.push(slot),
                    Ok(value) => pairs.push((value, slot)),
                    Err(error) => faults.add(slot, error),
                }
            }
        });
        pairs.sort_by(|(a, _), (b, _)| a.borrow().compare(b.borrow()));
        let mut constants = Constants { values: Vec::new(), slots: Vec::new(), unsure };
        for (value, slot) in pairs {
            let same = constants
                .values
                .last()
                .is_some_and(|last| last.borrow().compare(value.borrow()).is_eq());
            if !same {
                constants.values.push(value);
                constants.slots.push(Vec::new());
            }
            constants.slots.last_mut().expect("a value was pushed").push(slot);
        }
        constants
    }

    /// For every row the number of constants below its value, and whether the next one equals it.
    fn places<'a>(&'a self, array: &'a ArrayRef) -> Box<dyn Iterator<Item = (usize, bool)> + 'a> {
        let known: Option<Vec<i64>> = self.values.iter().map(|v| number(array, v)).collect();
        if let (Some(constants), Some(numbers)) = (known, numbers(array)) {
            return Box::new(numbers.map(move |number| {
                let place = constants.partition_point(|&constant| constant < number);
                (place, constants.get(place) == Some(&number))
            }));
        }
        let known: Option<Vec<i128>> = self.values.iter().map(|v| digits_of(array, v)).collect();
        if let (Some(constants), Some(digits)) = (known, digits(array)) {
            return Box::new(digits.iter().map(move |digits| {
                let place = constants.partition_point(|constant| constant < digits);
                (place, constants.get(place) == Some(digits))
            }));
        }
        Box::new((0..array.len()).map(move |row| {
            let value = array_cell(array, row);
            let order = |place: usize| self.values[place].borrow().compare(value);
            let place = self.values.partition_point(|c| c.borrow().compare(value).is_lt());
            (place, place < self.values.len() && order(place) == Ordering::Equal)
        }))
    }

    fn wanted(&self, comparison: Comparison, batch: &Batch<'_>) -> Wanted {
        let own = || self.slots.iter().map(|s| batch.sets.intern_slots(s.iter().copied()));
        let count = self.values.len();
        let all = self.running(0..count, batch).pop().unwrap_or(SetId::EMPTY);
        let unsure = batch.sets.intern_slots(self.unsure.iter().copied());
        let all = batch.sets.difference(all, unsure);
        use Comparison::*;
        let between = match comparison {
            Equal => vec![SetId::EMPTY; count + 1],
            NotEqual => vec![all; count + 1],
            // Constants above the value want it, or those below.
            Less | LessOrEqual => {
                let mut above = self.running((0..count).rev(), batch);
                above.reverse();
                above
            }
            Greater | GreaterOrEqual => self.running(0..count, batch),
        };
        let at: Vec<SetId> = match comparison {
            Equal => own().collect(),
            NotEqual => own().map(|set| batch.sets.difference(all, set)).collect(),
            Less | GreaterOrEqual => between[1..].to_vec(),
            LessOrEqual | Greater => between[..count].to_vec(),
        };
        Wanted { between, at }
    }

    /// The sets of no constant, of the first in `order`, of the first two, and so on.
    fn running(&self, order: impl Iterator<Item = usize>, batch: &Batch<'_>) -> Vec<SetId> {
        let mut set = vec![0; batch.sets.word_count()];
        let mut sets = vec![SetId::EMPTY];
        for constant in order {
            self.slots[constant].iter().for_each(|&slot| words::insert(&mut set, slot));
            sets.push(batch.sets.intern(&set));
        }
        sets
    }
}

/// Who wants a value, by its place among the constants.
struct Wanted {
    /// With so many constants below and the next one above.
    between: Vec<SetId>,
    /// Equal to this constant.
    at: Vec<SetId>,
}

impl Wanted {
    fn get(&self, place: usize, equal: bool) -> SetId {
        if equal { self.at[place] } else { self.between[place] }
    }
}
