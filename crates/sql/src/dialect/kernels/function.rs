//! A function of the tables of facts for DataFusion.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use engine::env::memory::Growth;
use engine::types::{Error, SqlState};
use values::datum::Datum;
use values::facts;
use values::kernel::Context;

use super::super::by_row::no_function;
use super::super::shortened::shortened;
use super::conversion::Conversion;
use super::digits::result_type;
use super::names::{arrow, named};
use super::overloads::{Overload, choose};
use super::{data, names};
use crate::catalog::types::is_string;
use crate::text::{of_values, present};

/// All functions of one name that have a kernel.
#[derive(Debug)]
struct KernelFunction {
    name: &'static str,
    overloads: Vec<Overload>,
    signature: Signature,
}

impl PartialEq for KernelFunction {
    fn eq(&self, other: &KernelFunction) -> bool {
        self.name == other.name
    }
}

impl Eq for KernelFunction {}

impl Hash for KernelFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// As DataFusion's registry takes it.
pub fn function(name: &'static str, overloads: Vec<Overload>) -> Arc<ScalarUDF> {
    let volatility = |overload: &Overload| match overload.row.volatility {
        facts::Volatility::Immutable => Volatility::Immutable,
        facts::Volatility::Stable => Volatility::Stable,
        facts::Volatility::Volatile => Volatility::Volatile,
    };
    let changing = overloads.iter().map(volatility).max().unwrap_or(Volatility::Immutable);
    let signature = Signature::user_defined(changing);
    Arc::new(ScalarUDF::new_from_impl(KernelFunction { name, overloads, signature }))
}

impl KernelFunction {
    /// The function that is called with arguments of the types.
    fn chosen(&self, arguments: &[DataType]) -> Result<&Overload> {
        let given: Vec<_> = arguments
            .iter()
            .map(names::given)
            .collect::<Option<_>>()
            .ok_or_else(|| no_function(self.name, arguments))?;
        let found = choose(&self.overloads, &given).or_else(|| {
            // DataFusion reads every whole number in a text as a bigint.
            let integer = |own: &Option<&'static str>| match own {
                Some("int8") => Some("int4"),
                own => *own,
            };
            let integers: Vec<_> = given.iter().map(integer).collect();
            choose(&self.overloads, &integers)
        });
        found.ok_or_else(|| no_function(self.name, arguments))
    }
}

impl ScalarUDFImpl for KernelFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        let names = shortened(arguments).unwrap_or_else(|| {
            let names: Vec<_> = arguments.iter().map(|arg| arg.schema_name().to_string()).collect();
            names.join(",")
        });
        Ok(format!("{}({names})", self.name))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// What has a type keeps it: the function converts by itself, as PostgreSQL does. What has none gets the function's.
    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let chosen = self.chosen(arguments)?;
        let pairs = arguments.iter().zip(&chosen.row.arguments);
        let kept = pairs.map(|(given, wanted)| match names::given(given) {
            Some(Some(own)) => arrow(own, Some(given)),
            _ if given.is_null() => arrow(wanted, None),
            _ => given.clone(),
        });
        Ok(kept.collect())
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        let chosen = self.chosen(arguments)?;
        Ok(result_type(chosen, arguments, &vec![None; arguments.len()]))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<DataType> =
            args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let chosen = self.chosen(&types)?;
        let result = result_type(chosen, &types, args.scalar_arguments);
        Ok(Arc::new(Field::new(self.name, result, true)))
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let types: Vec<DataType> = call.args.iter().map(ColumnarValue::data_type).collect();
        let chosen = self.chosen(&types)?;
        let external = |fault: Error| DataFusionError::External(Box::new(fault));
        let is_constant = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let constant = call.args.iter().all(is_constant);
        let rows = if constant { 1 } else { call.number_rows };
        let computed = Call::new(chosen, &call.args, rows)?.run(rows).map_err(external)?;
        let array = data::array(call.return_field.data_type(), &computed).map_err(external)?;
        match constant {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?)),
            false => Ok(ColumnarValue::Array(array)),
        }
    }
}

/// A call with its arguments.
struct Call<'a> {
    chosen: &'a Overload,
    context: Context,
    /// By position: the array of one that changes from row to row, and how each value is converted.
    arrays: Vec<(usize, ArrayRef, Conversion)>,
    /// The arguments of a row.
    row: Vec<Datum>,
}

impl<'a> Call<'a> {
    fn new(chosen: &'a Overload, arguments: &[ColumnarValue], rows: usize) -> Result<Call<'a>> {
        let external = |fault| DataFusionError::External(Box::new(fault));
        let context = present();
        let (mut arrays, mut row) = (Vec::new(), Vec::with_capacity(arguments.len()));
        let wanted = chosen.row.arguments.iter().copied();
        for (position, (argument, wanted)) in arguments.iter().zip(wanted).enumerate() {
            let given = names::given(&argument.data_type()).flatten();
            let conversion = Conversion::new(given, wanted).ok_or_else(|| {
                let message =
                    format!("an argument of {} as {wanted} is not supported", chosen.row.name);
                external(Error::new(SqlState::FeatureNotSupported, message))
            })?;
            match argument {
                ColumnarValue::Scalar(scalar) => {
                    let array = exact(&scalar.to_array()?)?;
                    let datum = conversion.convert(&context, data::datum(&array, 0));
                    row.push(datum.map_err(|error| external(of_values(error)))?);
                }
                ColumnarValue::Array(array) => {
                    debug_assert_eq!(array.len(), rows, "an argument of all rows");
                    arrays.push((position, exact(array)?, conversion));
                    row.push(Datum::Null);
                }
            }
        }
        Ok(Call { chosen, context, arrays, row })
    }

    fn run(mut self, rows: usize) -> Result<Vec<Datum>, Error> {
        let mut growth = Growth::default();
        let mut computed = Vec::with_capacity(rows);
        for row in 0..rows {
            for (position, array, conversion) in &self.arrays {
                let datum = conversion.convert(&self.context, data::datum(array, row));
                self.row[*position] = datum.map_err(of_values)?;
            }
            let value = match self.chosen.row.is_strict && self.row.iter().any(Datum::is_null) {
                true => Datum::Null,
                false => {
                    (self.chosen.kernel.compute)(&self.context, &self.row).map_err(of_values)?
                }
            };
            // Once as a value, once in the array.
            growth.add(2 * value.heap())?;
            computed.push(value);
        }
        Ok(computed)
    }
}

/// The array as one of the types that are computed with.
fn exact(array: &ArrayRef) -> Result<ArrayRef> {
    let wanted = match array.data_type() {
        own if is_string(own) || own.is_null() => return Ok(array.clone()),
        own => named(own).map(|name| arrow(name, Some(own))),
    };
    match wanted {
        Some(wanted) if wanted != *array.data_type() => Ok(cast(array, &wanted)?),
        _ => Ok(array.clone()),
    }
}
