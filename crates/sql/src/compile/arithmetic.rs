//! Expressions that are sums, differences and products of whole numbers, in the form that the engine computes itself.

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::{Case, Cast, Expr, ExprSchemable};
use engine::types::{
    Arithmetic, ArithmeticCase, ArithmeticCondition, ArithmeticOperator, ArithmeticStep,
};

/// Inputs as the expression's schema has them: so many columns, then parameters.
pub struct Inputs<'a> {
    pub columns: usize,
    pub schema: &'a DFSchema,
    /// Makes a condition ready to be asked by itself.
    pub condition: &'a dyn Fn(&Expr) -> Option<ArithmeticCondition>,
}

/// The expression, if it is an operation on whole numbers.
pub fn arithmetic(expr: &Expr, inputs: &Inputs<'_>) -> Option<Arithmetic> {
    let computes = |whole: &Arithmetic| {
        matches!(whole, Arithmetic::Step(_) | Arithmetic::Year { .. } | Arithmetic::Case(_))
    };
    operand(expr, inputs).filter(computes)
}

fn operand(expr: &Expr, inputs: &Inputs<'_>) -> Option<Arithmetic> {
    match super::unalias(expr) {
        Expr::Column(column) => input(column, inputs),
        Expr::Literal(value, _) => literal(value).map(Arithmetic::Literal),
        Expr::Cast(cast) => converted(cast, inputs),
        Expr::Case(case) => of_case(case, whole(&expr.get_type(inputs.schema).ok()?)?, inputs),
        Expr::ScalarFunction(call) if call.func.name() == "extract" => {
            let [part, date] = &call.args[..] else { return None };
            year(part, date, inputs)
        }
        Expr::ScalarFunction(call) => {
            let operator = match call.func.name() {
                "__add" => ArithmeticOperator::Add,
                "__subtract" => ArithmeticOperator::Subtract,
                "__multiply" => ArithmeticOperator::Multiply,
                _ => return None,
            };
            let [left, right] = &call.args[..] else { return None };
            let result = whole(&expr.get_type(inputs.schema).ok()?)?;
            step(operator, number(left, inputs)?, number(right, inputs)?, result)
        }
        _ => None,
    }
}

/// An operand and its digits after the point.
fn number(expr: &Expr, inputs: &Inputs<'_>) -> Option<(Arithmetic, u8)> {
    let scale = whole(&expr.get_type(inputs.schema).ok()?)?.scale;
    Some((operand(expr, inputs)?, scale))
}

/// A CASE of one condition; without an ELSE it may be NULL.
fn of_case(case: &Case, result: Whole, inputs: &Inputs<'_>) -> Option<Arithmetic> {
    let (None, [(when, then)], Some(otherwise)) =
        (&case.expr, &case.when_then_expr[..], &case.else_expr)
    else {
        return None;
    };
    let branch = |expr: &Expr| {
        let (number, scale) = number(expr, inputs)?;
        scaled(number, scale, result)
    };
    let (then, otherwise) = (branch(then)?, branch(otherwise)?);
    let condition = (inputs.condition)(when)?;
    Some(Arithmetic::Case(Box::new(ArithmeticCase { condition, then, otherwise })))
}

/// The year of a date in a column; in other parts and types days are not all that counts.
fn year(part: &Expr, date: &Expr, inputs: &Inputs<'_>) -> Option<Arithmetic> {
    let Expr::Literal(ScalarValue::Utf8(Some(part)), _) = super::unalias(part) else { return None };
    let Expr::Column(column) = super::unalias(date) else { return None };
    let position = inputs.schema.maybe_index_of_column(column)?;
    let is_date = *inputs.schema.field(position).data_type() == ArrowType::Date32;
    let is_column = position < inputs.columns;
    (part.eq_ignore_ascii_case("year") && is_date && is_column)
        .then_some(Arithmetic::Year { position })
}

fn input(column: &datafusion::common::Column, inputs: &Inputs<'_>) -> Option<Arithmetic> {
    let index = inputs.schema.maybe_index_of_column(column)?;
    let Whole { scale, limit } = whole(inputs.schema.field(index).data_type())?;
    Some(match index.checked_sub(inputs.columns) {
        None => Arithmetic::Column { position: index, scale },
        Some(position) => Arithmetic::Parameter { position, scale, limit },
    })
}

fn literal(value: &ScalarValue) -> Option<i64> {
    match *value {
        ScalarValue::Int16(number) => number.map(i64::from),
        ScalarValue::Int32(number) => number.map(i64::from),
        ScalarValue::Int64(number) => number,
        ScalarValue::Decimal128(digits, _, scale) if scale >= 0 => digits?.try_into().ok(),
        _ => None,
    }
}

/// A cast that adds digits after the point or none.
fn converted(cast: &Cast, inputs: &Inputs<'_>) -> Option<Arithmetic> {
    let from = whole(&cast.expr.get_type(inputs.schema).ok()?)?;
    let to = whole(cast.field.data_type())?;
    let inner = operand(&cast.expr, inputs)?;
    if from.scale == to.scale && to.limit < from.limit {
        return None;
    }
    scaled(inner, from.scale, to)
}

/// A type of whole numbers.
#[derive(Clone, Copy)]
struct Whole {
    /// Digits after the point.
    scale: u8,
    /// The first magnitude that has too many digits; one less than the most for integers, whose least has no opposite.
    limit: u64,
}

fn whole(data_type: &ArrowType) -> Option<Whole> {
    Some(match *data_type {
        ArrowType::Int16 => Whole { scale: 0, limit: 1 << 15 },
        ArrowType::Int32 => Whole { scale: 0, limit: 1 << 31 },
        ArrowType::Int64 => Whole { scale: 0, limit: 1 << 63 },
        ArrowType::Decimal128(precision, scale) => Whole {
            scale: scale.try_into().ok()?,
            limit: 10u64.checked_pow(precision.into()).unwrap_or(u64::MAX),
        },
        _ => return None,
    })
}

fn step(
    operator: ArithmeticOperator,
    (left, left_scale): (Arithmetic, u8),
    (right, right_scale): (Arithmetic, u8),
    result: Whole,
) -> Option<Arithmetic> {
    let (left, right) = match operator {
        ArithmeticOperator::Multiply if left_scale + right_scale == result.scale => (left, right),
        // Digits are dropped, which rounds.
        ArithmeticOperator::Multiply => return None,
        ArithmeticOperator::Add | ArithmeticOperator::Subtract => {
            let common = Whole { scale: result.scale, limit: u64::MAX };
            (scaled(left, left_scale, common)?, scaled(right, right_scale, common)?)
        }
    };
    Some(Arithmetic::Step(Box::new(ArithmeticStep { operator, left, right, limit: result.limit })))
}

/// The same number with more digits after the point, or as many.
fn scaled(number: Arithmetic, scale: u8, to: Whole) -> Option<Arithmetic> {
    let factor = 10i64.checked_pow(to.scale.checked_sub(scale)?.into())?;
    if factor == 1 {
        return Some(number);
    }
    Some(Arithmetic::Step(Box::new(ArithmeticStep {
        operator: ArithmeticOperator::Multiply,
        left: number,
        right: Arithmetic::Literal(factor),
        limit: to.limit,
    })))
}
