//! Casts that DataFusion computes otherwise: floats and numerics round to integers instead of losing their
//! fraction; times become text as PostgreSQL writes them.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, IntervalMonthDayNanoArray, StringViewBuilder,
};
use datafusion::arrow::compute::cast_with_options;
use datafusion::arrow::compute::kernels::cast::CastOptions;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float32Type, Float64Type};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    Cast, ColumnarValue, Expr, ExprSchemable, LogicalPlan, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility, lit,
};
use engine::types::{DataType as EngineType, SqlState, Value, array_cell, array_from_values};

use super::arithmetic::subtract;
use super::interval_order::read_as_intervals;
use super::intervals::kept;
use super::shortened::shortened;
use super::spans::is_interval;
use super::{array_casts, quantified, zoned};
use crate::catalog::types::{from_arrow, is_string};
use crate::text::{is_clock_word, is_utc, of_values, parse_value, present, session_zone};

/// Replaces the casts that PostgreSQL computes otherwise, everywhere in the plan.
pub fn rewrite_casts(plan: LogicalPlan) -> Result<LogicalPlan> {
    let rewritten = plan.transform_up_with_subqueries(|node| {
        let mut schema = DFSchema::clone(node.schema());
        for input in node.inputs() {
            schema.merge(input.schema());
        }
        let preserver = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = preserver.save(&expr);
            let rewritten = match expr {
                // What is above names each of its keys by its text.
                Expr::GroupingSet(_) => expr.transform_up(|expr| with_own_cast(expr, &schema))?,
                _ => rewrite_expression(expr, &schema)?,
            };
            Ok(rewritten.update_data(|expr| name.restore(expr)))
        })?
        .map_data(of_columns)
    })?;
    Ok(rewritten.data)
}

/// Rows of VALUES have the types of their columns: what DataFusion casts there is no cast to a numeric of any digits.
fn of_columns(node: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Values(mut values) = node else { return Ok(node) };
    let nothing = DFSchema::empty();
    for row in &mut values.values {
        for (value, field) in row.iter_mut().zip(values.schema.fields()) {
            if value.get_type(&nothing)? != *field.data_type() {
                let cast = Cast::new(Box::new(value.clone()), field.data_type().clone());
                *value = Expr::Cast(cast);
            }
        }
    }
    Ok(LogicalPlan::Values(values))
}

/// Replaces the casts of one expression.
pub fn rewrite_expression(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let rewritten = expr.transform_up(|expr| {
        if let Some(rounded) = with_plain_digits(&expr).or_else(|| negated(&expr, schema)) {
            return Ok(Transformed::yes(rounded));
        }
        if let Some(compared) = read_as_intervals(&expr, schema) {
            return compared.map_children(|operand| with_own_cast(operand, schema)).map(yes);
        }
        with_own_cast(expr, schema)
    })?;
    match is_utc() {
        true => Ok(rewritten),
        false => rewritten
            .transform_data(|expr| expr.transform_up(|expr| zoned::in_session_zone(expr, schema))),
    }
}

fn yes(changed: Transformed<Expr>) -> Transformed<Expr> {
    Transformed::yes(changed.data)
}

fn with_own_cast(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    if let Expr::ScalarFunction(call) = expr {
        let call = quantified::over_array(call, schema)?;
        return call.map_data(|call| Ok(Expr::ScalarFunction(call)));
    }
    let Expr::Cast(cast) = &expr else { return Ok(Transformed::no(expr)) };
    let Ok(from) = cast.expr.get_type(schema) else { return Ok(Transformed::no(expr)) };
    let target = cast.field.data_type();
    if *target == PLAIN && matches!(from, DataType::Decimal128(..)) {
        return Ok(Transformed::yes(cast.expr.as_ref().clone()));
    }
    if *target == PLAIN
        && let Some(whole) = as_numeric(&from)
    {
        let whole = Cast::new(cast.expr.clone(), whole);
        return Ok(Transformed::yes(Expr::Cast(whole)));
    }
    if !differs(&from, target) {
        return Ok(Transformed::no(expr));
    }
    let target = if from.is_floating() && *target == PLAIN { &FLOATED } else { target };
    Ok(Transformed::yes(own_cast((*cast.expr).clone(), target)))
}

/// What the names of our own casts begin with.
pub const OWN_CAST: &str = "__cast";

