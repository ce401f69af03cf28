//! `length`, `octet_length` and `bit_length` of bytea; DataFusion's are of texts only.

use std::hash::Hash;
use std::sync::Arc;

use datafusion::arrow::compute::kernels::length::{bit_length, length};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, internal_err};
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The functions, around those of the registry.
pub fn functions(state: &SessionState) -> Vec<Arc<ScalarUDF>> {
    let around = |name: &'static str| {
        let inner = state.udf(name).ok()?;
        let signature = Signature::user_defined(Volatility::Immutable);
        Some(Arc::new(ScalarUDF::new_from_impl(Length { name, inner, signature })))
    };
    ["length", "octet_length", "bit_length"].into_iter().filter_map(around).collect()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Length {
    name: &'static str,
    /// That of texts.
    inner: Arc<ScalarUDF>,
    signature: Signature,
}

impl ScalarUDFImpl for Length {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if matches!(types, [DataType::Binary]) {
            return Ok(types.to_vec());
        }
        let field = |given: &DataType| Arc::new(Field::new("", given.clone(), true));
        let fields: Vec<_> = types.iter().map(field).collect();
        let fields = fields_with_udf(&fields, self.inner.as_ref())?;
        Ok(fields.iter().map(|field| field.data_type().clone()).collect())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [DataType::Binary] => Ok(DataType::Int32),
            _ => self.inner.return_type(types),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else { return internal_err!("one value has a length") };
        if value.data_type() != DataType::Binary {
            return self.inner.invoke_with_args(args);
        }
        let bytes = value.to_array(args.number_rows)?;
        Ok(ColumnarValue::Array(match self.name {
            "bit_length" => bit_length(&bytes)?,
            _ => length(&bytes)?,
        }))
    }
}
