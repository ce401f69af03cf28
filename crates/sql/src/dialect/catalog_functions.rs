//! Functions that look into the catalog: `pg_get_constraintdef` and its like.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arc_swap::ArcSwap;
use datafusion::arrow::array::StringViewArray;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::catalog::{Catalog, system};

type Compute = fn(&Catalog, &[ScalarValue]) -> Option<String>;

/// The functions, over whatever catalog is current when they run.
pub fn functions(current: &Arc<ArcSwap<Catalog>>) -> Vec<Arc<ScalarUDF>> {
    let all: [(&'static str, Compute); 11] = [
        ("pg_get_constraintdef", |catalog, arguments| {
            system::constraint_definition(catalog, oid(arguments.first()?)?)
        }),
        ("pg_get_indexdef", |catalog, arguments| {
            let column = arguments.get(1).and_then(number).unwrap_or(0);
            system::index_definition(catalog, oid(arguments.first()?)?, column)
        }),
        ("pg_get_viewdef", |catalog, arguments| {
            system::view_definition(catalog, oid(arguments.first()?)?)
        }),
        ("__column_default", |catalog, arguments| {
            system::column_default(catalog, oid(arguments.first()?)?, number(arguments.get(1)?)?)
        }),
        ("pg_get_expr", |_, arguments| text(arguments.first()?)),
        ("obj_description", |_, _| None),
        ("col_description", |_, _| None),
        ("shobj_description", |_, _| None),
        ("pg_get_function_result", |_, _| None),
        ("pg_get_triggerdef", |_, _| None),
        ("pg_get_ruledef", |_, _| None),
    ];
    let function = |(name, compute)| {
        let signature = Signature::variadic_any(Volatility::Stable);
        let current = current.clone();
        Arc::new(ScalarUDF::new_from_impl(CatalogFunction { name, compute, current, signature }))
    };
    all.into_iter().map(function).collect()
}

fn text(value: &ScalarValue) -> Option<String> {
    match value {
        ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text) => {
            text.clone()
        }
        _ => None,
    }
}

fn number(value: &ScalarValue) -> Option<i64> {
    match value.cast_to(&DataType::Int64) {
        Ok(ScalarValue::Int64(number)) => number,
        _ => None,
    }
}

fn oid(value: &ScalarValue) -> Option<u32> {
    number(value).and_then(|number| u32::try_from(number).ok())
}

#[derive(Debug)]
struct CatalogFunction {
    name: &'static str,
    compute: Compute,
    current: Arc<ArcSwap<Catalog>>,
    signature: Signature,
}

impl PartialEq for CatalogFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for CatalogFunction {}

impl Hash for CatalogFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for CatalogFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let catalog = self.current.load();
        let arrays = args.args.iter().map(|arg| arg.to_array(args.number_rows));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let rows = (0..args.number_rows).map(|row| {
            let values = arrays.iter().map(|array| ScalarValue::try_from_array(array, row));
            let values = values.collect::<Result<Vec<_>>>()?;
            Ok((self.compute)(&catalog, &values))
        });
        let texts = rows.collect::<Result<Vec<Option<String>>>>()?;
        Ok(ColumnarValue::Array(Arc::new(StringViewArray::from_iter(texts))))
    }
}
