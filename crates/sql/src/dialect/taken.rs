//! `regexp_match`, `regexp_split_to_array` and `pg_typeof`: functions whose result or argument is of no type that columns have.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, ListBuilder, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use engine::env::memory::Growth;
use values::error::ValueError;
use values::kernel::Interrupt;
use values::regexp;

use crate::text::{INTERRUPT, of_values};

/// The functions.
pub fn functions() -> Vec<Arc<ScalarUDF>> {
    let texts = |count| TypeSignature::Exact(vec![DataType::Utf8View; count]);
    let signature = || Signature::one_of(vec![texts(2), texts(3)], Volatility::Immutable);
    let of_pattern = |name, compute| {
        Arc::new(ScalarUDF::new_from_impl(OfPattern { name, compute, signature: signature() }))
    };
    let any = Signature::any(1, Volatility::Stable);
    vec![
        of_pattern("regexp_match", regexp::first),
        of_pattern("regexp_split_to_array", split),
        Arc::new(ScalarUDF::new_from_impl(TypeOf { signature: any })),
    ]
}

/// What a pattern takes of a text, by the text, the pattern and options.
type Compute = fn(&str, &str, &str, Interrupt) -> Result<Option<Vec<Option<String>>>, ValueError>;

fn split(
    text: &str,
    pattern: &str,
    options: &str,
    interrupt: Interrupt,
) -> Result<Option<Vec<Option<String>>>, ValueError> {
    let pieces = regexp::split(text, pattern, options, "regexp_split_to_array()", interrupt)?;
    Ok(Some(pieces.into_iter().map(Some).collect()))
}

/// A function of a text, a pattern and, where they are given, options.
#[derive(Debug)]
struct OfPattern {
    name: &'static str,
    compute: Compute,
    signature: Signature,
}

impl PartialEq for OfPattern {
    fn eq(&self, other: &OfPattern) -> bool {
        self.name == other.name
    }
}

impl Eq for OfPattern {}

impl Hash for OfPattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for OfPattern {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::List(Arc::new(Field::new_list_field(DataType::Utf8View, true))))
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = call.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { call.number_rows };
        let texts =
            call.args.iter().map(|value| Ok(cast(&value.to_array(rows)?, &DataType::Utf8View)?));
        let texts = texts.collect::<Result<Vec<_>>>()?;
        let external = |fault| DataFusionError::External(Box::new(fault));
        let mut taken = ListBuilder::new(StringViewBuilder::new());
        let mut growth = Growth::default();
        for row in 0..rows {
            let is_null = texts.iter().any(|array| array.is_null(row));
            let of =
                |at: usize| texts.get(at).map_or("", |array| array.as_string_view().value(row));
            let found = match is_null {
                true => None,
                false => (self.compute)(of(0), of(1), of(2), INTERRUPT)
                    .map_err(|fault| external(of_values(fault)))?,
            };
            let bytes: usize =
                found.iter().flatten().flatten().map(|text| text.len() + WIDTH).sum();
            growth.add(bytes).map_err(external)?;
            found.iter().flatten().for_each(|text| taken.values().append_option(text.as_deref()));
            taken.append(found.is_some());
        }
        let array = taken.finish();
        match constant {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?)),
            false => Ok(ColumnarValue::Array(Arc::new(array))),
        }
    }
}

/// Bytes of an element besides its text.
const WIDTH: usize = 16;

/// `pg_typeof(anything)`
#[derive(Debug, PartialEq, Eq, Hash)]
struct TypeOf {
    signature: Signature,
}

impl ScalarUDFImpl for TypeOf {
    fn name(&self) -> &str {
        "pg_typeof"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let found = call.arg_fields[0].data_type();
        let name = crate::template::type_name(&found.to_string()).to_owned();
        Ok(ColumnarValue::Scalar(ScalarValue::Utf8View(Some(name))))
    }
}
