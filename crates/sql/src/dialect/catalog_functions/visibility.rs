//! Whether an object is found without its schema: all of ours are.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;

use super::{Definition, definition};
use crate::session::unsupported_pg_notify;

/// The functions.
pub fn functions() -> Vec<Definition> {
    let names = [
        "pg_table_is_visible",
        "pg_function_is_visible",
        "pg_type_is_visible",
        "pg_operator_is_visible",
        "pg_opclass_is_visible",
        "pg_opfamily_is_visible",
        "pg_collation_is_visible",
        "pg_conversion_is_visible",
        "pg_ts_config_is_visible",
        "pg_ts_dict_is_visible",
        "pg_ts_parser_is_visible",
        "pg_ts_template_is_visible",
        "pg_statistics_obj_is_visible",
    ];
    let visible = names.map(|name| {
        definition(name, DataType::Boolean, |_, arguments| {
            let known = arguments.first().is_some_and(|oid| !oid.is_null());
            Ok(known.then(|| ScalarValue::from(true)))
        })
    });
    let mut all: Vec<Definition> = visible.into_iter().collect();
    all.push(definition("pg_is_in_recovery", DataType::Boolean, |_, _| {
        Ok(Some(ScalarValue::from(false)))
    }));
    all.push(definition("pg_is_other_temp_schema", DataType::Boolean, |_, _| {
        Ok(Some(ScalarValue::from(false)))
    }));
    all.push(definition("pg_my_temp_schema", DataType::Int32, |_, _| {
        Ok(Some(ScalarValue::Int32(Some(0))))
    }));
    // Where it is there it has become its value before anything is planned.
    all.push(definition("pg_notify", DataType::Utf8View, |_, _| Err(unsupported_pg_notify())));
    all
}
