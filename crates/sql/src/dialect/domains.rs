//! Functions that PostgreSQL refuses some arguments, and DataFusion answers with infinity, NaN or all memory.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef, Float64Type, Int64Type};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use engine::types::{Error, SqlState};

/// Looks at arguments, or at arguments and the result.
type Check = fn(&[ArrayRef], Option<&ArrayRef>) -> Result<(), Error>;

/// Whether the check wants the arguments before the function sees them, or the result too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Before,
    After,
}

/// A function with a check.
const CHECKED: [(&str, Moment, Check); 13] = [
    ("ln", Moment::Before, logarithm),
    ("log", Moment::Before, logarithm),
    ("log10", Moment::Before, logarithm),
    ("log2", Moment::Before, logarithm),
    ("exp", Moment::After, overflow),
    ("power", Moment::After, power),
    ("acos", Moment::After, domain),
    ("asin", Moment::After, domain),
    ("repeat", Moment::Before, length),
    ("lpad", Moment::Before, length),
    ("rpad", Moment::Before, length),
    ("chr", Moment::Before, character),
    ("make_date", Moment::Before, year),
];

/// The longest string that PostgreSQL makes.
const LONGEST: i64 = 1 << 30;

/// DataFusion counts years before Christ from 0.
fn year(arguments: &[ArrayRef], _: Option<&ArrayRef>) -> Result<(), Error> {
    let years = arguments.first().and_then(|years| cast(years, &DataType::Int64).ok());
    let years = years.as_ref().map(|years| years.as_primitive::<Int64Type>());
    match years.is_some_and(|years| years.iter().flatten().any(|year| year < 1)) {
        true => Err(Error::new(SqlState::DatetimeOverflow, "date field value out of range")),
        false => Ok(()),
    }
}

/// The registry's functions with their checks.
pub fn functions(state: &SessionState) -> Vec<Arc<ScalarUDF>> {
    let checked = CHECKED.iter().filter_map(|(name, moment, check)| {
        let inner = state.udf(name).ok()?;
        let checked = Checked { inner, moment: *moment, check: *check };
        Some(Arc::new(ScalarUDF::new_from_impl(checked)))
    });
    checked.collect()
}

#[derive(Debug)]
struct Checked {
    inner: Arc<ScalarUDF>,
    moment: Moment,
    check: Check,
}

impl PartialEq for Checked {
    fn eq(&self, other: &Checked) -> bool {
        self.inner == other.inner
    }
}

impl Eq for Checked {}

impl Hash for Checked {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arguments = ColumnarValue::values_to_arrays(&args.args)?;
        let fault = |error: Error| DataFusionError::External(Box::new(error));
        let args = match self.inner.name() {
            "lpad" | "rpad" => with_length(args)?,
            _ => args,
        };
        if self.moment == Moment::Before {
            (self.check)(&arguments, None).map_err(fault)?;
            return self.inner.invoke_with_args(args);
        }
        let result = self.inner.invoke_with_args(args)?;
        let computed = result.to_array(arguments.first().map_or(1, |array| array.len()))?;
        (self.check)(&arguments, Some(&computed)).map_err(fault)?;
        Ok(result)
    }
}

/// The arguments of a padding with a length that is not negative: there would be no memory for it.
fn with_length(mut args: ScalarFunctionArgs) -> Result<ScalarFunctionArgs> {
    if let Some(length) = args.args.get_mut(1) {
        let given = length.data_type();
        let lengths = cast(&length.to_array(args.number_rows)?, &DataType::Int64)?;
        let lengths =
            lengths.as_primitive::<Int64Type>().unary::<_, Int64Type>(|length| length.max(0));
        *length = ColumnarValue::Array(cast(&lengths, &given)?);
    }
    Ok(args)
}

/// The values of an argument as floats, row by row; NULL where it has none.
fn floats(array: &ArrayRef) -> Vec<Option<f64>> {
    match cast(array, &DataType::Float64) {
        Ok(array) => array.as_primitive::<Float64Type>().iter().collect(),
        Err(_) => Vec::new(),
    }
}

fn integers(array: &ArrayRef) -> Vec<Option<i64>> {
    match cast(array, &DataType::Int64) {
        Ok(array) => array.as_primitive::<Int64Type>().iter().collect(),
        Err(_) => Vec::new(),
    }
}

fn refuse(state: SqlState, message: &str) -> Result<(), Error> {
    Err(Error::new(state, message))
}

fn logarithm(arguments: &[ArrayRef], _: Option<&ArrayRef>) -> Result<(), Error> {
    let values = arguments.iter().flat_map(floats).flatten();
    match values.into_iter().find(|value| *value <= 0.0) {
        Some(0.0) => refuse(SqlState::InvalidLogarithm, "cannot take logarithm of zero"),
        Some(_) => refuse(SqlState::InvalidLogarithm, "cannot take logarithm of a negative number"),
        None => Ok(()),
    }
}

/// Pairs of what went in, if that was a finite number, and what came out.
fn computed(
    arguments: &[ArrayRef],
    result: Option<&ArrayRef>,
) -> impl Iterator<Item = (bool, f64)> {
    let finite: Vec<Vec<Option<f64>>> = arguments.iter().map(floats).collect();
    let results = result.map(floats).unwrap_or_default();
    results.into_iter().enumerate().filter_map(move |(row, value)| {
        let all = finite
            .iter()
            .all(|column| column.get(row).copied().flatten().is_some_and(f64::is_finite));
        Some((all, value?))
    })
}

fn overflow(arguments: &[ArrayRef], result: Option<&ArrayRef>) -> Result<(), Error> {
    match computed(arguments, result).any(|(finite, value)| finite && value.is_infinite()) {
        true => refuse(SqlState::NumericOutOfRange, "value out of range: overflow"),
        false => Ok(()),
    }
}

fn power(arguments: &[ArrayRef], result: Option<&ArrayRef>) -> Result<(), Error> {
    if computed(arguments, result).any(|(finite, value)| finite && value.is_nan()) {
        let message = "a negative number raised to a non-integer power yields a complex result";
        return refuse(SqlState::InvalidPower, message);
    }
    overflow(arguments, result)
}

fn domain(arguments: &[ArrayRef], result: Option<&ArrayRef>) -> Result<(), Error> {
    match computed(arguments, result).any(|(finite, value)| finite && value.is_nan()) {
        true => refuse(SqlState::NumericOutOfRange, "input is out of range"),
        false => Ok(()),
    }
}

/// `repeat('x', n)`, `lpad('x', n)`: n characters, or n times the text.
fn length(arguments: &[ArrayRef], _: Option<&ArrayRef>) -> Result<(), Error> {
    let longest = arguments.get(1).map(integers).unwrap_or_default().into_iter().flatten().max();
    match longest {
        Some(longest) if longest >= LONGEST => {
            refuse(SqlState::ProgramLimit, "requested length too large")
        }
        _ => Ok(()),
    }
}

fn character(arguments: &[ArrayRef], _: Option<&ArrayRef>) -> Result<(), Error> {
    let numbers = arguments.first().map(integers).unwrap_or_default();
    match numbers.into_iter().flatten().any(|number| number == 0) {
        true => refuse(SqlState::ProgramLimit, "null character not permitted"),
        false => Ok(()),
    }
}
