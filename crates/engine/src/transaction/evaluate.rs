//! Expressions and predicates on one row at a time, for writes. Batches of rows are `scan`'s business.

use crate::storage::TableView;
use crate::types::{
    ColumnId, Comparison, DataType, Error, Expression, Location, Predicate, Result, Scalar,
    SqlState, Value, ValueRef, array_cell, array_from_values, check_digits,
};

use super::like;

/// A row whose columns can be read one by one.
pub trait Row {
    /// The value of a column.
    fn cell(&self, column: usize) -> ValueRef<'_>;
}

impl Row for [Value] {
    fn cell(&self, column: usize) -> ValueRef<'_> {
        self[column].borrow()
    }
}

/// A row where storage has it.
#[derive(Clone, Copy, Debug)]
pub struct ViewRow<'a> {
    /// The table.
    pub view: &'a TableView,
    /// The row version.
    pub location: Location,
}

impl Row for ViewRow<'_> {
    fn cell(&self, column: usize) -> ValueRef<'_> {
        self.view.cell(ColumnId(column as u32), self.location)
    }
}

/// Two rows side by side: the existing one and `excluded`.
#[derive(Clone, Copy, Debug)]
pub struct Joined<'a>(pub &'a [Value], pub &'a [Value]);

impl Row for Joined<'_> {
    fn cell(&self, column: usize) -> ValueRef<'_> {
        match column.checked_sub(self.0.len()) {
            None => self.0[column].borrow(),
            Some(column) => self.1[column].borrow(),
        }
    }
}

/// The activation's parameters and their types.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    /// The values.
    pub values: &'a [Value],
    /// Their types.
    pub types: &'a [DataType],
}

/// Evaluates over one row and one activation's parameters.
#[derive(Clone, Copy, Debug)]
pub struct Evaluation<'a, R: Row + ?Sized> {
    /// The row.
    pub row: &'a R,
    /// The types of its columns.
    pub types: &'a [DataType],
    /// The parameters.
    pub parameters: Parameters<'a>,
}

