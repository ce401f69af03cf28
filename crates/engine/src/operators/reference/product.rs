//! A product that overflows: an expression that the engine computes itself where it does not.

use std::sync::Arc;

use arrow_array::ArrayRef;

use super::random::Random;
use crate::types::{
    Arithmetic, ArithmeticOperator, ArithmeticStep, DataType, Error, Expression, Result, SqlState,
    Value, array_cell, array_from_values,
};

/// The product of integers. NULL if one of them is; an error where it, or that of the first of them, comes to the limit.
#[derive(Debug)]
struct Product {
    columns: Vec<usize>,
    parameters: Vec<usize>,
    limit: u64,
    text: String,
    arithmetic: Option<Arithmetic>,
}

/// The product of all integer columns and, by chance, of an integer parameter.
pub fn product(
    random: &mut Random,
    types: &[DataType],
    parameters: &[DataType],
) -> Arc<dyn Expression> {
    let integers = |types: &[DataType]| {
        let all = types.iter().enumerate().filter(|(_, t)| **t == DataType::Integer);
        all.map(|(position, _)| position).collect::<Vec<_>>()
    };
    let columns = integers(types);
    let mut own = integers(parameters);
    own.truncate(random.below(2));
    let limit = [20, 1_000, 1 << 31][random.below(3)];
    let inputs = (0..columns.len())
        .map(|position| Arithmetic::Column { position, scale: 0 })
        .chain((0..own.len()).map(|position| Arithmetic::Parameter {
            position,
            scale: 0,
            limit: 1 << 31,
        }));
    let step = |left, right| {
        let operator = ArithmeticOperator::Multiply;
        Arithmetic::Step(Box::new(ArithmeticStep { operator, left, right, limit }))
    };
    let arithmetic = inputs.fold(Arithmetic::Literal(1), step);
    let arithmetic = Some(arithmetic).filter(|_| !columns.is_empty());
    let text = format!("product of {columns:?} and {own:?} below {limit}");
    Arc::new(Product { columns, parameters: own, limit, text, arithmetic })
}

impl Expression for Product {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn parameters(&self) -> &[usize] {
        &self.parameters
    }

    fn data_type(&self) -> DataType {
        DataType::Integer
    }

    fn evaluate(
        &self,
        columns: &[ArrayRef],
        parameters: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef> {
        let inputs = || columns.iter().chain(parameters);
        let of_row = |row: usize| {
            let mut product = 1i64;
            for input in inputs() {
                let Value::Integer(factor) = array_cell(input, row).to_owned() else {
                    return Ok(Value::Null);
                };
                product *= i64::from(factor);
                if product.unsigned_abs() >= self.limit {
                    let message = "integer out of range";
                    return Err(Error::new(SqlState::NumericOutOfRange, message));
                }
            }
            Ok(Value::Integer(product as i32))
        };
        let values = (0..rows).map(of_row).collect::<Result<Vec<_>>>()?;
        Ok(array_from_values(DataType::Integer, values.iter().map(Value::borrow)))
    }

    fn text(&self) -> &str {
        &self.text
    }

    fn arithmetic(&self) -> Option<&Arithmetic> {
        self.arithmetic.as_ref()
    }
}
