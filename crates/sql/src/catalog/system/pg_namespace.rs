//! `pg_namespace`: schemas.

use super::super::Catalog;
use super::lookup::OWNER;
use super::rows::{Cell, Kind, Rows, oid, text};

/// `public`
pub const PUBLIC: u32 = 2200;
/// Schemas and their ids.
pub const SCHEMAS: [(u32, &str); 4] =
    [(11, "pg_catalog"), (PUBLIC, "public"), (13_000, "information_schema"), (16_000, "shareddb")];

const COLUMNS: &[(&str, Kind)] = &[
    ("oid", Kind::Int),
    ("nspname", Kind::Text),
    ("nspowner", Kind::Int),
    ("nspacl", Kind::Texts),
];

/// The rows.
pub fn rows(_: &Catalog) -> Rows {
    let mut rows = Rows::new(COLUMNS);
    for (id, name) in SCHEMAS {
        rows.push(vec![oid(id), text(name), oid(OWNER), Cell::Null]);
    }
    rows
}
