//! `pg_roles`, `pg_authid`, `pg_user`, `pg_auth_members`, `pg_group`, `pg_default_acl`: who there is.

use super::super::Catalog;
use super::lookup::acl_cell;
use super::pg_db_role_setting;
use super::pg_namespace::PUBLIC as PUBLIC_SCHEMA;
use super::rows::{Cell, Kind, Rows, oid, text};
use crate::rights::Role;

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

/// The rows of `pg_roles`: what is stored of a password is not shown.
pub fn roles(catalog: &Catalog) -> Rows {
    roles_with(catalog, |_| text("********"))
}

/// The rows of `pg_authid`, which only superusers read.
pub fn authid(catalog: &Catalog) -> Rows {
    roles_with(catalog, verifier)
}

fn verifier(role: &Role) -> Cell {
    role.verifier.clone().map_or(Cell::Null, text)
}

/// A time as its text.
fn until(role: &Role) -> Cell {
    let Some(moment) = role.valid_until else { return Cell::Null };
    let mut bytes = Vec::new();
    crate::text::write_value(engine::types::ValueRef::TimestampTz(moment), &mut bytes);
    text(String::from_utf8_lossy(&bytes))
}

fn roles_with(catalog: &Catalog, password: impl Fn(&Role) -> Cell) -> Rows {
    let mut rows = Rows::new(ROLES);
    for role in catalog.rights().roles() {
        rows.push(vec![
            text(role.name.clone()),
            Cell::Bool(role.superuser),
            Cell::Bool(role.inherit),
            Cell::Bool(role.create_role),
            Cell::Bool(role.create_database),
            Cell::Bool(role.login),
            Cell::Bool(role.replication),
            Cell::Int(role.connection_limit),
            password(role),
            until(role),
            Cell::Bool(role.bypass_policies),
            pg_db_role_setting::of_role(catalog, role),
            oid(role.id.0),
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
    users_with(catalog, |_| text("********"))
}

/// The rows of `pg_shadow`, which only superusers read.
pub fn shadow(catalog: &Catalog) -> Rows {
    users_with(catalog, verifier)
}

fn users_with(catalog: &Catalog, password: impl Fn(&Role) -> Cell) -> Rows {
    let mut rows = Rows::new(USERS);
    for role in catalog.rights().roles().filter(|role| role.login) {
        rows.push(vec![
            text(role.name.clone()),
            oid(role.id.0),
            Cell::Bool(role.create_database),
            Cell::Bool(role.superuser),
            Cell::Bool(role.replication),
            Cell::Bool(role.bypass_policies),
            password(role),
            until(role),
            pg_db_role_setting::of_role(catalog, role),
        ]);
    }
    rows
}

const MEMBERS: &[(&str, Kind)] = &[
    ("roleid", Kind::Int),
    ("member", Kind::Int),
    ("grantor", Kind::Int),
    ("admin_option", Kind::Bool),
];

/// The rows of `pg_auth_members`.
pub fn members(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(MEMBERS);
    for member in catalog.rights().roles() {
        for membership in &member.memberships {
            let admin = Cell::Bool(membership.admin);
            let (role, grantor) = (oid(membership.role.0), oid(membership.grantor.0));
            rows.push(vec![role, oid(member.id.0), grantor, admin]);
        }
    }
    rows
}

const GROUPS: &[(&str, Kind)] =
    &[("groname", Kind::Text), ("grosysid", Kind::Int), ("grolist", Kind::Texts)];

/// The rows of `pg_group`: roles that cannot log in, with the numbers of their members.
pub fn groups(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(GROUPS);
    for role in catalog.rights().roles().filter(|role| !role.login) {
        let is_member =
            |other: &&Role| other.memberships.iter().any(|membership| membership.role == role.id);
        let members = catalog.rights().roles().filter(is_member);
        let members = members.map(|member| member.id.0.to_string()).collect();
        rows.push(vec![text(role.name.clone()), oid(role.id.0), Cell::Texts(members)]);
    }
    rows
}

const DEFAULTS: &[(&str, Kind)] = &[
    ("oid", Kind::Int),
    ("defaclrole", Kind::Int),
    ("defaclnamespace", Kind::Int),
    ("defaclobjtype", Kind::Text),
    ("defaclacl", Kind::Texts),
];

/// The rows of `pg_default_acl`.
pub fn defaults(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(DEFAULTS);
    for ((key, acl), number) in catalog.rights().defaults().zip(1..) {
        let schema = if key.in_public { PUBLIC_SCHEMA } else { 0 };
        let acl = acl_cell(catalog, Some(acl));
        let kind = text(key.letter().to_string());
        rows.push(vec![oid(number), oid(key.role.0), oid(schema), kind, acl]);
    }
    rows
}
