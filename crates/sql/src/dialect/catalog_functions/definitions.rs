//! Definitions as SQL, and what is said about objects.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;

use super::{Definition, definition, is_true, number, of_text, oid_at, text};
use crate::catalog::{Catalog, system};

/// The functions.
pub fn functions() -> Vec<Definition> {
    let answer_text = |(name, compute)| definition(name, DataType::Utf8View, compute);
    let known: [(&'static str, super::Compute); 7] = [
        ("pg_get_constraintdef", |catalog, arguments| {
            let pretty = is_true(arguments, 1);
            let of = |oid| system::constraint_definition(catalog, oid, pretty);
            Ok(oid_at(arguments, 0).and_then(of).map(of_text))
        }),
        ("pg_get_indexdef", |catalog, arguments| {
            let column = arguments.get(1).and_then(number).unwrap_or(0);
            let of = |oid| system::index_definition(catalog, oid, column);
            Ok(oid_at(arguments, 0).and_then(of).map(of_text))
        }),
        ("pg_get_viewdef", |catalog, arguments| {
            let of = |oid| system::view_definition(catalog, oid);
            Ok(oid_at(arguments, 0).and_then(of).map(of_text))
        }),
        ("pg_get_expr", |_, arguments| Ok(arguments.first().and_then(text).map(of_text))),
        ("pg_get_serial_sequence", serial_sequence),
        ("pg_size_pretty", |_, arguments| {
            Ok(arguments.first().and_then(number).map(|size| of_text(pretty_size(size))))
        }),
        ("pg_get_userbyid", |catalog, arguments| {
            let Some(oid) = oid_at(arguments, 0) else { return Ok(None) };
            let role = system::role_name(catalog, oid);
            Ok(Some(of_text(role.unwrap_or_else(|| format!("unknown (OID={oid})")))))
        }),
    ];
    // There are no comments, functions, triggers or rules to tell about.
    let absent = [
        "obj_description",
        "col_description",
        "shobj_description",
        "pg_get_function_result",
        "pg_get_function_arguments",
        "pg_get_function_identity_arguments",
        "pg_get_function_sqlbody",
        "pg_get_functiondef",
        "pg_get_triggerdef",
        "pg_get_ruledef",
        "pg_tablespace_location",
        "pg_relation_filepath",
    ];
    let absent = absent.into_iter().map(|name| (name, nothing as super::Compute));
    let mut all: Vec<Definition> = known.into_iter().chain(absent).map(answer_text).collect();
    // How many bytes a relation takes is not counted.
    let sizes = [
        "pg_table_size",
        "pg_relation_size",
        "pg_total_relation_size",
        "pg_indexes_size",
        "pg_database_size",
        "pg_tablespace_size",
    ];
    all.extend(sizes.map(|name| definition(name, DataType::Int64, nothing)));
    all
}

fn nothing(_: &Catalog, _: &[ScalarValue]) -> engine::types::Result<Option<ScalarValue>> {
    Ok(None)
}

/// `pg_get_serial_sequence('t', 'c')`: the sequence that the column owns.
fn serial_sequence(
    catalog: &Catalog,
    arguments: &[ScalarValue],
) -> engine::types::Result<Option<ScalarValue>> {
    let (Some(table), Some(column)) =
        (arguments.first().and_then(text), arguments.get(1).and_then(text))
    else {
        return Ok(None);
    };
    let table = system::find_relation(catalog, &table)?;
    let owned = catalog.sequences().into_iter().find(|sequence| {
        sequence.owner.is_some_and(|(owner, id)| {
            crate::catalog::table_oid(owner) == table
                && catalog
                    .table_by_id(owner)
                    .is_some_and(|owner| *owner.columns[id.index()].name == *column)
        })
    });
    Ok(owned.map(|sequence| of_text(format!("public.{}", system::quoted(&sequence.name)))))
}

/// `8192 bytes`, `24 kB`
fn pretty_size(size: i64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    // From ten thousand of a unit on, PostgreSQL takes the next, rounding half up.
    let limit = 10 * 1024;
    if size.abs() < limit {
        return format!("{size} bytes");
    }
    let mut halves = size >> 9;
    let mut unit = 0;
    while halves.abs() >= 2 * limit - 1 && unit + 1 < UNITS.len() {
        halves >>= 10;
        unit += 1;
    }
    format!("{} {}", (halves + halves.signum()) / 2, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_postgresql_does() {
        assert_eq!(pretty_size(8192), "8192 bytes");
        assert_eq!(pretty_size(10_239), "10239 bytes");
        assert_eq!(pretty_size(10_240), "10 kB");
        assert_eq!(pretty_size(7_632_896), "7454 kB");
        assert_eq!(pretty_size(123_456_789), "118 MB");
    }
}
