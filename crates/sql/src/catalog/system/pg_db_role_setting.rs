//! `pg_db_role_setting`: settings that are kept for roles and the database.

use super::super::Catalog;
use super::pg_database::DATABASE;
use super::rows::{Cell, Kind, Rows, oid};
use crate::rights::{KeptKey, Role};

const COLUMNS: &[(&str, Kind)] =
    &[("setdatabase", Kind::Int), ("setrole", Kind::Int), ("setconfig", Kind::Texts)];

/// The rows.
pub fn rows(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(COLUMNS);
    for (KeptKey { role, in_database }, settings) in catalog.rights().kept() {
        let database = if in_database { DATABASE } else { 0 };
        rows.push(vec![oid(database), oid(role.0), Cell::Texts(settings.texts())]);
    }
    rows
}

/// What is kept for a role whatever the database.
pub fn of_role(catalog: &Catalog, role: &Role) -> Cell {
    let key = KeptKey { role: role.id, in_database: false };
    let kept = catalog.rights().kept_of(key);
    kept.map_or(Cell::Null, |settings| Cell::Texts(settings.texts()))
}
