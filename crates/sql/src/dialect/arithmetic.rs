//! `+ - * / %` with PostgreSQL's types and faults.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Datum};
use datafusion::arrow::compute::cast;
use datafusion::arrow::compute::kernels::numeric;
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Date32Type, Float32Type, Float64Type, Int32Type, TimeUnit,
};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    BinaryExpr, Cast, ColumnarValue, Expr, ExprSchemable, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use engine::types::{Error, SqlState};

use super::shortened::{key, named, shortened};
use super::{decimals, intervals, kernels, moments};
use crate::bounded::checkpoint;
use crate::text::check_date;

/// Digits after the point that a division of numerics gives at least, as PostgreSQL's do.
const DIVISION_SCALE: i8 = 16;

/// Digits after the point that a product keeps whatever the precision of its operands.
const EXACT_SCALE: i8 = 18;

/// An operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Operation {
    pub(super) const ALL: [Operation; 5] = [
        Operation::Add,
        Operation::Subtract,
        Operation::Multiply,
        Operation::Divide,
        Operation::Modulo,
    ];

    fn from_sql(op: &BinaryOperator) -> Option<Operation> {
        Some(match op {
            BinaryOperator::Plus => Operation::Add,
            BinaryOperator::Minus => Operation::Subtract,
            BinaryOperator::Multiply => Operation::Multiply,
            BinaryOperator::Divide => Operation::Divide,
            BinaryOperator::Modulo => Operation::Modulo,
            _ => return None,
        })
    }

    fn symbol(self) -> &'static str {
        match self {
            Operation::Add => "+",
            Operation::Subtract => "-",
            Operation::Multiply => "*",
            Operation::Divide => "/",
            Operation::Modulo => "%",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Operation::Add => "__add",
            Operation::Subtract => "__subtract",
            Operation::Multiply => "__multiply",
            Operation::Divide => "__divide",
            Operation::Modulo => "__modulo",
        }
    }
}

/// The operators as functions.
pub fn functions() -> Vec<Arc<ScalarUDF>> {
    Operation::ALL.into_iter().map(|operation| Arithmetic::function(operation, None)).collect()
}

/// `left - right`.
pub fn subtract(left: Expr, right: Expr) -> Expr {
    Arithmetic::call(Operation::Subtract, vec![left, right])
}

/// What both operands are cast to, and what comes out.
struct Typing {
    left: DataType,
    right: DataType,
    result: DataType,
}

fn typing(operation: Operation, left: &DataType, right: &DataType) -> Option<Typing> {
    use DataType::*;
    let same = |t: DataType| Some(Typing { left: t.clone(), right: t.clone(), result: t });
    match (left, right) {
        (Date32, r) if r.is_integer() => {
            let known = matches!(operation, Operation::Add | Operation::Subtract);
            known.then_some(Typing { left: Date32, right: Int32, result: Date32 })
        }
        (l, Date32) if l.is_integer() && operation == Operation::Add => {
            Some(Typing { left: Int32, right: Date32, result: Date32 })
        }
        (Date32, Date32) if operation == Operation::Subtract => {
            Some(Typing { left: Date32, right: Date32, result: Int32 })
        }
        (l, r) if !l.is_numeric() || !r.is_numeric() => None,
        (Float32, Float32) => same(Float32),
        (Float32 | Float64, _) | (_, Float32 | Float64) => same(Float64),
        (l, r) if l.is_integer() && r.is_integer() => same(wider_integer(l, r)),
        (l, r) => {
            let ((p1, s1), (p2, s2)) = (decimal_of(l)?, decimal_of(r)?);
            Some(Typing {
                left: Decimal128(p1, s1),
                right: Decimal128(p2, s2),
                result: decimal_result(operation, p1, s1, p2, s2),
            })
        }
    }
}

/// The type of an operation on two whole numbers.
pub(super) fn wider_integer(left: &DataType, right: &DataType) -> DataType {
    let width = |t: &DataType| match t {
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => 2,
        DataType::UInt16 | DataType::Int32 => 4,
        _ => 8,
    };
    match width(left).max(width(right)) {
        2 => DataType::Int16,
        4 => DataType::Int32,
        _ => DataType::Int64,
    }
}

fn decimal_of(data_type: &DataType) -> Option<(u8, i8)> {
    Some(match data_type {
        DataType::Decimal32(p, s) | DataType::Decimal64(p, s) | DataType::Decimal128(p, s) => {
            (*p, *s)
        }
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => (5, 0),
        DataType::UInt16 | DataType::Int32 => (10, 0),
        DataType::UInt32 | DataType::Int64 | DataType::UInt64 => (19, 0),
        _ => return None,
    })
}

