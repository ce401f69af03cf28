//! Functions that look into the catalog: `pg_get_constraintdef` and its like.

mod definitions;
mod privileges;
mod relations;
mod visibility;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arc_swap::ArcSwap;
use datafusion::arrow::array::new_empty_array;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use engine::types::Error;

use crate::catalog::Catalog;

/// A function of the catalog and its arguments; no value is NULL.
type Compute = fn(&Catalog, &[ScalarValue]) -> engine::types::Result<Option<ScalarValue>>;

/// A function's name, its type and what it computes.
struct Definition {
    name: &'static str,
    returns: DataType,
    compute: Compute,
}

const fn definition(name: &'static str, returns: DataType, compute: Compute) -> Definition {
    Definition { name, returns, compute }
}

/// The functions, over whatever catalog is current when they run.
pub fn functions(current: &Arc<ArcSwap<Catalog>>) -> Vec<Arc<ScalarUDF>> {
    let all = definitions::functions().into_iter();
    let all = all.chain(relations::functions()).chain(visibility::functions());
    let all = all.chain(privileges::functions());
    let function = |definition: Definition| {
        let any = TypeSignature::OneOf(vec![TypeSignature::VariadicAny, TypeSignature::Nullary]);
        let signature = Signature::new(any, Volatility::Stable);
        let current = current.clone();
        Arc::new(ScalarUDF::new_from_impl(CatalogFunction { definition, current, signature }))
    };
    all.map(function).collect()
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

/// The argument at a place as an id.
fn oid_at(arguments: &[ScalarValue], place: usize) -> Option<u32> {
    arguments.get(place).and_then(oid)
}

fn is_true(arguments: &[ScalarValue], place: usize) -> bool {
    matches!(arguments.get(place), Some(ScalarValue::Boolean(Some(true))))
}

fn of_text(text: impl Into<String>) -> ScalarValue {
    ScalarValue::Utf8View(Some(text.into()))
}

fn of_oid(oid: u32) -> ScalarValue {
    ScalarValue::Int32(Some(oid as i32))
}

struct CatalogFunction {
    definition: Definition,
    current: Arc<ArcSwap<Catalog>>,
    signature: Signature,
}

impl std::fmt::Debug for CatalogFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CatalogFunction")
            .field("name", &self.definition.name)
            .finish_non_exhaustive()
    }
}

impl PartialEq for CatalogFunction {
    fn eq(&self, other: &Self) -> bool {
        self.definition.name == other.definition.name
    }
}

impl Eq for CatalogFunction {}

impl Hash for CatalogFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.definition.name.hash(state);
    }
}

impl ScalarUDFImpl for CatalogFunction {
    fn name(&self) -> &str {
        self.definition.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.definition.returns.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let external = |error: Error| DataFusionError::External(Box::new(error));
        let catalog = self.current.load();
        let arrays = args.args.iter().map(|arg| arg.to_array(args.number_rows));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let null = ScalarValue::try_from(&self.definition.returns)?;
        let rows = (0..args.number_rows).map(|row| {
            let values = arrays.iter().map(|array| ScalarValue::try_from_array(array, row));
            let values = values.collect::<Result<Vec<_>>>()?;
            let value = (self.definition.compute)(&catalog, &values).map_err(external)?;
            Ok(value.unwrap_or_else(|| null.clone()))
        });
        let values = rows.collect::<Result<Vec<ScalarValue>>>()?;
        let array = match values.is_empty() {
            true => new_empty_array(&self.definition.returns),
            false => ScalarValue::iter_to_array(values)?,
        };
        Ok(ColumnarValue::Array(array))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plans that call one hold until anything is defined, since planning may compute it.
    #[test]
    fn all_are_known_as_such_by_their_names() {
        let functions = functions(&Arc::default());
        let unknown: Vec<&str> = functions.iter().map(|function| function.name()).collect();
        let unknown = unknown.into_iter().filter(|name| !crate::catalog::reads_catalog(name));
        assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&str>::new());
    }
}
