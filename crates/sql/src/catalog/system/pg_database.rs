//! `pg_database`: the only one.

use super::super::Catalog;
use super::lookup::acl_cell;
use super::rows::{Cell, Kind, Rows, oid, text};
use crate::rights::Object;

/// The database's id.
pub const DATABASE: u32 = 5;
/// UTF8's number among PostgreSQL's encodings.
const UTF8: i32 = 6;
/// `pg_default`
const TABLESPACE: u32 = 1663;

const COLUMNS: &[(&str, Kind)] = &[
    ("oid", Kind::Int),
    ("datname", Kind::Text),
    ("datdba", Kind::Int),
    ("encoding", Kind::Int),
    ("datlocprovider", Kind::Text),
    ("datistemplate", Kind::Bool),
    ("datallowconn", Kind::Bool),
    ("datconnlimit", Kind::Int),
    ("datfrozenxid", Kind::Int),
    ("datminmxid", Kind::Int),
    ("dattablespace", Kind::Int),
    ("datcollate", Kind::Text),
    ("datctype", Kind::Text),
    ("daticulocale", Kind::Text),
    ("datcollversion", Kind::Text),
    ("datacl", Kind::Texts),
];

/// The row.
pub fn rows(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(COLUMNS);
    let access = catalog.rights().access(&Object::Database);
    rows.push(vec![
        oid(DATABASE),
        text("shareddb"),
        oid(access.owner.0),
        Cell::Int(UTF8),
        text("c"),
        Cell::Bool(false),
        Cell::Bool(true),
        Cell::Int(-1),
        oid(0),
        oid(0),
        oid(TABLESPACE),
        text("C"),
        text("C"),
        Cell::Null,
        Cell::Null,
        acl_cell(catalog, access.acl.as_ref()),
    ]);
    rows
}
