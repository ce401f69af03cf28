//! Intervals by what they amount to: `1 day` is `24 hours`, `1 month` is `30 days`.
//!
//! DataFusion compares months, days and time one after the other. Where intervals are compared, a function of ours stands around
//! them, whose numbers compare as PostgreSQL's intervals do; where the largest or least of several is asked for, a function
//! that compares so. Called by `interval_order`.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, IntervalMonthDayNanoArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalMonthDayNanoType};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::intervals::{INTERVAL, span};
use super::shortened::shortened;

/// Microseconds of any interval, and more.
const SPAN: DataType = DataType::Decimal128(38, 0);

/// Whether values of a type are intervals.
pub fn is_interval(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Interval(_) | DataType::Duration(_))
}

/// What an interval amounts to.
pub fn spanned(interval: Expr) -> Expr {
    call(Kind::Span, vec![interval])
}

/// The largest of several intervals, or the least; NULLs do not count.
pub fn extreme(intervals: Vec<Expr>, largest: bool) -> Expr {
    call(if largest { Kind::Greatest } else { Kind::Least }, intervals)
}

fn call(kind: Kind, arguments: Vec<Expr>) -> Expr {
    let signature = Signature::variadic_any(Volatility::Immutable);
    let function = Arc::new(ScalarUDF::new_from_impl(OfSpans { kind, signature }));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, arguments))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Span,
    Greatest,
    Least,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfSpans {
    kind: Kind,
    signature: Signature,
}

impl ScalarUDFImpl for OfSpans {
    fn name(&self) -> &str {
        match self.kind {
            Kind::Span => "__span",
            Kind::Greatest => "__greatest_interval",
            Kind::Least => "__least_interval",
        }
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        if let Some(short) = shortened(arguments) {
            return Ok(format!("{}({short})", self.name()));
        }
        let names: Vec<String> = arguments.iter().map(|a| a.schema_name().to_string()).collect();
        Ok(format!("{}({})", self.name(), names.join(",")))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(if self.kind == Kind::Span { SPAN } else { INTERVAL })
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = call.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { call.number_rows };
        let arrays = call.args.iter().map(|value| Ok(cast(&value.to_array(rows)?, &INTERVAL)?));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let array: ArrayRef = match self.kind {
            Kind::Span => Arc::new(spans(&arrays[0])?),
            Kind::Greatest => Arc::new(extremes(&arrays, rows, |new, known| new > known)),
            Kind::Least => Arc::new(extremes(&arrays, rows, |new, known| new < known)),
        };
        match constant {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?)),
            false => Ok(ColumnarValue::Array(array)),
        }
    }
}

/// What intervals amount to.
pub fn spans(intervals: &ArrayRef) -> Result<Decimal128Array> {
    let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>().iter();
    let spans: Decimal128Array = intervals.map(|interval| interval.map(span)).collect();
    Ok(spans.with_precision_and_scale(38, 0)?)
}

/// Row by row the first interval than which none is `better`.
fn extremes(
    arrays: &[ArrayRef],
    rows: usize,
    better: impl Fn(i128, i128) -> bool,
) -> IntervalMonthDayNanoArray {
    let at = |row: usize| -> Option<IntervalMonthDayNano> {
        let values = arrays.iter().map(|array| array.as_primitive::<IntervalMonthDayNanoType>());
        let known = values.filter(|values| values.is_valid(row)).map(|values| values.value(row));
        known.reduce(|best, new| if better(span(new), span(best)) { new } else { best })
    };
    (0..rows).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intervals(values: Vec<Option<(i32, i32, i64)>>) -> ArrayRef {
        let hour = 3_600_000_000_000;
        let of = |(months, days, hours)| IntervalMonthDayNano::new(months, days, hours * hour);
        Arc::new(
            values.into_iter().map(|value| value.map(of)).collect::<IntervalMonthDayNanoArray>(),
        )
    }

    #[test]
    fn a_day_is_as_long_as_its_hours() {
        let found =
            spans(&intervals(vec![Some((0, 1, 0)), Some((0, 0, 24)), None])).expect("spans");
        assert_eq!(found.value(0), found.value(1));
        assert!(found.is_null(2));
    }

    #[test]
    fn the_first_of_the_largest_is_taken() {
        let arrays =
            [intervals(vec![Some((0, 1, 0)), None]), intervals(vec![Some((0, 0, 24)), None])];
        let largest = extremes(&arrays, 2, |new, known| new > known);
        assert_eq!(largest.value(0), IntervalMonthDayNano::new(0, 1, 0));
        assert!(largest.is_null(1));
    }
}