/// A value brought into another type as PostgreSQL does.
pub fn own_cast(expr: Expr, target: &DataType) -> Expr {
    let signature = Signature::any(1, Volatility::Immutable);
    let name = format!("{OWN_CAST}[{target}]");
    let function = PostgresCast { target: target.clone(), name, signature };
    let function = Arc::new(ScalarUDF::new_from_impl(function));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![expr]))
}

/// `numeric` without a precision.
const PLAIN: DataType = DataType::Decimal128(38, PLAIN_SCALE);
const PLAIN_SCALE: i8 = 10;

/// What a float becomes as such a numeric: it has 15 digits, which may all lie far behind the point.
const FLOATED: DataType = DataType::Decimal128(38, 20);

/// What an integer becomes as such a numeric: it has no digits after the point.
fn as_numeric(from: &DataType) -> Option<DataType> {
    let digits = match from {
        DataType::Int16 => 5,
        DataType::Int32 => 10,
        DataType::Int64 => 19,
        _ => return None,
    };
    Some(DataType::Decimal128(digits, 0))
}

/// Whether values of a numeric become one without a precision that have more digits than that keeps here.
fn keeps_digits(from: &DataType, to: &DataType) -> bool {
    *to == PLAIN && matches!(from, DataType::Decimal128(_, scale) if *scale > PLAIN_SCALE)
}

/// `round(x, 2)` with its digits as the function wants them. DataFusion would cast them, and not see through the cast what type
/// the result has until the cast is computed; by then a comparison has been planned for another type.
fn with_plain_digits(expr: &Expr) -> Option<Expr> {
    let Expr::ScalarFunction(call) = expr else { return None };
    let [value, digits] = call.args.as_slice() else { return None };
    let digits = match digits {
        Expr::Literal(ScalarValue::Int64(Some(digits)), _) => *digits,
        Expr::Negative(digits) => match digits.as_ref() {
            Expr::Literal(ScalarValue::Int64(Some(digits)), _) => -digits,
            _ => return None,
        },
        // With a value for the parameter the function would be of another type than all around it was planned for.
        Expr::Placeholder(_) => return rounded(call, value, opaque(digits)),
        _ => return None,
    };
    rounded(call, value, lit(i32::try_from(digits).ok()?))
}

/// The negative of a whole number as its difference from 0: DataFusion's own of the least one is that again. A literal is never
/// the least.
fn negated(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::Negative(inner) = expr else { return None };
    let is_integer = inner.get_type(schema).is_ok_and(|data_type| data_type.is_signed_integer());
    (is_integer && !matches!(**inner, Expr::Literal(..))).then(|| {
        let zero = lit(0_i16);
        subtract(zero, (**inner).clone())
    })
}

fn rounded(call: &ScalarFunction, value: &Expr, digits: Expr) -> Option<Expr> {
    let args = vec![value.clone(), digits];
    let call = ScalarFunction::new_udf(call.func.clone(), args);
    matches!(call.name(), "round" | "trunc").then_some(Expr::ScalarFunction(call))
}

/// The digits as an expression that stays one when the parameter gets its value.
fn opaque(digits: &Expr) -> Expr {
    let wide = Expr::Cast(Cast::new(Box::new(digits.clone()), DataType::Int64));
    Expr::Cast(Cast::new(Box::new(wide), DataType::Int32))
}

/// Casts values as PostgreSQL does; what does not fit is an error.
pub fn cast_array(array: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    if keeps_digits(array.data_type(), target) {
        check_digits(array)?;
    }
    if let Some(moved) = zoned::across(array, target)? {
        return Ok(moved);
    }
    if !differs(array.data_type(), target) {
        return Ok(cast_with_options(array, target, &options())?);
    }
    if array_casts::differs(array.data_type(), target) {
        array_casts::cast(array, target)
    } else if is_string(target) {
        to_text(array, target)
    } else if is_bytes(target) {
        parsed(array, target, EngineType::Bytea)
    } else if is_time(target) {
        to_times(array, target)
    } else if is_interval(target) {
        to_intervals(array)
    } else if *target == DataType::Float32 {
        to_real(array)
    } else if let DataType::Decimal128(precision, scale) = target {
        to_numeric(array, *precision, *scale)
    } else {
        to_integer(array, target)
    }
}

