//! Functions over arrays that DataFusion lacks.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int32Array, ListArray, StructArray};
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The functions.
pub fn functions() -> Vec<Arc<ScalarUDF>> {
    let signature = Signature::any(1, Volatility::Immutable);
    vec![Arc::new(ScalarUDF::new_from_impl(NumberedItems { signature }))]
}

/// Each item `x` of an array with its number `n`, counted from 1: what `_pg_expandarray` gives as rows.
#[derive(Debug, PartialEq, Eq, Hash)]
struct NumberedItems {
    signature: Signature,
}

fn fields(item: &DataType) -> Fields {
    Fields::from(vec![Field::new("x", item.clone(), true), Field::new("n", DataType::Int32, true)])
}

impl ScalarUDFImpl for NumberedItems {
    fn name(&self) -> &str {
        "__numbered_items"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        let DataType::List(item) = &arguments[0] else {
            return plan_err!("{} is no array", arguments[0]);
        };
        Ok(DataType::new_list(DataType::Struct(fields(item.data_type())), true))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let array = args.args[0].to_array(args.number_rows)?;
        let Some(list) = array.as_list_opt::<i32>() else {
            return exec_err!("{} is no array", array.data_type());
        };
        let numbers = list.offsets().windows(2).flat_map(|ends| 1..=ends[1] - ends[0]);
        // Items before the first offset belong to no row.
        let first = list.offsets().first().copied().unwrap_or(0) as usize;
        let numbers = std::iter::repeat_n(0, first).chain(numbers);
        let values = list.values();
        let numbers: Int32Array = numbers.chain(std::iter::repeat(0)).take(values.len()).collect();
        let fields = fields(values.data_type());
        let columns: Vec<ArrayRef> = vec![values.clone(), Arc::new(numbers)];
        let items = StructArray::try_new(fields.clone(), columns, None)?;
        let field = Arc::new(Field::new_list_field(DataType::Struct(fields), true));
        let nulls = list.nulls().cloned();
        let numbered = ListArray::try_new(field, list.offsets().clone(), Arc::new(items), nulls)?;
        Ok(ColumnarValue::Array(Arc::new(numbered)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::Int16Array;
    use datafusion::arrow::datatypes::Int16Type;
    use datafusion::common::config::ConfigOptions;

    #[test]
    fn items_are_numbered_per_row() {
        let rows = vec![Some(vec![Some(7), Some(8)]), None, Some(vec![Some(9)])];
        let list = ListArray::from_iter_primitive::<Int16Type, _, _>(rows);
        let function = functions().remove(0);
        let returned = function.return_type(&[list.data_type().clone()]).expect("a list");
        let arguments = ScalarFunctionArgs {
            args: vec![ColumnarValue::Array(Arc::new(list.clone()))],
            arg_fields: vec![Arc::new(Field::new("", list.data_type().clone(), true))],
            number_rows: 3,
            return_field: Arc::new(Field::new("", returned, true)),
            config_options: Arc::new(ConfigOptions::default()),
        };
        let numbered =
            function.invoke_with_args(arguments).expect("runs").to_array(3).expect("rows");
        let items = numbered.as_list::<i32>().values().as_struct().clone();
        let expected: ArrayRef = Arc::new(Int16Array::from(vec![7, 8, 9]));
        assert_eq!(items.column(0), &expected);
        let expected: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 1]));
        assert_eq!(items.column(1), &expected);
    }
}
