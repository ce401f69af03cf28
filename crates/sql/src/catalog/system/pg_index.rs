//! `pg_index` and `pg_indexes`.

use engine::types::DataType;

use super::super::{Catalog, column_number, index_oid, table_oid};
use super::index_definition;
use super::rows::{Cell, Kind, Rows, oid, text};

const COLUMNS: &[(&str, Kind)] = &[
    ("indexrelid", Kind::Int),
    ("indrelid", Kind::Int),
    ("indnatts", Kind::Small),
    ("indnkeyatts", Kind::Small),
    ("indisunique", Kind::Bool),
    ("indnullsnotdistinct", Kind::Bool),
    ("indisprimary", Kind::Bool),
    ("indisexclusion", Kind::Bool),
    ("indimmediate", Kind::Bool),
    ("indisclustered", Kind::Bool),
    ("indisvalid", Kind::Bool),
    ("indcheckxmin", Kind::Bool),
    ("indisready", Kind::Bool),
    ("indislive", Kind::Bool),
    ("indisreplident", Kind::Bool),
    ("indkey", Kind::SmallVector),
    ("indcollation", Kind::OidVector),
    ("indclass", Kind::OidVector),
    ("indoption", Kind::SmallVector),
    ("indexprs", Kind::Text),
    ("indpred", Kind::Text),
];

/// The rows of `pg_index`.
pub fn rows(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(COLUMNS);
    let (yes, no) = (Cell::Bool(true), Cell::Bool(false));
    for table in catalog.tables() {
        for index in &table.indexes {
            let width = Cell::Small(index.columns.len() as i16);
            let types = index.columns.iter().map(|column| table.columns[column.index()].data_type);
            let types: Vec<DataType> = types.collect();
            let key = index.columns.iter().map(|column| column_number(*column)).collect();
            rows.push(vec![
                oid(index_oid(index.id)),
                oid(table_oid(table.id)),
                width.clone(),
                width,
                Cell::Bool(index.unique),
                no.clone(),
                Cell::Bool(index.primary),
                no.clone(),
                yes.clone(),
                no.clone(),
                yes.clone(),
                no.clone(),
                yes.clone(),
                yes.clone(),
                no.clone(),
                Cell::Smalls(key),
                Cell::Oids(types.iter().map(|data_type| collation(*data_type)).collect()),
                Cell::Oids(types.iter().map(|data_type| operator_class(*data_type)).collect()),
                Cell::Smalls(vec![0; index.columns.len()]),
                Cell::Null,
                Cell::Null,
            ]);
        }
    }
    rows
}

/// The default collation of strings, none of others.
fn collation(data_type: DataType) -> i32 {
    if data_type.is_string() { 100 } else { 0 }
}

/// PostgreSQL 15's operator class by which a B-tree orders a type where nobody says.
fn operator_class(data_type: DataType) -> i32 {
    match data_type {
        DataType::Boolean => 10003,
        DataType::SmallInt => 1979,
        DataType::Integer => 1978,
        DataType::BigInt => 3124,
        DataType::Real => 10012,
        DataType::Double => 3123,
        DataType::Numeric { .. } => 3125,
        DataType::Text | DataType::Varchar(_) => 3126,
        DataType::Char(_) => 10004,
        DataType::Date => 3122,
        DataType::Timestamp => 3128,
        DataType::TimestampTz => 3127,
        DataType::Bytea => 10006,
    }
}

const INDEXES: &[(&str, Kind)] = &[
    ("schemaname", Kind::Text),
    ("tablename", Kind::Text),
    ("indexname", Kind::Text),
    ("tablespace", Kind::Text),
    ("indexdef", Kind::Text),
];

/// The rows of `pg_indexes`.
pub fn indexes(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(INDEXES);
    for table in catalog.tables() {
        for index in &table.indexes {
            let definition = index_definition(catalog, index_oid(index.id), 0);
            rows.push(vec![
                text("public"),
                text(&*table.name),
                text(&*index.name),
                Cell::Null,
                definition.map_or(Cell::Null, text),
            ]);
        }
    }
    rows
}
