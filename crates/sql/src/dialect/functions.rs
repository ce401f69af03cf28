//! PostgreSQL's functions that DataFusion lacks.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Functions without arguments that answer the same for everybody.
pub fn functions() -> Vec<Arc<ScalarUDF>> {
    let constants = [
        ("version", concat!("PostgreSQL 15.0 (SharedDB ", env!("CARGO_PKG_VERSION"), ")")),
        ("current_database", "shareddb"),
        ("current_catalog", "shareddb"),
        ("current_schema", "public"),
        ("current_user", "shareddb"),
        ("session_user", "shareddb"),
        ("user", "shareddb"),
    ];
    constants.into_iter().map(|(name, text)| constant(name, text)).collect()
}

fn constant(name: &'static str, text: &'static str) -> Arc<ScalarUDF> {
    let signature = Signature::nullary(Volatility::Stable);
    Arc::new(ScalarUDF::new_from_impl(Constant { name, text, signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Constant {
    name: &'static str,
    text: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for Constant {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let value = ScalarValue::Utf8View(Some(self.text.to_owned()));
        Ok(ColumnarValue::Scalar(value))
    }
}
