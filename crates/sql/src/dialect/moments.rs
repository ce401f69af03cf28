//! Sums and differences of timestamps: what PostgreSQL's timestamps do not reach is 22008.
//!
//! In comes what DataFusion would compute, whose calendar is longer and knows no infinity; out goes the same with a check of what
//! comes out, and a function of ours for the difference of two timestamps.

use std::hash::Hash;
use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::RawBinaryExpr;
use datafusion::logical_expr::{
    BinaryExpr, Cast, ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};

use super::arithmetic::Operation;
use super::kernels;
use super::shortened::shortened;
use crate::text::check_timestamp;

/// A timestamp that is checked when it is computed.
pub fn in_range(moment: Expr) -> Expr {
    let signature = Signature::any(1, Volatility::Immutable);
    let function = Arc::new(ScalarUDF::new_from_impl(Checked { signature }));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![moment]))
}

/// `timestamp + interval`, `interval + timestamp`, `timestamp - interval` and `timestamp - timestamp`, checked.
pub fn checked(
    operation: Operation,
    expr: &RawBinaryExpr,
    left: &DataType,
    right: &DataType,
) -> Option<Expr> {
    if operation == Operation::Subtract
        && let Some(target) = common_moment(left, right)
    {
        return Some(difference(&expr.left, &expr.right, (left, right), &target));
    }
    let is_moment = |t: &DataType| matches!(t, DataType::Timestamp(TimeUnit::Microsecond, _));
    let is_interval = |t: &DataType| matches!(t, DataType::Interval(_));
    let op = match operation {
        Operation::Add => Operator::Plus,
        Operation::Subtract => Operator::Minus,
        _ => return None,
    };
    let binary =
        |left, right| Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)));
    let (first, second) = (expr.left.clone(), expr.right.clone());
    match op {
        Operator::Plus if is_interval(left) && is_moment(right) => {
            Some(in_range(binary(first, second)))
        }
        _ if is_moment(left) && is_interval(right) => Some(in_range(binary(first, second))),
        _ => None,
    }
}

/// The type in which two moments are subtracted, one of which is a timestamp.
fn common_moment(left: &DataType, right: &DataType) -> Option<DataType> {
    let moment = |zone| DataType::Timestamp(TimeUnit::Microsecond, zone);
    match (left, right) {
        (DataType::Timestamp(_, Some(zone)), DataType::Timestamp(..) | DataType::Date32)
        | (DataType::Timestamp(_, None) | DataType::Date32, DataType::Timestamp(_, Some(zone))) => {
            Some(moment(Some(zone.clone())))
        }
        (DataType::Timestamp(..), DataType::Timestamp(..) | DataType::Date32)
        | (DataType::Date32, DataType::Timestamp(..)) => Some(moment(None)),
        _ => None,
    }
}

fn difference(
    left: &Expr,
    right: &Expr,
    (left_type, right_type): (&DataType, &DataType),
    target: &DataType,
) -> Expr {
    let brought = |expr: &Expr, own: &DataType| match own == target {
        true => expr.clone(),
        false => Expr::Cast(Cast::new(Box::new(expr.clone()), target.clone())),
    };
    let arguments = vec![brought(left, left_type), brought(right, right_type)];
    let is_zoned = matches!(target, DataType::Timestamp(_, Some(_)));
    kernels::call(if is_zoned { "timestamptz_mi" } else { "timestamp_mi" }, arguments)
}

/// Its argument, if that is one of PostgreSQL's timestamps.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    signature: Signature,
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        "__in_range"
    }

    fn display_name(&self, arguments: &[Expr]) -> Result<String> {
        Ok(arguments.first().map_or_else(|| self.name().to_owned(), ToString::to_string))
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        Ok(match (shortened(arguments), arguments.first()) {
            (Some(short), _) => short,
            (None, Some(argument)) => argument.schema_name().to_string(),
            (None, None) => self.name().to_owned(),
        })
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [moment] => Ok(moment.clone()),
            _ => Err(DataFusionError::Internal("one timestamp is checked".to_owned())),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Ok([moment]) = <[ColumnarValue; 1]>::try_from(args.args) else {
            return Err(DataFusionError::Internal("one timestamp is checked".to_owned()));
        };
        let array = moment.to_array(1)?;
        if let Some(moments) = array.as_primitive_opt::<TimestampMicrosecondType>() {
            let mut known = moments.iter().flatten();
            let checked = known.try_for_each(|micros| check_timestamp(micros).map(|_| ()));
            checked.map_err(|error| DataFusionError::External(Box::new(error)))?;
        }
        Ok(moment)
    }
}
