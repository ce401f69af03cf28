//! Functions that make much of little ask for memory before they take it.
//!
//! In come DataFusion's functions; out go the same with a bound of what each row's result may take, computed from the arguments. A
//! result that is longer than any string of PostgreSQL's is 54000, what the process has no room for 53200. Where the bound may be far
//! above what comes out, rows are computed a few at a time, so that only these have to fit beside what is there already.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, new_empty_array};
use datafusion::arrow::compute::{cast, concat};
use datafusion::arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use engine::env::memory::{Grant, process};
use engine::types::{Error, SqlState};

/// The longest string that PostgreSQL makes.
const LONGEST: usize = 1 << 30;

/// Results of as many bytes are made at once without a question.
const SMALL: usize = 1 << 20;

/// Bytes, by their bound, that are computed at a time.
const PIECE: usize = 16 << 20;

/// Bytes that a row's result takes at most.
type Bound = fn(&Arguments) -> Vec<usize>;

/// Functions, and what their results take at most.
const BOUNDED: [(&str, Bound); 9] = [
    ("repeat", repeated),
    ("lpad", padded),
    ("rpad", padded),
    ("replace", replaced),
    ("regexp_replace", replaced_by_pattern),
    ("concat", joined),
    ("concat_ws", joined),
    ("array_repeat", repeated),
    ("generate_series", counted),
];

thread_local! {
    /// This thread plans: constants become literals.
    static PLANS: Cell<bool> = const { Cell::new(false) };
}

/// Plans; a large result stays a call meanwhile, since a literal is copied with every plan that it stands in.
pub fn planned<T>(plan: impl FnOnce() -> T) -> T {
    /// Puts back what was, also after a panic: the thread goes on to other statements.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            PLANS.set(self.0);
        }
    }
    let _before = Before(PLANS.replace(true));
    plan()
}

/// Whether this thread plans.
#[cfg(test)]
pub fn is_planned() -> bool {
    PLANS.get()
}

/// The registry's functions, which ask first.
pub fn functions(state: &SessionState) -> Vec<Arc<ScalarUDF>> {
    let bounded = BOUNDED.iter().filter_map(|(name, bound)| {
        let inner = state.udf(name).ok()?;
        Some(Arc::new(ScalarUDF::new_from_impl(Bounded { inner, bound: *bound })))
    });
    bounded.collect()
}

#[derive(Debug)]
struct Bounded {
    inner: Arc<ScalarUDF>,
    bound: Bound,
}

impl PartialEq for Bounded {
    fn eq(&self, other: &Bounded) -> bool {
        self.inner == other.inner
    }
}

impl Eq for Bounded {}

impl Hash for Bounded {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl ScalarUDFImpl for Bounded {
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
        let bounds = (self.bound)(&Arguments::of(&args)?);
        let total = bounds.iter().fold(0, |sum: usize, bytes| sum.saturating_add(*bytes));
        if total < SMALL {
            return self.inner.invoke_with_args(args);
        }
        if PLANS.get() {
            let message = "a large result is no literal";
            return Err(DataFusionError::Execution(message.to_owned()));
        }
        let is_string = !args.return_field.data_type().is_nested();
        let is_exact = !matches!(self.name(), "replace" | "regexp_replace");
        if is_string && is_exact && bounds.iter().any(|bytes| *bytes >= LONGEST) {
            let error = Error::new(SqlState::ProgramLimit, "requested length too large");
            return Err(DataFusionError::External(Box::new(error)));
        }
        if is_exact || bounds.len() == 1 {
            let _granted = granted(total)?;
            return self.inner.invoke_with_args(args);
        }
        self.in_pieces(&args, &bounds).map(ColumnarValue::Array)
    }
}

fn granted(bytes: usize) -> Result<Grant<'static>> {
    process().grant(bytes).map_err(|fault| DataFusionError::External(Box::new(fault)))
}

impl Bounded {
    /// The results, computed a few rows at a time.
    fn in_pieces(&self, args: &ScalarFunctionArgs, bounds: &[usize]) -> Result<ArrayRef> {
        let mut results: Vec<ArrayRef> = Vec::new();
        for rows in pieces(bounds) {
            let bound = bounds[rows.clone()].iter().fold(0, |a: usize, b| a.saturating_add(*b));
            let _granted = granted(bound)?;
            let piece = sliced(args, &rows);
            results.push(self.inner.invoke_with_args(piece)?.to_array(rows.len())?);
        }
        let whole = results.iter().map(|array| array.get_array_memory_size()).sum();
        let _granted = granted(whole)?;
        if results.is_empty() {
            return Ok(new_empty_array(args.return_field.data_type()));
        }
        let results: Vec<&dyn Array> = results.iter().map(AsRef::as_ref).collect();
        Ok(concat(&results)?)
    }
}

