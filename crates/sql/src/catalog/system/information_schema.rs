//! `information_schema`: the standard's view of the same.

use engine::types::{ColumnSchema, DataType, TableSchema};

use super::super::{Catalog, column_number, table_oid};
use super::constraint::{Rule, constraints};
use super::rows::{Cell, Kind, Rows, text};

const DATABASE: &str = "shareddb";

const TABLES: &[(&str, Kind)] = &[
    ("table_catalog", Kind::Text),
    ("table_schema", Kind::Text),
    ("table_name", Kind::Text),
    ("table_type", Kind::Text),
    ("is_insertable_into", Kind::Text),
];

/// The rows of `tables`.
pub fn tables(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(TABLES);
    let mut push = |name: &str, kind: &str, insertable: &str| {
        let place = [text(DATABASE), text("public"), text(name)];
        rows.push(place.into_iter().chain([text(kind), text(insertable)]).collect());
    };
    catalog.tables().iter().for_each(|table| push(&table.name, "BASE TABLE", "YES"));
    catalog.views().iter().for_each(|view| push(&view.name, "VIEW", "NO"));
    rows
}

const COLUMNS: &[(&str, Kind)] = &[
    ("table_catalog", Kind::Text),
    ("table_schema", Kind::Text),
    ("table_name", Kind::Text),
    ("column_name", Kind::Text),
    ("ordinal_position", Kind::Int),
    ("column_default", Kind::Text),
    ("is_nullable", Kind::Text),
    ("data_type", Kind::Text),
    ("character_maximum_length", Kind::Int),
    ("numeric_precision", Kind::Int),
    ("numeric_scale", Kind::Int),
    ("datetime_precision", Kind::Int),
    ("udt_name", Kind::Text),
    ("is_identity", Kind::Text),
    ("is_generated", Kind::Text),
    ("is_updatable", Kind::Text),
];

/// The rows of `columns`.
pub fn columns(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(COLUMNS);
    for table in catalog.tables() {
        for (id, column) in table.live_columns() {
            let default = super::column_default(catalog, table_oid(table.id), id.0 as i64 + 1);
            rows.push(column_row(table, column, column_number(id), default));
        }
    }
    rows
}

fn yes(value: bool) -> Cell {
    text(if value { "YES" } else { "NO" })
}

fn column_row(
    table: &TableSchema,
    column: &ColumnSchema,
    number: i16,
    default: Option<String>,
) -> Vec<Cell> {
    let (length, precision, scale) = match column.data_type {
        DataType::Varchar(n) | DataType::Char(n) => (Cell::Int(n as i32), Cell::Null, Cell::Null),
        DataType::Numeric { precision, scale } => {
            (Cell::Null, Cell::Int(precision.into()), Cell::Int(scale.into()))
        }
        DataType::SmallInt => (Cell::Null, Cell::Int(16), Cell::Int(0)),
        DataType::Integer => (Cell::Null, Cell::Int(32), Cell::Int(0)),
        DataType::BigInt => (Cell::Null, Cell::Int(64), Cell::Int(0)),
        _ => (Cell::Null, Cell::Null, Cell::Null),
    };
    let timed = matches!(column.data_type, DataType::Timestamp | DataType::TimestampTz);
    let (name, udt) = names(column.data_type);
    use engine::types::ColumnDefault::Sequence;
    vec![
        text(DATABASE),
        text("public"),
        text(&*table.name),
        text(&*column.name),
        Cell::Int(number.into()),
        default.map_or(Cell::Null, text),
        yes(!column.not_null),
        text(name),
        length,
        precision,
        scale,
        if timed { Cell::Int(6) } else { Cell::Null },
        text(udt),
        yes(matches!(column.default, Sequence { identity: true, .. })),
        text("NEVER"),
        yes(true),
    ]
}

fn names(data_type: DataType) -> (String, &'static str) {
    let udt = match data_type {
        DataType::Boolean => "bool",
        DataType::SmallInt => "int2",
        DataType::Integer => "int4",
        DataType::BigInt => "int8",
        DataType::Real => "float4",
        DataType::Double => "float8",
        DataType::Numeric { .. } => "numeric",
        DataType::Text => "text",
        DataType::Varchar(_) => "varchar",
        DataType::Char(_) => "bpchar",
        DataType::Date => "date",
        DataType::Timestamp => "timestamp",
        DataType::TimestampTz => "timestamptz",
        DataType::Bytea => "bytea",
    };
    let name = data_type.to_string();
    (name.split('(').next().unwrap_or(&name).to_owned(), udt)
}

const SCHEMATA: &[(&str, Kind)] =
    &[("catalog_name", Kind::Text), ("schema_name", Kind::Text), ("schema_owner", Kind::Text)];

/// The rows of `schemata`.
pub fn schemata(_: &Catalog) -> Rows {
    let mut rows = Rows::new(SCHEMATA);
    for (_, name) in super::pg_namespace::SCHEMAS {
        rows.push(vec![text(DATABASE), text(name), text(DATABASE)]);
    }
    rows
}

const CONSTRAINTS: &[(&str, Kind)] = &[
    ("constraint_catalog", Kind::Text),
    ("constraint_schema", Kind::Text),
    ("constraint_name", Kind::Text),
    ("table_catalog", Kind::Text),
    ("table_schema", Kind::Text),
    ("table_name", Kind::Text),
    ("constraint_type", Kind::Text),
];

/// The rows of `table_constraints`.
pub fn table_constraints(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(CONSTRAINTS);
    for constraint in constraints(catalog) {
        let kind = match constraint.rule {
            Rule::Key(index) if index.primary => "PRIMARY KEY",
            Rule::Key(_) => "UNIQUE",
            Rule::Reference(_) => "FOREIGN KEY",
            Rule::Check(_) => "CHECK",
        };
        rows.push(vec![
            text(DATABASE),
            text("public"),
            text(constraint.name),
            text(DATABASE),
            text("public"),
            text(&*constraint.table.name),
            text(kind),
        ]);
    }
    rows
}

const USAGE: &[(&str, Kind)] = &[
    ("constraint_catalog", Kind::Text),
    ("constraint_schema", Kind::Text),
    ("constraint_name", Kind::Text),
    ("table_schema", Kind::Text),
    ("table_name", Kind::Text),
    ("column_name", Kind::Text),
    ("ordinal_position", Kind::Int),
];

/// The rows of `key_column_usage`.
pub fn key_column_usage(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(USAGE);
    for constraint in constraints(catalog) {
        for (i, column) in constraint.columns().iter().enumerate() {
            rows.push(vec![
                text(DATABASE),
                text("public"),
                text(constraint.name),
                text("public"),
                text(&*constraint.table.name),
                text(&*constraint.table.columns[column.index()].name),
                Cell::Int(i as i32 + 1),
            ]);
        }
    }
    rows
}
