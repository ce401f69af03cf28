//! Names to ids and back: what casts to `regclass`, `regtype` and their like call.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use engine::types::{Error, Result, SqlState};

use super::{Compute, Definition, definition, is_true, number, of_oid, of_text, oid_at, text};
use crate::catalog::system;

/// The functions.
pub fn functions() -> Vec<Definition> {
    let ids: [(&'static str, Compute); 9] = [
        ("__regclass", |catalog, arguments| {
            id(arguments, |name| system::find_relation(catalog, name))
        }),
        ("to_regclass", |catalog, arguments| {
            Ok(id(arguments, |name| system::find_relation(catalog, name)).unwrap_or(None))
        }),
        ("to_regtype", |_, arguments| Ok(id(arguments, system::find_type).unwrap_or(None))),
        ("to_regnamespace", |_, arguments| Ok(id(arguments, system::find_schema).unwrap_or(None))),
        ("to_regrole", |catalog, arguments| {
            Ok(id(arguments, |name| system::find_role(catalog, name)).unwrap_or(None))
        }),
        ("__regtype", |_, arguments| id(arguments, system::find_type)),
        ("__regnamespace", |_, arguments| id(arguments, system::find_schema)),
        ("__regrole", |catalog, arguments| id(arguments, |name| system::find_role(catalog, name))),
        ("__regcollation", |_, arguments| id(arguments, |_| Ok(DEFAULT_COLLATION))),
    ];
    let names: [(&'static str, Compute); 6] = [
        ("__regclass_name", |catalog, arguments| {
            Ok(name(arguments, |oid| system::relation_name(catalog, oid)))
        }),
        ("__regtype_name", |_, arguments| Ok(name(arguments, system::type_name))),
        ("__regnamespace_name", |_, arguments| {
            Ok(name(arguments, |oid| system::schema_name(oid).map(str::to_owned)))
        }),
        ("__regrole_name", |catalog, arguments| {
            Ok(name(arguments, |oid| system::role_name(catalog, oid)))
        }),
        ("__regcollation_name", |_, arguments| Ok(name(arguments, |_| Some("default".to_owned())))),
        ("__regproc", |_, arguments| {
            let plain = |name: String| name.trim_start_matches("pg_catalog.").to_owned();
            Ok(arguments.first().and_then(text).map(|name| of_text(plain(name))))
        }),
    ];
    let ids = ids.into_iter().map(|(name, compute)| definition(name, DataType::Int32, compute));
    let names =
        names.into_iter().map(|(name, compute)| definition(name, DataType::Utf8View, compute));
    let mut all: Vec<Definition> = ids.chain(names).collect();
    all.push(definition("format_type", DataType::Utf8View, |_, arguments| {
        let modifier = arguments.get(1).and_then(number).map(|number| number as i32);
        let format = |oid| of_text(system::formatted_type(oid, modifier));
        Ok(oid_at(arguments, 0).map(format))
    }));
    all.push(definition("pg_encoding_to_char", DataType::Utf8View, |_, arguments| {
        // The only encoding has PostgreSQL's number 6.
        Ok(oid_at(arguments, 0).map(|number| of_text(if number == 6 { "UTF8" } else { "" })))
    }));
    let schemas = DataType::new_list(DataType::Utf8View, true);
    all.push(definition("current_schemas", schemas, |_, arguments| {
        let implicit = is_true(arguments, 0).then(|| of_text("pg_catalog"));
        let names: Vec<ScalarValue> = implicit.into_iter().chain([of_text("public")]).collect();
        let list = ScalarValue::new_list(&names, &DataType::Utf8View, true);
        Ok(Some(ScalarValue::List(list)))
    }));
    all
}

const DEFAULT_COLLATION: u32 = 100;

/// The id that a name, or a number in words, stands for.
fn id(
    arguments: &[ScalarValue],
    find: impl Fn(&str) -> Result<u32>,
) -> Result<Option<ScalarValue>> {
    let Some(argument) = arguments.first() else { return Ok(None) };
    match text(argument) {
        None => Ok(number(argument).map(|number| ScalarValue::Int32(Some(number as i32)))),
        Some(word) if word == "-" => Ok(Some(of_oid(0))),
        Some(word) => match word.parse::<u32>() {
            Ok(oid) => Ok(Some(of_oid(oid))),
            Err(_) if word.is_empty() => {
                Err(Error::new(SqlState::InvalidName, "invalid name syntax"))
            }
            Err(_) => find(&word).map(|oid| Some(of_oid(oid))),
        },
    }
}

/// The name of an id; the number itself where nothing has it.
fn name(arguments: &[ScalarValue], find: impl Fn(u32) -> Option<String>) -> Option<ScalarValue> {
    let oid = oid_at(arguments, 0)?;
    if oid == 0 {
        return Some(of_text("-"));
    }
    Some(of_text(find(oid).unwrap_or_else(|| oid.to_string())))
}
