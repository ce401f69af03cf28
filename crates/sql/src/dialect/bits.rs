//! `& | # << >> ~` of whole numbers, in PostgreSQL's types: the wider of both operands, of a shift the left one's.

use std::hash::Hash;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::{binary, cast, unary};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use engine::types::SqlState;

use super::arithmetic::{fault, wider_integer};
use super::by_row::no_function;

/// `~` as a function.
pub const NOT: &str = "__not";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Operation {
    And,
    Or,
    Xor,
    Left,
    Right,
    Not,
}

impl Operation {
    const ALL: [Operation; 6] = [
        Operation::And,
        Operation::Or,
        Operation::Xor,
        Operation::Left,
        Operation::Right,
        Operation::Not,
    ];

    fn from_sql(op: &BinaryOperator) -> Option<Operation> {
        Some(match op {
            BinaryOperator::BitwiseAnd => Operation::And,
            BinaryOperator::BitwiseOr => Operation::Or,
            BinaryOperator::PGBitwiseXor => Operation::Xor,
            BinaryOperator::PGBitwiseShiftLeft => Operation::Left,
            BinaryOperator::PGBitwiseShiftRight => Operation::Right,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Operation::And => "__and",
            Operation::Or => "__or",
            Operation::Xor => "__xor",
            Operation::Left => "__shift_left",
            Operation::Right => "__shift_right",
            Operation::Not => NOT,
        }
    }

    /// The types of the operands: the first is the result's.
    fn typing(self, types: &[DataType]) -> Option<Vec<DataType>> {
        let known = |t: &DataType| t.is_integer() || t.is_null();
        match types {
            [only] if self == Operation::Not && only.is_integer() => Some(vec![signed(only)]),
            [left, right] if known(left) && known(right) => Some(match self {
                Operation::Left | Operation::Right => vec![signed(left), DataType::Int32],
                _ => vec![common(left, right); 2],
            }),
            _ => None,
        }
    }
}

fn signed(data_type: &DataType) -> DataType {
    wider_integer(data_type, &DataType::Int16)
}

fn common(left: &DataType, right: &DataType) -> DataType {
    match (left, right) {
        (DataType::Null, other) | (other, DataType::Null) => signed(other),
        (left, right) => wider_integer(left, right),
    }
}

/// The operators as functions.
pub fn functions() -> Vec<Arc<ScalarUDF>> {
    Operation::ALL.into_iter().map(function).collect()
}

fn function(operation: Operation) -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(Bits { operation, signature }))
}

/// Plans the operators where both operands are whole numbers.
#[derive(Debug)]
pub struct BitsPlanner;

impl ExprPlanner for BitsPlanner {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let types = (expr.left.get_type(schema), expr.right.get_type(schema));
        let (Some(operation), (Ok(left), Ok(right))) = (Operation::from_sql(&expr.op), types)
        else {
            return Ok(PlannerResult::Original(expr));
        };
        if operation.typing(&[left, right]).is_none() {
            return Ok(PlannerResult::Original(expr));
        }
        let operands = vec![expr.left, expr.right];
        let call = ScalarFunction::new_udf(function(operation), operands);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Bits {
    operation: Operation,
    signature: Signature,
}

impl Bits {
    fn typing(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.operation.typing(types).ok_or_else(|| match types {
            [only] => {
                let name = crate::catalog::types::from_arrow(only);
                fault(SqlState::UndefinedFunction, format!("operator does not exist: ~ {name}"))
            }
            _ => no_function(self.name(), types),
        })
    }
}

impl ScalarUDFImpl for Bits {
    fn name(&self) -> &str {
        self.operation.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.typing(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(self.typing(types)?.swap_remove(0))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let result = args.return_field.data_type();
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let whole = |value: &ColumnarValue| -> Result<ArrayRef> {
            Ok(cast(&value.to_array(rows)?, &DataType::Int64)?)
        };
        let operands = args.args.iter().map(whole).collect::<Result<Vec<_>>>()?;
        let array = cast(&compute(self.operation, &operands, result)?, result)?;
        match is_constant {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?)),
            false => Ok(ColumnarValue::Array(array)),
        }
    }
}

/// Over operands with their signs in front; a shift goes as far as the rest of its width by the type's bits, of smallint as of integer.
fn compute(operation: Operation, operands: &[ArrayRef], result: &DataType) -> Result<Int64Array> {
    let left = operands[0].as_primitive::<Int64Type>();
    let Some(right) = operands.get(1).map(|right| right.as_primitive::<Int64Type>()) else {
        return Ok(unary(left, |number: i64| !number));
    };
    let compute = |own: i64, other: i64| match (operation, result) {
        (Operation::And, _) => own & other,
        (Operation::Or, _) => own | other,
        (Operation::Xor, _) => own ^ other,
        (Operation::Left, DataType::Int64) => own.wrapping_shl(other as u32),
        (Operation::Left, DataType::Int32) => (own as i32).wrapping_shl(other as u32).into(),
        (Operation::Left, _) => ((own as i32).wrapping_shl(other as u32) as i16).into(),
        (Operation::Right, DataType::Int64) => own.wrapping_shr(other as u32),
        (Operation::Right, _) => (own as i32).wrapping_shr(other as u32).into(),
        (Operation::Not, _) => !own,
    };
    binary(left, right, compute).map_err(|error| DataFusionError::ArrowError(Box::new(error), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_wrap_by_their_width() {
        let shifted = |number: i64, by: i64, result| {
            let array = |number: i64| Arc::new(Int64Array::from(vec![number])) as ArrayRef;
            compute(Operation::Left, &[array(number), array(by)], &result).unwrap().value(0)
        };
        assert_eq!(shifted(5, 15, DataType::Int16), i64::from(i16::MIN));
        assert_eq!(shifted(5, 16, DataType::Int16), 0);
        assert_eq!(shifted(6, 32, DataType::Int32), 6);
        assert_eq!(shifted(1, 63, DataType::Int64), i64::MIN);
        assert_eq!(shifted(7, -1, DataType::Int64), i64::MIN);
    }
}
