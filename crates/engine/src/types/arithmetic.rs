//! Arithmetic over whole numbers: what the engine computes of an expression by itself, in 64 bits and without asking in
//! every row whether the result fits, since bounds of the inputs tell that beforehand.

use std::sync::Arc;

use super::Expression;

/// A row's value in whole numbers: of an integer itself, of a numeric its digits without the point.
///
/// Equal to what the [`super::Expression`] that has it gives, wherever no step comes to its limit and no input is NULL;
/// elsewhere the expression has to be asked.
#[derive(Clone, Debug)]
pub enum Arithmetic {
    /// A column.
    Column {
        /// Position in [`super::Expression::columns`].
        position: usize,
        /// Digits after the point.
        scale: u8,
    },
    /// A parameter of the activation.
    Parameter {
        /// Position in [`super::Expression::parameters`].
        position: usize,
        /// Digits after the point.
        scale: u8,
        /// The first magnitude that its type may not have.
        limit: u64,
    },
    /// The same for all.
    Literal(i64),
    /// The year of a column of dates.
    Year {
        /// Position in [`super::Expression::columns`].
        position: usize,
    },
    /// Of two others.
    Step(Box<ArithmeticStep>),
    /// One of two others.
    Case(Box<ArithmeticCase>),
}

/// An operation on two whole numbers.
#[derive(Clone, Debug)]
pub struct ArithmeticStep {
    /// What is done.
    pub operator: ArithmeticOperator,
    /// The left operand.
    pub left: Arithmetic,
    /// The right operand.
    pub right: Arithmetic,
    /// The first magnitude that the result's type may not have.
    pub limit: u64,
}

/// `CASE WHEN condition THEN then ELSE otherwise END`
#[derive(Clone, Debug)]
pub struct ArithmeticCase {
    /// What is asked of a row.
    pub condition: ArithmeticCondition,
    /// Where it is true.
    pub then: Arithmetic,
    /// Where it is false or unknown.
    pub otherwise: Arithmetic,
}

/// A condition inside an expression.
#[derive(Clone, Debug)]
pub struct ArithmeticCondition {
    /// What has to be asked.
    pub expression: Arc<dyn Expression>,
    /// Positions in [`super::Expression::columns`] of the expression around it, in the order in which the condition wants them.
    pub columns: Vec<usize>,
    /// The same in [`super::Expression::parameters`].
    pub parameters: Vec<usize>,
}

/// Operations that are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
}

impl Arithmetic {
    /// Calls `visit` with each position of a column that numbers come from and the digits after the point that it should have.
    pub fn for_each_column(&self, visit: &mut dyn FnMut(usize, u8)) {
        match self {
            Arithmetic::Column { position, scale } => visit(*position, *scale),
            Arithmetic::Year { position } => visit(*position, 0),
            Arithmetic::Step(step) => {
                step.left.for_each_column(visit);
                step.right.for_each_column(visit);
            }
            Arithmetic::Case(case) => {
                case.then.for_each_column(visit);
                case.otherwise.for_each_column(visit);
            }
            Arithmetic::Parameter { .. } | Arithmetic::Literal(_) => {}
        }
    }

    /// Whether a condition has to be asked.
    pub fn has_case(&self) -> bool {
        match self {
            Arithmetic::Case(_) => true,
            Arithmetic::Step(step) => step.left.has_case() || step.right.has_case(),
            _ => false,
        }
    }
}
