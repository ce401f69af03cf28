//! `generate_series` of integers gives integers; DataFusion's gives bigints.

use std::hash::Hash;
use std::sync::Arc;

use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::Result;
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The function, around that of the registry.
pub fn functions(state: &SessionState) -> Vec<Arc<ScalarUDF>> {
    let around = |inner| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Series { inner, signature }))
    };
    state.udf("generate_series").ok().into_iter().map(around).collect()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Series {
    inner: Arc<ScalarUDF>,
    signature: Signature,
}

/// What has no type yet is of that of the others.
fn are_integers(types: &[DataType]) -> bool {
    let is_integer = |given: &DataType| matches!(given, DataType::Int16 | DataType::Int32);
    types.iter().all(|given| is_integer(given) || given.is_null()) && types.iter().any(is_integer)
}

impl ScalarUDFImpl for Series {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if are_integers(types) {
            return Ok(vec![DataType::Int32; types.len()]);
        }
        let field = |given: &DataType| Arc::new(Field::new("", given.clone(), true));
        let fields: Vec<_> = types.iter().map(field).collect();
        let fields = fields_with_udf(&fields, self.inner.as_ref())?;
        Ok(fields.iter().map(|field| field.data_type().clone()).collect())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match are_integers(types) {
            true => Ok(DataType::new_list(DataType::Int32, true)),
            false => self.inner.return_type(types),
        }
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let result = args.return_field.data_type().clone();
        if result != DataType::new_list(DataType::Int32, true) {
            return self.inner.invoke_with_args(args);
        }
        let wide = |field: &Arc<Field>| field.as_ref().clone().with_data_type(DataType::Int64);
        args.arg_fields = args.arg_fields.iter().map(|field| Arc::new(wide(field))).collect();
        let brought = args.args.iter().map(|value| value.cast_to(&DataType::Int64, None));
        args.args = brought.collect::<Result<_>>()?;
        let series = DataType::new_list(DataType::Int64, true);
        let field = args.return_field.as_ref().clone().with_data_type(series);
        args.return_field = Arc::new(field);
        let rows = args.number_rows;
        let series = self.inner.invoke_with_args(args)?.into_array(rows)?;
        Ok(ColumnarValue::Array(cast(&series, &result)?))
    }
}