pub(super) fn decimal_result(operation: Operation, p1: u8, s1: i8, p2: u8, s2: i8) -> DataType {
    let scale = s1.max(s2);
    let whole = (p1 as i8 - s1).max(p2 as i8 - s2);
    let capped = |precision: i16, scale: i8| {
        DataType::Decimal128(precision.clamp(1, DECIMAL128_MAX_PRECISION.into()) as u8, scale)
    };
    match operation {
        Operation::Add | Operation::Subtract => {
            capped(i16::from(whole) + i16::from(scale) + 1, scale)
        }
        Operation::Multiply => {
            let precision = i16::from(p1) + i16::from(p2);
            // PostgreSQL keeps all digits. Where 38 are not enough, those after the point give way before those in front
            // of it, but not while twenty are left there.
            let spare = (precision - i16::from(DECIMAL128_MAX_PRECISION)).max(0) as i8;
            let exact = s1 + s2;
            capped(precision, (exact - spare).max(scale).max(exact.min(EXACT_SCALE)))
        }
        Operation::Divide => capped(38, scale.max(DIVISION_SCALE)),
        Operation::Modulo => capped(i16::from(whole) + i16::from(scale), scale),
    }
}

/// Plans arithmetic as [`Arithmetic`] where the types are known.
#[derive(Debug)]
pub struct ArithmeticPlanner;

impl ExprPlanner for ArithmeticPlanner {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let Some(operation) = Operation::from_sql(&expr.op) else {
            return Ok(PlannerResult::Original(expr));
        };
        checkpoint().map_err(|error| DataFusionError::External(Box::new(error)))?;
        let expr = days(operation, expr, schema);
        let types = (expr.left.get_type(schema), expr.right.get_type(schema));
        let (Ok(left), Ok(right)) = types else { return Ok(PlannerResult::Original(expr)) };
        if left == DataType::Date32 && matches!(right, DataType::Interval(_)) {
            return Ok(PlannerResult::Planned(date_and_interval(operation, expr)));
        }
        if let Some(moved) = moments::checked(operation, &expr, &left, &right) {
            return Ok(PlannerResult::Planned(moved));
        }
        if let Some(scaled) = scaled_interval(operation, (&expr.left, &left), (&expr.right, &right))
        {
            return Ok(PlannerResult::Planned(scaled));
        }
        if typing(operation, &left, &right).is_none() {
            return Ok(PlannerResult::Original(expr));
        }
        // The operands are cast when the plan is analyzed: only then is it known of which type a CASE or a UNION is, which until
        // then has that of its first branch.
        Ok(PlannerResult::Planned(Arithmetic::call(operation, vec![expr.left, expr.right])))
    }
}

/// A parameter of unknown type beside a date: `date + $1` adds days, `date - $1` is the days since another date.
fn days(operation: Operation, expr: RawBinaryExpr, schema: &DFSchema) -> RawBinaryExpr {
    let unknown =
        matches!(&expr.right, Expr::Placeholder(placeholder) if placeholder.field.is_none());
    let dated = matches!(expr.left.get_type(schema), Ok(DataType::Date32));
    let target = match operation {
        Operation::Add => DataType::Int32,
        Operation::Subtract => DataType::Date32,
        _ => return expr,
    };
    if !unknown || !dated {
        return expr;
    }
    let right = Expr::Cast(Cast::new(Box::new(expr.right), target));
    RawBinaryExpr { right, ..expr }
}

/// `interval * number`, `number * interval` and `interval / number`.
fn scaled_interval(
    operation: Operation,
    (left, left_type): (&Expr, &DataType),
    (right, right_type): (&Expr, &DataType),
) -> Option<Expr> {
    let is_interval = |t: &DataType| matches!(t, DataType::Interval(_));
    let (name, interval, number) = match operation {
        Operation::Multiply if is_interval(left_type) && right_type.is_numeric() => {
            ("interval_mul", left, right)
        }
        Operation::Multiply if left_type.is_numeric() && is_interval(right_type) => {
            ("interval_mul", right, left)
        }
        Operation::Divide if is_interval(left_type) && right_type.is_numeric() => {
            ("interval_div", left, right)
        }
        _ => return None,
    };
    let cast = |expr: &Expr, to| Expr::Cast(Cast::new(Box::new(expr.clone()), to));
    let arguments = vec![cast(interval, intervals::INTERVAL), cast(number, DataType::Float64)];
    Some(kernels::call(name, arguments))
}

/// `date + interval` is a timestamp.
fn date_and_interval(operation: Operation, expr: RawBinaryExpr) -> Expr {
    let op = if operation == Operation::Add { Operator::Plus } else { Operator::Minus };
    let timestamp = DataType::Timestamp(TimeUnit::Microsecond, None);
    let left = Expr::Cast(Cast::new(Box::new(expr.left), timestamp));
    moments::in_range(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(expr.right))))
}

