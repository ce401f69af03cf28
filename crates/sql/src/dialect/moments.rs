//! Sums and differences of timestamps: what PostgreSQL's timestamps do not reach is 22008.
//!
//! In comes what DataFusion would compute, whose calendar is longer and knows no infinity; out goes the same with a check of what
//! goes in, or of what comes out.

use std::hash::Hash;
use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::RawBinaryExpr;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use engine::types::{Error, SqlState};

use super::arithmetic::Operation;
use super::shortened::shortened;
use crate::text::check_timestamp;

/// Whether a timestamp is infinity, or its negative.
pub fn is_infinite(micros: i64) -> bool {
    matches!(micros, i64::MAX | i64::MIN)
}

/// A timestamp that is checked when it is computed.
pub fn in_range(moment: Expr) -> Expr {
    call(Wanted::InRange, moment)
}

/// `timestamp + interval`, `interval + timestamp`, `timestamp - interval` and `timestamp - timestamp`, checked.
pub fn checked(
    operation: Operation,
    expr: &RawBinaryExpr,
    left: &DataType,
    right: &DataType,
) -> Option<Expr> {
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
        Operator::Minus if is_moment(left) && is_moment(right) => {
            Some(binary(call(Wanted::Finite, first), call(Wanted::Finite, second)))
        }
        Operator::Plus if is_interval(left) && is_moment(right) => {
            Some(in_range(binary(first, second)))
        }
        _ if is_moment(left) && is_interval(right) => Some(in_range(binary(first, second))),
        _ => None,
    }
}

/// What is asked of a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Wanted {
    /// To be one of PostgreSQL's.
    InRange,
    /// Not to be infinity.
    Finite,
}

fn call(wanted: Wanted, moment: Expr) -> Expr {
    let signature = Signature::any(1, Volatility::Immutable);
    let function = Arc::new(ScalarUDF::new_from_impl(Checked { wanted, signature }));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![moment]))
}

/// Its argument, if that is what is wanted.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    wanted: Wanted,
    signature: Signature,
}

impl Checked {
    fn check(&self, micros: i64) -> Result<(), Error> {
        match self.wanted {
            Wanted::InRange => check_timestamp(micros).map(|_| ()),
            Wanted::Finite if is_infinite(micros) => {
                let message = "cannot subtract infinite timestamps";
                Err(Error::new(SqlState::DatetimeOverflow, message))
            }
            Wanted::Finite => Ok(()),
        }
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.wanted {
            Wanted::InRange => "__in_range",
            Wanted::Finite => "__finite",
        }
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
            let checked = moments.iter().flatten().try_for_each(|micros| self.check(micros));
            checked.map_err(|error| DataFusionError::External(Box::new(error)))?;
        }
        Ok(moment)
    }
}
