//! Expressions that the engine cannot look into.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BooleanArray, Int32Array};
use engine::types::{DataType, Error, Expression, Result, SqlState};

/// What is made of an integer column's value and an integer parameter.
#[derive(Clone, Copy, Debug)]
pub enum Formula {
    /// `12 / parameter >= column`: fails where the parameter is 0.
    Quotient,
    /// `column <= parameter`
    AtMost,
    /// `column + parameter`
    Sum,
}

/// A formula over a column and a parameter.
#[derive(Debug)]
pub struct Computed {
    formula: Formula,
    column: [usize; 1],
    parameter: [usize; 1],
    /// Equal text means equal meaning.
    text: String,
}

impl Computed {
    pub fn new(formula: Formula, column: usize, parameter: usize) -> Arc<Computed> {
        let text = format!("{formula:?}(#{column}, ${})", parameter + 1);
        Arc::new(Computed { formula, column: [column], parameter: [parameter], text })
    }

    fn condition(&self, column: i32, parameter: i32) -> Result<bool> {
        match self.formula {
            Formula::Quotient if parameter == 0 => {
                Err(Error::new(SqlState::DivisionByZero, "division by zero"))
            }
            Formula::Quotient => Ok(12 / parameter >= column),
            Formula::AtMost | Formula::Sum => Ok(column <= parameter),
        }
    }
}

impl Expression for Computed {
    fn columns(&self) -> &[usize] {
        &self.column
    }

    fn parameters(&self) -> &[usize] {
        &self.parameter
    }

    fn data_type(&self) -> DataType {
        match self.formula {
            Formula::Sum => DataType::Integer,
            _ => DataType::Boolean,
        }
    }

    fn evaluate(
        &self,
        columns: &[ArrayRef],
        parameters: &[ArrayRef],
        _: usize,
    ) -> Result<ArrayRef> {
        let (column, parameter) =
            (columns[0].as_primitive::<Int32Type>(), parameters[0].as_primitive::<Int32Type>());
        let pairs = column.iter().zip(parameter).map(|(column, parameter)| column.zip(parameter));
        if let Formula::Sum = self.formula {
            let sums = pairs.map(|pair| pair.map(|(a, b)| a.wrapping_add(b)));
            return Ok(Arc::new(sums.collect::<Int32Array>()));
        }
        let truths = pairs.map(|pair| pair.map(|(a, b)| self.condition(a, b)).transpose());
        Ok(Arc::new(truths.collect::<Result<BooleanArray>>()?))
    }

    fn text(&self) -> &str {
        &self.text
    }
}
