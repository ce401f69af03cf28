//! PostgreSQL's functions that DataFusion lacks, computed row by row over the engine's values.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use engine::env::memory::Growth;
use engine::types::{DataType, Error, Value, array_cell, array_from_values};

/// What a function computes of one row.
pub type Compute = fn(&[Value]) -> Result<Value, Error>;

/// What a function takes.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// Values of these types; none of them NULL, else the result is.
    Values(&'static [DataType]),
    /// At least so many values of any types, as texts; NULLs too.
    Texts(usize),
}

/// A function by its name.
#[derive(Clone, Copy, Debug)]
pub struct ByRow {
    /// The name.
    pub name: &'static str,
    /// The arguments.
    pub takes: Takes,
    /// The type of the result.
    pub gives: DataType,
    /// The function itself.
    pub compute: Compute,
}

impl ByRow {
    /// For DataFusion's registry.
    pub fn function(self) -> Arc<ScalarUDF> {
        let signature = match self.takes {
            Takes::Values(_) => Signature::user_defined(Volatility::Immutable),
            Takes::Texts(_) => Signature::variadic_any(Volatility::Immutable),
        };
        Arc::new(ScalarUDF::new_from_impl(Function { of: self, signature }))
    }
}

#[derive(Debug)]
struct Function {
    of: ByRow,
    signature: Signature,
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.of.name == other.of.name
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.of.name.hash(state);
    }
}

/// Whether PostgreSQL would read an argument of one type as one of another by itself.
fn is_read_as(found: &ArrowType, wanted: &ArrowType) -> bool {
    let is_text =
        |t: &ArrowType| matches!(t, ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View);
    found == wanted
        || found.is_null()
        // A literal whose type nobody has said yet.
        || *found == ArrowType::Utf8
        || is_text(found) && is_text(wanted)
        || found.is_numeric() && wanted.is_numeric()
        || matches!((found, wanted), (ArrowType::Binary | ArrowType::BinaryView, ArrowType::Binary))
}

/// What DataFusion says of a call that no function takes.
pub fn no_function(name: &str, arguments: &[ArrowType]) -> DataFusionError {
    let types: Vec<_> = arguments.iter().map(ToString::to_string).collect();
    let call = format!("{name}({})", types.join(", "));
    let message = format!("No function matches the given name and argument types '{call}'.");
    DataFusionError::Plan(message)
}

impl Function {
    /// The arguments as the function takes them.
    fn arguments(&self, arrays: Vec<ArrayRef>) -> Result<Vec<ArrayRef>> {
        let typed = arrays.into_iter().enumerate().map(|(at, array)| match self.of.takes {
            Takes::Values(types) => Ok(cast(&array, &types[at].arrow())?),
            Takes::Texts(_) => crate::alone::to_exact(&array, &ArrowType::Utf8View),
        });
        typed.collect()
    }

    fn row(&self, values: &[Value]) -> Result<Value> {
        let strict = matches!(self.of.takes, Takes::Values(_));
        if strict && values.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        (self.of.compute)(values).map_err(|error| DataFusionError::External(Box::new(error)))
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.of.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[ArrowType]) -> Result<Vec<ArrowType>> {
        let Takes::Values(types) = self.of.takes else { return Ok(arguments.to_vec()) };
        let wanted: Vec<ArrowType> = types.iter().map(|wanted| wanted.arrow()).collect();
        let fits = arguments.len() == wanted.len()
            && arguments.iter().zip(&wanted).all(|(found, wanted)| is_read_as(found, wanted));
        if fits { Ok(wanted) } else { Err(no_function(self.of.name, arguments)) }
    }

    fn return_type(&self, arguments: &[ArrowType]) -> Result<ArrowType> {
        match self.of.takes {
            Takes::Texts(least) if arguments.len() < least => {
                Err(no_function(self.of.name, arguments))
            }
            _ => Ok(self.of.gives.arrow()),
        }
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = call.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { call.number_rows };
        let arrays = call.args.iter().map(|value| value.to_array(rows)).collect::<Result<_>>()?;
        let arguments = self.arguments(arrays)?;
        let mut growth = Growth::default();
        let values = (0..rows).map(|row| {
            let row: Vec<_> = arguments.iter().map(|a| array_cell(a, row).to_owned()).collect();
            let value = self.row(&row)?;
            // Once as a value, once in the array.
            let asked = growth.add(2 * value.heap());
            asked.map_err(|fault| DataFusionError::External(Box::new(fault)))?;
            Ok(value)
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        let array = array_from_values(self.of.gives, values.iter().map(Value::borrow));
        match constant {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?)),
            false => Ok(ColumnarValue::Array(array)),
        }
    }
}
