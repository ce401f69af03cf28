//! `information_schema`: the standard's view of the same.

use engine::types::{ColumnDefault, ColumnSchema, DataType};

use super::super::{Catalog, column_number, table_oid};
use super::rows::{Cell, Kind, Rows, text};
use crate::rights::Object;
use crate::statement::generated::is_generated;

/// The only database.
pub const DATABASE: &str = "shareddb";

const TABLES: &[(&str, Kind)] = &[
    ("table_catalog", Kind::Text),
    ("table_schema", Kind::Text),
    ("table_name", Kind::Text),
    ("table_type", Kind::Text),
    ("self_referencing_column_name", Kind::Text),
    ("reference_generation", Kind::Text),
    ("user_defined_type_catalog", Kind::Text),
    ("user_defined_type_schema", Kind::Text),
    ("user_defined_type_name", Kind::Text),
    ("is_insertable_into", Kind::Text),
    ("is_typed", Kind::Text),
    ("commit_action", Kind::Text),
];

/// The rows of `tables`.
pub fn tables(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(TABLES);
    let mut push = |name: &str, kind: &str, insertable: &str| {
        let mut row = vec![text(DATABASE), text("public"), text(name), text(kind)];
        row.extend(std::iter::repeat_n(Cell::Null, 5));
        row.extend([text(insertable), text("NO"), Cell::Null]);
        rows.push(row);
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
    ("character_octet_length", Kind::Int),
    ("numeric_precision", Kind::Int),
    ("numeric_precision_radix", Kind::Int),
    ("numeric_scale", Kind::Int),
    ("datetime_precision", Kind::Int),
    ("interval_type", Kind::Text),
    ("character_set_name", Kind::Text),
    ("collation_name", Kind::Text),
    ("domain_name", Kind::Text),
    ("udt_catalog", Kind::Text),
    ("udt_schema", Kind::Text),
    ("udt_name", Kind::Text),
    ("dtd_identifier", Kind::Text),
    ("is_self_referencing", Kind::Text),
    ("is_identity", Kind::Text),
    ("identity_generation", Kind::Text),
    ("is_generated", Kind::Text),
    ("generation_expression", Kind::Text),
    ("is_updatable", Kind::Text),
];

/// The rows of `columns`.
pub fn columns(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(COLUMNS);
    for table in catalog.tables() {
        for (id, column) in table.live_columns() {
            let default = super::column_default(catalog, table_oid(table.id), id.0 as i64 + 1);
            let shown = Column {
                table: &table.name,
                name: &column.name,
                number: column_number(id),
                default,
                nullable: !column.not_null,
                data_type: column.data_type,
                is_generated: is_generated(column),
                identity: identity(column),
                updatable: true,
            };
            rows.push(shown.row());
        }
    }
    for view in catalog.view_columns() {
        for (i, (name, data_type)) in view.columns.iter().enumerate() {
            let shown = Column {
                table: &view.name,
                name,
                number: i as i16 + 1,
                default: None,
                nullable: true,
                data_type: *data_type,
                is_generated: false,
                identity: None,
                updatable: false,
            };
            rows.push(shown.row());
        }
    }
    rows
}

fn yes(value: bool) -> Cell {
    text(if value { "YES" } else { "NO" })
}

fn identity(column: &ColumnSchema) -> Option<&'static str> {
    match column.default {
        ColumnDefault::Sequence { identity: true, always: true, .. } => Some("ALWAYS"),
        ColumnDefault::Sequence { identity: true, always: false, .. } => Some("BY DEFAULT"),
        _ => None,
    }
}

/// A column of a table or a view.
struct Column<'a> {
    table: &'a str,
    name: &'a str,
    number: i16,
    default: Option<String>,
    nullable: bool,
    data_type: DataType,
    /// By the expression that stands as its default.
    is_generated: bool,
    identity: Option<&'static str>,
    updatable: bool,
}