#[derive(Debug)]
struct Arithmetic {
    operation: Operation,
    /// What stands for its operands in its name, where they were large when it was planned. It is no part of what it computes.
    key: Option<u64>,
    signature: Signature,
}

impl PartialEq for Arithmetic {
    fn eq(&self, other: &Arithmetic) -> bool {
        self.operation == other.operation
    }
}

impl Eq for Arithmetic {}

impl Hash for Arithmetic {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.operation.hash(state);
    }
}

impl Arithmetic {
    fn function(operation: Operation, key: Option<u64>) -> Arc<ScalarUDF> {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Arithmetic { operation, key, signature }))
    }

    fn call(operation: Operation, operands: Vec<Expr>) -> Expr {
        let key = key(operation.name(), &operands, Arithmetic::key_of);
        let function = Arithmetic::function(operation, key);
        Expr::ScalarFunction(ScalarFunction::new_udf(function, operands))
    }

    fn key_of(expr: &Expr) -> Option<u64> {
        let Expr::ScalarFunction(call) = expr else { return None };
        let inner: &dyn std::any::Any = call.func.inner().as_ref();
        inner.downcast_ref::<Arithmetic>()?.key
    }

    fn typing(&self, types: &[DataType]) -> Result<Typing> {
        let [left, right] = types else {
            return Err(DataFusionError::Internal("an operator takes two operands".to_owned()));
        };
        typing(self.operation, left, right).ok_or_else(|| {
            let symbol = self.operation.symbol();
            let message = format!("operator does not exist: {left} {symbol} {right}");
            fault(SqlState::UndefinedFunction, message)
        })
    }
}

impl ScalarUDFImpl for Arithmetic {
    fn name(&self) -> &str {
        self.operation.name()
    }

    fn display_name(&self, arguments: &[Expr]) -> Result<String> {
        let [left, right] = arguments else { return Ok(self.name().to_owned()) };
        Ok(format!("({left} {} {right})", self.operation.symbol()))
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        let [left, right] = arguments else { return Ok(self.name().to_owned()) };
        if let Some(short) = self.key.map(named).or_else(|| shortened(arguments)) {
            return Ok(format!("({} {short})", self.operation.symbol()));
        }
        let (left, right) = (left.schema_name(), right.schema_name());
        Ok(format!("({left} {} {right})", self.operation.symbol()))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let typing = self.typing(types)?;
        Ok(vec![typing.left, typing.right])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(self.typing(types)?.result)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let result = args.return_field.data_type();
        let Ok([left, right]) = <[ColumnarValue; 2]>::try_from(args.args) else {
            return Err(DataFusionError::Internal("an operator takes two operands".to_owned()));
        };
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let scalars = is_scalar(&left) && is_scalar(&right);
        let array = if matches!(left.data_type(), DataType::Decimal128(..)) {
            decimals::compute(self.operation, &*datum(left)?, &*datum(right)?, result)?
        } else {
            let rows = if scalars { 1 } else { args.number_rows };
            let (left, right) = (left.into_array(rows)?, right.into_array(rows)?);
            compute(self.operation, &left, &right, result)?
        };
        if scalars {
            let value = datafusion::common::ScalarValue::try_from_array(&array, 0)?;
            return Ok(ColumnarValue::Scalar(value));
        }
        Ok(ColumnarValue::Array(array))
    }
}

/// An operand for kernels that do not need one value expanded to all rows.
fn datum(value: ColumnarValue) -> Result<Box<dyn Datum>> {
    Ok(match value {
        ColumnarValue::Array(array) => Box::new(array),
        ColumnarValue::Scalar(value) => Box::new(value.to_scalar()?),
    })
}

/// A fault in DataFusion's clothes.
pub(super) fn fault(state: SqlState, message: impl Into<String>) -> DataFusionError {
    DataFusionError::External(Box::new(Error::new(state, message)))
}

fn compute(
    operation: Operation,
    left: &ArrayRef,
    right: &ArrayRef,
    result: &DataType,
) -> Result<ArrayRef> {
    match (left.data_type(), right.data_type()) {
        (DataType::Date32, _) | (_, DataType::Date32) => dates(operation, left, right),
        (DataType::Float32 | DataType::Float64, _) => floats(operation, left, right),
        _ => kernel(operation, left, right).map_err(|error| integer_fault(error, result)),
    }
}

fn kernel(
    operation: Operation,
    left: &dyn Datum,
    right: &dyn Datum,
) -> Result<ArrayRef, ArrowError> {
    match operation {
        Operation::Add => numeric::add(left, right),
        Operation::Subtract => numeric::sub(left, right),
        Operation::Multiply => numeric::mul(left, right),
        Operation::Divide => numeric::div(left, right),
        Operation::Modulo => numeric::rem(left, right),
    }
}

