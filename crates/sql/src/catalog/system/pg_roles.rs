//! `pg_roles`, `pg_authid`, `pg_user`: who may connect.

use super::super::Catalog;
use super::lookup::{OWNER, roles};
use super::rows::{Cell, Kind, Rows, oid, text};

const ROLES: &[(&str, Kind)] = &[
    ("rolname", Kind::Text),
    ("rolsuper", Kind::Bool),
    ("rolinherit", Kind::Bool),
    ("rolcreaterole", Kind::Bool),
    ("rolcreatedb", Kind::Bool),
    ("rolcanlogin", Kind::Bool),
    ("rolreplication", Kind::Bool),
    ("rolconnlimit", Kind::Int),
    ("rolpassword", Kind::Text),
    ("rolvaliduntil", Kind::Text),
    ("rolbypassrls", Kind::Bool),
    ("rolconfig", Kind::Texts),
    ("oid", Kind::Int),
];

/// The rows of `pg_roles`, and of `pg_authid`: what is stored of a password is never shown.
pub fn roles_rows(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(ROLES);
    for (id, name) in roles(catalog) {
        let owner = Cell::Bool(id == OWNER);
        let (yes, no) = (Cell::Bool(true), Cell::Bool(false));
        rows.push(vec![
            text(name),
            owner.clone(),
            yes.clone(),
            owner,
            no.clone(),
            yes,
            no.clone(),
            Cell::Int(-1),
            text("********"),
            Cell::Null,
            no,
            Cell::Null,
            oid(id),
        ]);
    }
    rows
}

const USERS: &[(&str, Kind)] = &[
    ("usename", Kind::Text),
    ("usesysid", Kind::Int),
    ("usecreatedb", Kind::Bool),
    ("usesuper", Kind::Bool),
    ("userepl", Kind::Bool),
    ("usebypassrls", Kind::Bool),
    ("passwd", Kind::Text),
    ("valuntil", Kind::Text),
    ("useconfig", Kind::Texts),
];

/// The rows of `pg_user`.
pub fn users(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(USERS);
    for (id, name) in roles(catalog) {
        let no = Cell::Bool(false);
        rows.push(vec![
            text(name),
            oid(id),
            no.clone(),
            Cell::Bool(id == OWNER),
            no.clone(),
            no,
            text("********"),
            Cell::Null,
            Cell::Null,
        ]);
    }
    rows
}