impl Column<'_> {
    fn row(self) -> Vec<Cell> {
        let sizes = Sizes::of(self.data_type);
        let (name, udt) = names(self.data_type);
        let int = |value: Option<i32>| value.map_or(Cell::Null, Cell::Int);
        let (generation, default) = match self.is_generated {
            true => (self.default, None),
            false => (None, self.default),
        };
        vec![
            text(DATABASE),
            text("public"),
            text(self.table),
            text(self.name),
            Cell::Int(self.number.into()),
            default.map_or(Cell::Null, text),
            yes(self.nullable),
            text(name),
            int(sizes.length),
            int(sizes.octets),
            int(sizes.precision),
            int(sizes.radix),
            int(sizes.scale),
            int(sizes.fraction),
            Cell::Null,
            Cell::Null,
            Cell::Null,
            Cell::Null,
            text(DATABASE),
            text("pg_catalog"),
            text(udt),
            text(self.number.to_string()),
            text("NO"),
            yes(self.identity.is_some()),
            self.identity.map_or(Cell::Null, text),
            text(if self.is_generated { "ALWAYS" } else { "NEVER" }),
            generation.map_or(Cell::Null, text),
            yes(self.updatable),
        ]
    }
}

/// How long and how precise values of a type are.
#[derive(Default)]
struct Sizes {
    length: Option<i32>,
    octets: Option<i32>,
    precision: Option<i32>,
    radix: Option<i32>,
    scale: Option<i32>,
    fraction: Option<i32>,
}

impl Sizes {
    fn of(data_type: DataType) -> Sizes {
        /// PostgreSQL's limit of a value's bytes, which it gives for unbounded strings.
        const UNBOUNDED: i32 = 1 << 30;
        let binary = |precision, scale| Sizes {
            precision: Some(precision),
            radix: Some(2),
            scale,
            ..Sizes::default()
        };
        match data_type {
            DataType::Varchar(n) | DataType::Char(n) => Sizes {
                length: Some(n as i32),
                octets: Some((n as i32).saturating_mul(4)),
                ..Sizes::default()
            },
            DataType::Text => Sizes { octets: Some(UNBOUNDED), ..Sizes::default() },
            DataType::Numeric { precision, scale } => Sizes {
                precision: Some(precision.into()),
                radix: Some(10),
                scale: Some(scale.into()),
                ..Sizes::default()
            },
            DataType::SmallInt => binary(16, Some(0)),
            DataType::Integer => binary(32, Some(0)),
            DataType::BigInt => binary(64, Some(0)),
            DataType::Real => binary(24, None),
            DataType::Double => binary(53, None),
            DataType::Date => Sizes { fraction: Some(0), ..Sizes::default() },
            DataType::Timestamp | DataType::TimestampTz => {
                Sizes { fraction: Some(6), ..Sizes::default() }
            }
            DataType::Boolean | DataType::Bytea => Sizes::default(),
        }
    }
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
pub fn schemata(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(SCHEMATA);
    for (_, name) in super::pg_namespace::SCHEMAS {
        let owner = catalog.rights().access(&Object::Schema(name.to_owned())).owner;
        let owner = text(catalog.rights().name_of(owner));
        rows.push(vec![text(DATABASE), text(name), owner]);
    }
    rows
}

const VIEWS: &[(&str, Kind)] = &[
    ("table_catalog", Kind::Text),
    ("table_schema", Kind::Text),
    ("table_name", Kind::Text),
    ("view_definition", Kind::Text),
    ("check_option", Kind::Text),
    ("is_updatable", Kind::Text),
    ("is_insertable_into", Kind::Text),
];

/// The rows of `views`.
pub fn views(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(VIEWS);
    for view in catalog.views() {
        rows.push(vec![
            text(DATABASE),
            text("public"),
            text(view.name.clone()),
            text(view.text.clone()),
            text("NONE"),
            text("NO"),
            text("NO"),
        ]);
    }
    rows
}

const SEQUENCES: &[(&str, Kind)] = &[
    ("sequence_catalog", Kind::Text),
    ("sequence_schema", Kind::Text),
    ("sequence_name", Kind::Text),
    ("data_type", Kind::Text),
    ("numeric_precision", Kind::Int),
    ("numeric_precision_radix", Kind::Int),
    ("numeric_scale", Kind::Int),
    ("start_value", Kind::Text),
    ("minimum_value", Kind::Text),
    ("maximum_value", Kind::Text),
    ("increment", Kind::Text),
    ("cycle_option", Kind::Text),
];

/// The rows of `sequences`.
pub fn sequences(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(SEQUENCES);
    for sequence in catalog.sequences() {
        let mut row = vec![text(DATABASE), text("public"), text(&*sequence.name), text("bigint")];
        row.extend([Cell::Int(64), Cell::Int(2), Cell::Int(0)]);
        let numbers = [sequence.start, sequence.min, sequence.max, sequence.increment];
        row.extend(numbers.map(|number| text(number.to_string())));
        row.push(yes(sequence.cycle));
        rows.push(row);
    }
    rows
}