impl<R: Row + ?Sized> Evaluation<'_, R> {
    /// The value of a scalar.
    pub fn scalar(&self, scalar: &Scalar) -> Result<Value> {
        match scalar {
            Scalar::Column(column) => Ok(self.row.cell(*column).to_owned()),
            Scalar::Parameter(parameter) => Ok(self.parameters.values[*parameter].clone()),
            Scalar::Literal(value) => Ok(value.clone()),
            Scalar::Expression(expression) => self.expression(&**expression),
        }
    }

    /// Whether all predicates are true.
    pub fn all(&self, predicates: &[Predicate]) -> Result<bool> {
        for predicate in predicates {
            if self.predicate(predicate)? != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a predicate is true, false or unknown.
    pub fn predicate(&self, predicate: &Predicate) -> Result<Option<bool>> {
        match predicate {
            Predicate::Compare { column, comparison, value } => {
                self.with(value, |value| Ok(compare(self.row.cell(*column), *comparison, value)))
            }
            Predicate::In { column, values, negated } => self.is_in(*column, values, *negated),
            Predicate::Like { column, pattern, negated, case_insensitive } => {
                self.with(pattern, |pattern| match (self.row.cell(*column), pattern) {
                    (ValueRef::Text(text), ValueRef::Text(pattern)) => {
                        Ok(Some(like(text, pattern, *case_insensitive)? != *negated))
                    }
                    _ => Ok(None),
                })
            }
            Predicate::IsNull { column, negated } => {
                Ok(Some(self.row.cell(*column).is_null() != *negated))
            }
            Predicate::Or(arms) => self.or(arms),
            Predicate::Expression(expression) => self.condition(&**expression),
        }
    }

    /// A boolean expression.
    pub fn condition(&self, expression: &dyn Expression) -> Result<Option<bool>> {
        match self.expression(expression)? {
            Value::Boolean(value) => Ok(Some(value)),
            Value::Null => Ok(None),
            other => Err(Error::new(
                SqlState::InternalError,
                format!("a condition evaluated to {other:?}"),
            )),
        }
    }

    fn with<T>(&self, scalar: &Scalar, run: impl FnOnce(ValueRef<'_>) -> Result<T>) -> Result<T> {
        match scalar {
            Scalar::Column(column) => run(self.row.cell(*column)),
            Scalar::Parameter(parameter) => run(self.parameters.values[*parameter].borrow()),
            Scalar::Literal(value) => run(value.borrow()),
            Scalar::Expression(expression) => run(self.expression(&**expression)?.borrow()),
        }
    }

    fn is_in(&self, column: usize, values: &[Scalar], negated: bool) -> Result<Option<bool>> {
        let cell = self.row.cell(column);
        let mut unknown = false;
        for value in values {
            match self.with(value, |value| Ok(compare(cell, Comparison::Equal, value)))? {
                Some(true) => return Ok(Some(!negated)),
                Some(false) => {}
                None => unknown = true,
            }
        }
        Ok(if unknown { None } else { Some(negated) })
    }

    fn or(&self, arms: &[Vec<Predicate>]) -> Result<Option<bool>> {
        let mut unknown = false;
        for arm in arms {
            match self.and(arm)? {
                Some(true) => return Ok(Some(true)),
                Some(false) => {}
                None => unknown = true,
            }
        }
        Ok(if unknown { None } else { Some(false) })
    }

    fn and(&self, conjunction: &[Predicate]) -> Result<Option<bool>> {
        let mut unknown = false;
        for predicate in conjunction {
            match self.predicate(predicate)? {
                Some(false) => return Ok(Some(false)),
                Some(true) => {}
                None => unknown = true,
            }
        }
        Ok(if unknown { None } else { Some(true) })
    }

    fn expression(&self, expression: &dyn Expression) -> Result<Value> {
        let columns: Vec<_> = expression
            .columns()
            .iter()
            .map(|&column| {
                array_from_values(self.types[column], [self.row.cell(column)].into_iter())
            })
            .collect();
        let parameters: Vec<_> = expression
            .parameters()
            .iter()
            .map(|&parameter| {
                let value = self.parameters.values[parameter].borrow();
                let data_type = self.parameters.types[parameter];
                check_digits(data_type, value)?;
                Ok(array_from_values(data_type, [value].into_iter()))
            })
            .collect::<Result<_>>()?;
        let result = expression.evaluate(&columns, &parameters, 1)?;
        Ok(array_cell(&result, 0).to_owned())
    }
}

/// SQL's comparison: NULL on either side gives unknown.
pub fn compare(a: ValueRef<'_>, comparison: Comparison, b: ValueRef<'_>) -> Option<bool> {
    if a.is_null() || b.is_null() {
        return None;
    }
    let order = a.compare(b);
    Some(match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: [DataType; 2] = [DataType::Integer, DataType::Text];

    fn holds(row: &[Value], predicate: Predicate) -> Option<bool> {
        let parameters = Parameters { values: &[], types: &[] };
        Evaluation { row, types: &TYPES, parameters }.predicate(&predicate).unwrap()
    }

    fn literal(value: i32) -> Scalar {
        Scalar::Literal(Value::Integer(value))
    }

    #[test]
    fn logic_is_three_valued() {
        let row = [Value::Integer(3), Value::Null];
        let values = vec![literal(1), Scalar::Literal(Value::Null)];
        let is_in = |negated| Predicate::In { column: 0, values: values.clone(), negated };
        assert_eq!(holds(&row, is_in(false)), None);
        assert_eq!(holds(&row, is_in(true)), None);
        let equal = |column, value| Predicate::Compare {
            column,
            comparison: Comparison::Equal,
            value: literal(value),
        };
        assert_eq!(
            holds(&row, Predicate::Or(vec![vec![equal(1, 1)], vec![equal(0, 3)]])),
            Some(true)
        );
        assert_eq!(holds(&row, Predicate::Or(vec![vec![equal(1, 1)], vec![equal(0, 4)]])), None);
        assert_eq!(holds(&row, Predicate::Or(vec![vec![equal(1, 1), equal(0, 4)]])), Some(false));
        assert_eq!(holds(&row, Predicate::IsNull { column: 1, negated: false }), Some(true));
    }
}
