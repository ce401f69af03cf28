//! The subscripts of arrays as arrays: what `generate_subscripts` and WITH ORDINALITY give as rows.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Int32Builder, Int64Builder, ListArray, ListBuilder,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Int64Type};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use engine::types::{Error, SqlState};

use crate::catalog::types::is_vector;

/// `__subscripts(array, dimension[, reverse])`: NULL where the array has no such dimension.
pub const SUBSCRIPTS: &str = "__subscripts";

/// `__ordinals(array, ..)`: from 1 to the length of the longest.
pub const ORDINALS: &str = "__ordinals";

/// The functions.
pub fn functions() -> Vec<Arc<ScalarUDF>> {
    let two_or_three = TypeSignature::OneOf(vec![TypeSignature::Any(2), TypeSignature::Any(3)]);
    let subscripts = Signature::new(two_or_three, Volatility::Immutable);
    let ordinals = Signature::variadic_any(Volatility::Immutable);
    vec![
        Arc::new(ScalarUDF::new_from_impl(Subscripts { signature: subscripts })),
        Arc::new(ScalarUDF::new_from_impl(Ordinals { signature: ordinals })),
    ]
}

/// The values as lists; 42883 where they are none. NULL is a list that is not there.
fn lists(values: &ColumnarValue, rows: usize) -> Result<Option<ListArray>> {
    let array = values.to_array(rows)?;
    match array.data_type() {
        DataType::Null => Ok(None),
        DataType::List(_) => Ok(Some(array.as_list::<i32>().clone())),
        other => {
            let message = format!("function generate_subscripts({other}, ..) does not exist");
            let error = Error::new(SqlState::UndefinedFunction, message);
            Err(DataFusionError::External(Box::new(error)))
        }
    }
}

fn length(list: &Option<ListArray>, row: usize) -> Option<usize> {
    let list = list.as_ref().filter(|list| list.is_valid(row))?;
    Some(list.value_length(row) as usize)
}

fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item, true)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Subscripts {
    signature: Signature,
}

impl ScalarUDFImpl for Subscripts {
    fn name(&self) -> &str {
        SUBSCRIPTS
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(list_of(DataType::Int32))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let list = lists(&args.args[0], rows)?;
        let dimensions: ArrayRef = cast(&args.args[1].to_array(rows)?, &DataType::Int64)?;
        let dimensions = dimensions.as_primitive::<Int64Type>();
        let reverse = args.args.get(2).map(|value| value.to_array(rows)).transpose()?;
        let reversed = |row| {
            let reverse = reverse.as_ref().filter(|reverse| reverse.is_valid(row));
            reverse.and_then(|reverse| Some(reverse.as_boolean_opt()?.value(row))).unwrap_or(false)
        };
        let of_vector =
            |list: &ListArray| matches!(list.data_type(), DataType::List(item) if is_vector(item));
        let first = i32::from(!list.as_ref().is_some_and(of_vector));
        let mut built = ListBuilder::new(Int32Builder::new());
        for row in 0..rows {
            let is_first = dimensions.is_valid(row) && dimensions.value(row) == 1;
            match length(&list, row).filter(|_| is_first) {
                None => built.append_null(),
                Some(length) => {
                    let numbers = first..first + length as i32;
                    match reversed(row) {
                        true => built.values().append_slice(&numbers.rev().collect::<Vec<_>>()),
                        false => built.values().append_slice(&numbers.collect::<Vec<_>>()),
                    }
                    built.append(true);
                }
            }
        }
        Ok(ColumnarValue::Array(Arc::new(built.finish())))
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Ordinals {
    signature: Signature,
}

impl ScalarUDFImpl for Ordinals {
    fn name(&self) -> &str {
        ORDINALS
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(list_of(DataType::Int64))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let all = args.args.iter().map(|value| lists(value, rows));
        let all = all.collect::<Result<Vec<_>>>()?;
        let mut built = ListBuilder::new(Int64Builder::new());
        for row in 0..rows {
            let longest = all.iter().filter_map(|list| length(list, row)).max().unwrap_or(0);
            built.values().append_slice(&(1..=longest as i64).collect::<Vec<_>>());
            built.append(true);
        }
        Ok(ColumnarValue::Array(Arc::new(built.finish())))
    }
}