fn differs(from: &DataType, to: &DataType) -> bool {
    let fraction = from.is_floating() || matches!(from, DataType::Decimal128(..));
    let timed = matches!(from, DataType::Timestamp(..)) || is_interval(from) || from.is_floating();
    let narrowed = *to == DataType::Float32 && fraction && *from != DataType::Float32;
    let numeric = matches!(to, DataType::Decimal128(..));
    array_casts::differs(from, to)
        || (fraction && to.is_integer())
        || narrowed
        || (numeric && from.is_floating())
        || ((timed || is_bytes(from)) && is_string(to))
        || (is_string(from) && (is_bytes(to) || is_interval(to) || is_time(to) || numeric))
}

fn is_bytes(arrow: &DataType) -> bool {
    matches!(arrow, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}

fn is_time(arrow: &DataType) -> bool {
    matches!(arrow, DataType::Date32 | DataType::Timestamp(..))
}

/// All that the type's input function reads.
fn parsed(array: &ArrayRef, target: &DataType, data_type: EngineType) -> Result<ArrayRef> {
    let texts = cast_with_options(array, &DataType::Utf8View, &options())?;
    let parse = |text: Option<&str>| match text {
        None => Ok(Value::Null),
        Some(text) => parse_value(text, data_type),
    };
    let values = texts.as_string_view().iter().map(parse).collect::<Result<Vec<_>, _>>();
    let values = values.map_err(|error| DataFusionError::External(Box::new(error)))?;
    let array = array_from_values(data_type, values.iter().map(Value::borrow));
    Ok(cast_with_options(&array, target, &options())?)
}

/// Dates and moments as they are written. Of a text that is computed, or stands in a plan that is kept, the words that mean the
/// present are refused: they would mean the time at which it was planned.
fn to_times(array: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    let texts = cast_with_options(array, &DataType::Utf8View, &options())?;
    if texts.as_string_view().iter().flatten().any(is_clock_word) {
        let message = "a word for the present as a text that is computed is not supported";
        let error = engine::types::Error::new(SqlState::FeatureNotSupported, message);
        return Err(DataFusionError::External(Box::new(error.hint("Use now() or current_date."))));
    }
    parsed(array, target, from_arrow(target))
}

/// `1 day 02:03:04`, and all else that is an interval.
fn to_intervals(array: &ArrayRef) -> Result<ArrayRef> {
    let texts = cast_with_options(array, &DataType::Utf8View, &options())?;
    let present = present();
    let parse = |text: &str| {
        let interval = values::interval::from_text(&present, text, -1).map_err(of_values);
        interval.and_then(kept)
    };
    let values = texts.as_string_view().iter().map(|text| text.map(parse).transpose());
    let values = values.collect::<Result<IntervalMonthDayNanoArray, _>>();
    Ok(Arc::new(values.map_err(|error| DataFusionError::External(Box::new(error)))?))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct PostgresCast {
    target: DataType,
    /// With the target: nodes of the global plan are told apart by the texts of their expressions.
    name: String,
    signature: Signature,
}

impl ScalarUDFImpl for PostgresCast {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        let [argument] = arguments else { return Ok(self.name().to_owned()) };
        match shortened(arguments) {
            Some(short) => Ok(format!("CAST({short} AS {})", self.target)),
            None => Ok(format!("CAST({} AS {})", argument.schema_name(), self.target)),
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.target.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        Ok(ColumnarValue::Array(cast_array(&arrays[0], &self.target)?))
    }
}

/// Whether a call is a cast of ours.
pub fn is_own_cast(call: &ScalarFunction) -> bool {
    let inner: &dyn std::any::Any = call.func.inner().as_ref();
    inner.is::<PostgresCast>()
}

/// Whether a call is a cast to interval.
pub fn makes_interval(call: &ScalarFunction) -> bool {
    let inner: &dyn std::any::Any = call.func.inner().as_ref();
    inner.downcast_ref::<PostgresCast>().is_some_and(|cast| is_interval(&cast.target))
}

fn options() -> CastOptions<'static> {
    CastOptions { safe: false, ..CastOptions::default() }
}

/// 22003 for digits that `numeric` without a precision would lose.
fn check_digits(array: &ArrayRef) -> Result<()> {
    let numbers = array.as_primitive::<Decimal128Type>();
    let lost = numbers.scale().saturating_sub(PLAIN_SCALE).unsigned_abs();
    let power = 10i128.checked_pow(lost.into());
    let is_lossy = |digits: i128| digits != 0 && power.is_none_or(|power| digits % power != 0);
    match numbers.iter().flatten().any(is_lossy) {
        true => Err(DataFusionError::External(Box::new(engine::types::Error::lost_digits()))),
        false => Ok(()),
    }
}

/// Floats have 15 digits, those of four bytes 6; texts all that they say.
fn to_numeric(array: &ArrayRef, precision: u8, scale: i8) -> Result<ArrayRef> {
    let places = u8::try_from(scale).unwrap_or(0);
    let parse = |text: &str| crate::text::parse_numeric(text, precision, places);
    let texts: Vec<Option<String>> = match array.data_type() {
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>().iter();
            values.map(|value| value.map(|value| format!("{value:.5e}"))).collect()
        }
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>().iter();
            values.map(|value| value.map(|value| format!("{value:.14e}"))).collect()
        }
        _ => {
            let texts = cast_with_options(array, &DataType::Utf8View, &options())?;
            texts.as_string_view().iter().map(|text| text.map(str::to_owned)).collect()
        }
    };
    let values = texts.iter().map(|text| text.as_deref().map(parse).transpose());
    let values = values.collect::<Result<Vec<Option<i128>>, _>>();
    let values = values.map_err(|error| DataFusionError::External(Box::new(error)))?;
    let numbers = Decimal128Array::from(values).with_precision_and_scale(precision, scale)?;
    Ok(Arc::new(numbers))
}