/// Rows that may be computed together.
fn pieces(bounds: &[usize]) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let (mut first, mut bytes) = (0, 0_usize);
    for (row, bound) in bounds.iter().enumerate() {
        bytes = bytes.saturating_add(*bound);
        if bytes > PIECE && row > first {
            pieces.push(first..row);
            (first, bytes) = (row, *bound);
        }
    }
    if first < bounds.len() {
        pieces.push(first..bounds.len());
    }
    pieces
}

fn sliced(args: &ScalarFunctionArgs, rows: &Range<usize>) -> ScalarFunctionArgs {
    let slice = |value: &ColumnarValue| match value {
        ColumnarValue::Array(array) => ColumnarValue::Array(array.slice(rows.start, rows.len())),
        ColumnarValue::Scalar(_) => value.clone(),
    };
    ScalarFunctionArgs {
        args: args.args.iter().map(slice).collect(),
        arg_fields: args.arg_fields.clone(),
        number_rows: rows.len(),
        return_field: args.return_field.clone(),
        config_options: args.config_options.clone(),
    }
}

/// What a call is given, row by row; one row where all of it is constant.
struct Arguments {
    values: Vec<Argument>,
    rows: usize,
}

/// One argument: what stands in each row, or once for all.
struct Argument {
    array: ArrayRef,
    is_constant: bool,
}

impl Arguments {
    fn of(args: &ScalarFunctionArgs) -> Result<Arguments> {
        let is_constant = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let rows = if args.args.iter().all(is_constant) { 1 } else { args.number_rows };
        let values = args.args.iter().map(|value| match value {
            ColumnarValue::Array(array) => {
                Ok(Argument { array: array.clone(), is_constant: false })
            }
            ColumnarValue::Scalar(scalar) => {
                Ok(Argument { array: scalar.to_array()?, is_constant: true })
            }
        });
        Ok(Arguments { values: values.collect::<Result<_>>()?, rows })
    }

    fn by_row<T: Copy + Default>(&self, at: usize, values: impl Fn(&ArrayRef) -> Vec<T>) -> Vec<T> {
        let Some(argument) = self.values.get(at) else { return vec![T::default(); self.rows] };
        let values = values(&argument.array);
        match argument.is_constant {
            true => vec![values.first().copied().unwrap_or_default(); self.rows],
            false => values,
        }
    }

    /// Bytes of an argument.
    fn lengths(&self, at: usize) -> Vec<usize> {
        self.by_row(at, lengths)
    }

    /// An argument that is a number; NULL and what is below zero are nothing.
    fn numbers(&self, at: usize) -> Vec<i64> {
        self.by_row(at, |array| match cast(array, &DataType::Int64) {
            Ok(array) => {
                let numbers = array.as_primitive::<Int64Type>().iter();
                numbers.map(Option::unwrap_or_default).collect()
            }
            Err(_) => vec![0; array.len()],
        })
    }

    fn counts(&self, at: usize) -> Vec<usize> {
        let count = |number: i64| usize::try_from(number).unwrap_or(0);
        self.numbers(at).into_iter().map(count).collect()
    }
}

/// What a value that is no string takes as one, or in a list.
const WIDTH: usize = 16;

fn lengths(array: &ArrayRef) -> Vec<usize> {
    let length = |text: Option<&str>| text.map_or(0, str::len);
    of_texts(array, length).unwrap_or_else(|| vec![WIDTH; array.len()])
}

/// What is asked of each string; `None` of an array of others.
fn of_texts(array: &ArrayRef, ask: impl Fn(Option<&str>) -> usize) -> Option<Vec<usize>> {
    Some(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().map(ask).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().map(ask).collect(),
        DataType::Utf8View => array.as_string_view().iter().map(ask).collect(),
        _ => return None,
    })
}

/// The text, so many times.
fn repeated(arguments: &Arguments) -> Vec<usize> {
    let (text, number) = match arguments.values.first() {
        Some(first) if first.array.data_type().is_integer() => (1, 0),
        _ => (0, 1),
    };
    let texts = arguments.lengths(text).into_iter().zip(arguments.counts(number));
    texts.map(|(text, times)| text.saturating_mul(times)).collect()
}

/// So many characters, of a byte each: those that take more are of the text or the filling, and seldom all of it.
fn padded(arguments: &Arguments) -> Vec<usize> {
    arguments.counts(1)
}

