//! `pg_namespace`: schemas.

use super::super::Catalog;
use super::lookup::acl_cell;
use super::rows::{Kind, Rows, oid, text};
use crate::rights::Object;

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
pub fn rows(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(COLUMNS);
    for (id, name) in SCHEMAS {
        let access = catalog.rights().access(&Object::Schema(name.to_owned()));
        let acl = acl_cell(catalog, access.acl.as_ref());
        rows.push(vec![oid(id), text(name), oid(access.owner.0), acl]);
    }
    rows
}