/// What is too large or too small for a `real` is refused.
fn to_real(array: &ArrayRef) -> Result<ArrayRef> {
    let wide = cast_with_options(array, &DataType::Float64, &options())?;
    let wide = wide.as_primitive::<Float64Type>();
    for (row, value) in wide.iter().enumerate().filter_map(|(row, v)| Some((row, v?))) {
        let narrow = value as f32;
        let (over, under) =
            (narrow.is_infinite() && value.is_finite(), narrow == 0.0 && value != 0.0);
        if over || under {
            return Err(not_real(array, row, over));
        }
    }
    Ok(Arc::new(wide.unary::<_, Float32Type>(|value| value as f32)))
}

fn not_real(array: &ArrayRef, row: usize, over: bool) -> DataFusionError {
    let message = match array.data_type() {
        DataType::Decimal128(..) => {
            let mut bytes = Vec::new();
            crate::text::write_value(array_cell(array, row), &mut bytes);
            let number = String::from_utf8_lossy(&bytes);
            format!("\"{number}\" is out of range for type real")
        }
        _ if over => "value out of range: overflow".to_owned(),
        _ => "value out of range: underflow".to_owned(),
    };
    let error = engine::types::Error::new(SqlState::NumericOutOfRange, message);
    DataFusionError::External(Box::new(error))
}

/// Floats round half to even, numerics half away from zero.
fn to_integer(array: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    let rounded: ArrayRef = if let DataType::Decimal128(..) = array.data_type() {
        // Arrow rounds half away from zero when the scale shrinks.
        cast_with_options(array, &DataType::Decimal128(38, 0), &options())?
    } else {
        let wide = cast_with_options(array, &DataType::Float64, &options())?;
        let rounded = wide.as_primitive::<Float64Type>().unary::<_, Float64Type>(round_even);
        Arc::new(rounded)
    };
    Ok(cast_with_options(&rounded, target, &options())?)
}

fn round_even(value: f64) -> f64 {
    value.round_ties_even()
}

fn to_text(array: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    if is_interval(array.data_type()) {
        return crate::alone::to_exact(array, target);
    }
    let exact = from_arrow(array.data_type()).arrow();
    let array = cast_with_options(array, &exact, &options())?;
    let mut builder = StringViewBuilder::with_capacity(array.len());
    let (mut bytes, zone) = (Vec::new(), session_zone());
    for row in 0..array.len() {
        if array.is_null(row) {
            builder.append_null();
            continue;
        }
        bytes.clear();
        crate::text::write_value_in(&zone, array_cell(&array, row), &mut bytes);
        builder.append_value(String::from_utf8_lossy(&bytes));
    }
    let text: ArrayRef = Arc::new(builder.finish());
    Ok(cast_with_options(&text, target, &options())?)
}