/// Each place where the text may be found becomes the other one.
fn replaced(arguments: &Arguments) -> Vec<usize> {
    let (texts, found) = (arguments.lengths(0), arguments.lengths(1));
    let by = arguments.lengths(2);
    let bound = |((text, found), by): ((usize, usize), usize)| match found {
        0 => text,
        _ => text.saturating_add((text / found).saturating_mul(by)),
    };
    texts.into_iter().zip(found).zip(by).map(bound).collect()
}

/// The first match becomes the other text, or each place between two characters where options or places are given. Matches do not
/// overlap, so that each reference to one, or to a part of it, takes no more than the text in all.
fn replaced_by_pattern(arguments: &Arguments) -> Vec<usize> {
    let (texts, by) = (arguments.lengths(0), arguments.lengths(2));
    let references = arguments.by_row(2, references);
    let others = arguments.lengths(3);
    let bound = |(((text, by), references), others): (((usize, usize), usize), usize)| {
        let matches = if others == 0 { 1 } else { text + 1 };
        let copied = text.saturating_mul(references + 1);
        copied.saturating_add(matches.saturating_mul(by))
    };
    texts.into_iter().zip(by).zip(references).zip(others).map(bound).collect()
}

/// How often each text refers to what was found.
fn references(array: &ArrayRef) -> Vec<usize> {
    let count = |text: Option<&str>| text.map_or(0, |text| text.matches('\\').count());
    of_texts(array, count).unwrap_or_else(|| vec![0; array.len()])
}

/// All of them, one behind the other.
fn joined(arguments: &Arguments) -> Vec<usize> {
    let mut sums = vec![0; arguments.rows];
    for at in 0..arguments.values.len() {
        sums.iter_mut().zip(arguments.lengths(at)).for_each(|(sum, length)| *sum += length);
    }
    sums
}

/// A list of all numbers from one to the other.
fn counted(arguments: &Arguments) -> Vec<usize> {
    let (from, to) = (arguments.numbers(0), arguments.numbers(1));
    let steps = match arguments.values.len() {
        0..3 => vec![1; arguments.rows],
        _ => arguments.numbers(2),
    };
    let bound = |((from, to), step): ((i64, i64), i64)| {
        let numbers = from.abs_diff(to) / step.unsigned_abs().max(1);
        usize::try_from(numbers).unwrap_or(usize::MAX).saturating_mul(size_of::<i64>())
    };
    from.into_iter().zip(to).zip(steps).map(bound).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Int64Array, StringArray};

    fn arguments(texts: &[&str], others: Vec<ArrayRef>) -> Arguments {
        let column =
            Argument { array: Arc::new(StringArray::from(texts.to_vec())), is_constant: false };
        let constant = |array| Argument { array, is_constant: true };
        let values = std::iter::once(column).chain(others.into_iter().map(constant));
        Arguments { values: values.collect(), rows: texts.len() }
    }

    fn text(text: &str) -> ArrayRef {
        Arc::new(StringArray::from(vec![text]))
    }

    fn number(number: i64) -> ArrayRef {
        Arc::new(Int64Array::from(vec![number]))
    }

    #[test]
    fn bounds_are_known_before() {
        let texts = ["", "ab", "abcd"];
        assert_eq!(repeated(&arguments(&texts, vec![number(3)])), [0, 6, 12]);
        assert_eq!(repeated(&arguments(&texts, vec![number(-3)])), [0, 0, 0]);
        assert_eq!(padded(&arguments(&texts, vec![number(7)])), [7, 7, 7]);
        assert_eq!(joined(&arguments(&texts, vec![text("xyz")])), [3, 5, 7]);
        let by = vec![text("b"), text("xyz")];
        assert_eq!(replaced(&arguments(&texts, by.clone())), [0, 8, 16]);
        assert_eq!(replaced_by_pattern(&arguments(&texts, by)), [3, 5, 7]);
        let all = vec![text("b"), text("xyz"), text("g")];
        assert_eq!(replaced_by_pattern(&arguments(&texts, all)), [3, 11, 19]);
        let twice = vec![text("b"), text(r"\1\&")];
        assert_eq!(replaced_by_pattern(&arguments(&texts, twice)), [4, 10, 16]);
    }

    #[test]
    fn large_rows_are_computed_by_themselves() {
        assert_eq!(pieces(&[1, 2, 3]).as_slice(), std::slice::from_ref(&(0..3)));
        assert_eq!(pieces(&[PIECE, 1, PIECE - 1, 1]), [0..1, 1..3, 3..4]);
        assert_eq!(pieces(&[2 * PIECE, 2 * PIECE]), [0..1, 1..2]);
        assert!(pieces(&[]).is_empty());
    }
}