fn integer_fault(error: ArrowError, result: &DataType) -> DataFusionError {
    if matches!(error, ArrowError::DivideByZero) {
        return fault(SqlState::DivisionByZero, "division by zero");
    }
    let name = match result {
        DataType::Int16 => "smallint",
        DataType::Int32 => "integer",
        DataType::Int64 => "bigint",
        _ => "value",
    };
    fault(SqlState::NumericOutOfRange, format!("{name} out of range"))
}

fn dates(operation: Operation, left: &ArrayRef, right: &ArrayRef) -> Result<ArrayRef> {
    let difference = left.data_type() == right.data_type();
    let left = cast(left, &DataType::Int32)?;
    let right = cast(right, &DataType::Int32)?;
    let out_of_range = |_| fault(SqlState::DatetimeOverflow, "date out of range");
    let is_infinite = |days: &i32| matches!(*days, i32::MAX | i32::MIN);
    if difference {
        let operands = [&left, &right].map(|days| days.as_primitive::<Int32Type>());
        if operands.iter().any(|days| days.iter().flatten().any(|days| is_infinite(&days))) {
            return Err(fault(SqlState::DatetimeOverflow, "cannot subtract infinite dates"));
        }
        return kernel(operation, &left, &right).map_err(out_of_range);
    }
    let days = kernel(operation, &left, &right).map_err(out_of_range)?;
    let days = days.as_primitive::<Int32Type>();
    for days in days.iter().flatten() {
        check_date(days).map_err(|error| DataFusionError::External(Box::new(error)))?;
        if is_infinite(&days) {
            return Err(fault(SqlState::DatetimeOverflow, "date out of range"));
        }
    }
    Ok(Arc::new(days.reinterpret_cast::<Date32Type>()))
}

fn floats(operation: Operation, left: &ArrayRef, right: &ArrayRef) -> Result<ArrayRef> {
    let divides = matches!(operation, Operation::Divide | Operation::Modulo);
    if divides && has_zero(right, left) {
        return Err(fault(SqlState::DivisionByZero, "division by zero"));
    }
    let result = kernel(operation, left, right)?;
    if overflowed(&result, left, right) {
        return Err(fault(SqlState::NumericOutOfRange, "value out of range: overflow"));
    }
    let may_vanish = matches!(operation, Operation::Multiply | Operation::Divide);
    if may_vanish && vanished(&result, left, right) {
        return Err(fault(SqlState::NumericOutOfRange, "value out of range: underflow"));
    }
    Ok(result)
}

fn float_at(array: &ArrayRef, row: usize) -> Option<f64> {
    if array.is_null(row) {
        return None;
    }
    Some(match array.data_type() {
        DataType::Float32 => f64::from(array.as_primitive::<Float32Type>().value(row)),
        _ => array.as_primitive::<Float64Type>().value(row),
    })
}

fn has_zero(divisors: &ArrayRef, dividends: &ArrayRef) -> bool {
    let rows = 0..divisors.len();
    rows.into_iter().any(|row| float_at(divisors, row) == Some(0.0) && !dividends.is_null(row))
}

/// Nothing left of operands that are not 0 and finite.
fn vanished(result: &ArrayRef, left: &ArrayRef, right: &ArrayRef) -> bool {
    let is_some = |array: &ArrayRef, row| {
        float_at(array, row).is_some_and(|value| value != 0.0 && value.is_finite())
    };
    let rows = 0..result.len();
    rows.into_iter()
        .any(|row| float_at(result, row) == Some(0.0) && is_some(left, row) && is_some(right, row))
}

/// Infinite without an infinite operand.
fn overflowed(result: &ArrayRef, left: &ArrayRef, right: &ArrayRef) -> bool {
    let finite = |array: &ArrayRef, row| float_at(array, row).is_some_and(f64::is_finite);
    let rows = 0..result.len();
    rows.into_iter().any(|row| {
        float_at(result, row).is_some_and(f64::is_infinite)
            && finite(left, row)
            && finite(right, row)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_follow_postgresql() {
        let result = |op, a: &DataType, b: &DataType| typing(op, a, b).map(|t| t.result);
        use DataType::*;
        assert_eq!(result(Operation::Add, &Int16, &Int32), Some(Int32));
        assert_eq!(result(Operation::Divide, &Int64, &Int32), Some(Int64));
        assert_eq!(result(Operation::Multiply, &Float64, &Decimal128(5, 2)), Some(Float64));
        assert_eq!(result(Operation::Subtract, &Date32, &Date32), Some(Int32));
        assert_eq!(result(Operation::Add, &Date32, &Int64), Some(Date32));
        assert_eq!(result(Operation::Add, &Utf8View, &Int64), None);
        assert_eq!(
            result(Operation::Multiply, &Decimal128(15, 2), &Int32),
            Some(Decimal128(25, 2))
        );
    }
}
