//! `pg_index` and `pg_indexes`.

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
    ("indkey", Kind::Smalls),
    ("indcollation", Kind::Text),
    ("indclass", Kind::Text),
    ("indoption", Kind::Smalls),
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
                text(""),
                text(""),
                Cell::Smalls(vec![0; index.columns.len()]),
                Cell::Null,
                Cell::Null,
            ]);
        }
    }
    rows
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
