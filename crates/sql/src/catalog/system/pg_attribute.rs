//! `pg_attribute` and `pg_attrdef`: columns and their defaults.

use engine::types::{ColumnDefault, ColumnSchema, IndexSchema, TableSchema, Value};

use super::super::types::{id_of, modifier_of, size_of};
use super::super::{Catalog, index_oid, table_oid};
use super::column_default;
use super::lookup::acl_cell;
use super::pg_class::view_oid;
use super::rows::{Cell, Kind, Rows, oid, text};
use crate::rights::Object;
use crate::statement::generated::is_generated;

const COLUMNS: &[(&str, Kind)] = &[
    ("attrelid", Kind::Int),
    ("attname", Kind::Text),
    ("atttypid", Kind::Int),
    ("attstattarget", Kind::Int),
    ("attlen", Kind::Small),
    ("attnum", Kind::Small),
    ("attndims", Kind::Int),
    ("attcacheoff", Kind::Int),
    ("atttypmod", Kind::Int),
    ("attbyval", Kind::Bool),
    ("attalign", Kind::Text),
    ("attstorage", Kind::Text),
    ("attcompression", Kind::Text),
    ("attnotnull", Kind::Bool),
    ("atthasdef", Kind::Bool),
    ("atthasmissing", Kind::Bool),
    ("attidentity", Kind::Text),
    ("attgenerated", Kind::Text),
    ("attisdropped", Kind::Bool),
    ("attislocal", Kind::Bool),
    ("attinhcount", Kind::Int),
    ("attcollation", Kind::Int),
    ("attacl", Kind::Texts),
    ("attoptions", Kind::Texts),
    ("attfdwoptions", Kind::Texts),
    ("attmissingval", Kind::Text),
];

/// The rows of `pg_attribute`.
pub fn rows(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(COLUMNS);
    for table in catalog.tables() {
        for (i, column) in table.columns.iter().enumerate() {
            let acl = column_acl(catalog, &table.name, i);
            push(&mut rows, table_oid(table.id), i, column, false, acl);
        }
        for index in &table.indexes {
            index_columns(&mut rows, table, index);
        }
    }
    for view in catalog.view_columns() {
        for (i, (name, data_type)) in view.columns.iter().enumerate() {
            let column = ColumnSchema {
                name: name.as_str().into(),
                data_type: *data_type,
                not_null: false,
                default: ColumnDefault::None,
                dropped: false,
                missing: Value::Null,
            };
            let acl = column_acl(catalog, &view.name, i);
            push(&mut rows, view_oid(&view.name), i, &column, false, acl);
        }
    }
    rows
}

fn index_columns(rows: &mut Rows, table: &TableSchema, index: &IndexSchema) {
    for (i, id) in index.columns.iter().enumerate() {
        let column = &table.columns[id.index()];
        push(rows, index_oid(index.id), i, column, true, Cell::Null);
    }
}

/// Whether a column has a row in `pg_attrdef`.
fn has_default(column: &ColumnSchema) -> bool {
    match column.default {
        ColumnDefault::None => false,
        ColumnDefault::Sequence { identity, .. } => !identity,
        _ => !column.dropped,
    }
}

fn identity(column: &ColumnSchema) -> &'static str {
    match column.default {
        ColumnDefault::Sequence { identity: true, always: true, .. } => "a",
        ColumnDefault::Sequence { identity: true, always: false, .. } => "d",
        _ => "",
    }
}

/// What was said about the column at a place.
fn column_acl(catalog: &Catalog, relation: &str, place: usize) -> Cell {
    let said = catalog.rights().said(&Object::Relation(relation.to_owned()));
    acl_cell(catalog, said.and_then(|access| access.columns.get(&(place as i16 + 1))))
}

fn push(
    rows: &mut Rows,
    relation: u32,
    i: usize,
    column: &ColumnSchema,
    of_index: bool,
    acl: Cell,
) {
    let size = size_of(column.data_type);
    let collation = if column.data_type.is_string() { 100 } else { 0 };
    rows.push(vec![
        oid(relation),
        text(&*column.name),
        oid(if column.dropped { 0 } else { id_of(column.data_type) }),
        Cell::Int(-1),
        Cell::Small(size),
        Cell::Small(i as i16 + 1),
        Cell::Int(0),
        Cell::Int(-1),
        Cell::Int(modifier_of(column.data_type)),
        Cell::Bool(size > 0),
        text(if size == 8 { "d" } else { "i" }),
        text(if size > 0 { "p" } else { "x" }),
        text(""),
        Cell::Bool(column.not_null && !of_index),
        Cell::Bool(has_default(column) && !of_index),
        Cell::Bool(false),
        text(if of_index { "" } else { identity(column) }),
        text(if is_generated(column) && !of_index { "s" } else { "" }),
        Cell::Bool(column.dropped),
        Cell::Bool(true),
        Cell::Int(0),
        oid(collation),
        acl,
        Cell::Null,
        Cell::Null,
        Cell::Null,
    ]);
}

const DEFAULTS: &[(&str, Kind)] =
    &[("oid", Kind::Int), ("adrelid", Kind::Int), ("adnum", Kind::Small), ("adbin", Kind::Text)];

/// The rows of `pg_attrdef`.
pub fn defaults(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(DEFAULTS);
    for table in catalog.tables() {
        for (i, column) in table.columns.iter().enumerate() {
            let relation = table_oid(table.id);
            let Some(definition) = column_default(catalog, relation, i as i64 + 1) else {
                continue;
            };
            if has_default(column) {
                // An id that no other default has: tables have at most 1600 columns.
                let id = oid(0x4000_0000 + table.id.0 * 2048 + i as u32);
                rows.push(vec![id, oid(relation), Cell::Small(i as i16 + 1), text(definition)]);
            }
        }
    }
    rows
}
