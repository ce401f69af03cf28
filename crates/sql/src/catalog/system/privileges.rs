//! `information_schema`'s view of rights: who has granted whom what. All of it is shown to everybody, as `relacl` is.

use super::super::Catalog;
use super::rows::{Cell, Kind, Rows, text};
use crate::rights::{Acl, AclItem, Object, ObjectKind, Privileges, columns_of, kind_of};

const DATABASE: &str = "shareddb";

fn yes_no(yes: bool) -> Cell {
    text(if yes { "YES" } else { "NO" })
}

/// All relations with their names, what they are and their lists.
fn relations(catalog: &Catalog) -> Vec<(String, ObjectKind, Acl)> {
    let tables = catalog.tables().into_iter().map(|table| table.name.to_string());
    let views = catalog.views().into_iter().map(|view| view.name.clone());
    let sequences = catalog.sequences().into_iter().map(|sequence| sequence.name.to_string());
    let all = tables.chain(views).chain(sequences).map(|name| {
        let kind = kind_of(catalog, &name).0;
        let access = catalog.rights().access(&Object::Relation(name.clone()));
        (name, kind, access.list(kind))
    });
    all.collect()
}

/// Each privilege of a list: the item, its name, and whether it can be handed on.
fn each(acl: &Acl) -> impl Iterator<Item = (&AclItem, Privileges, &'static str, bool)> {
    acl.items().iter().flat_map(|item| {
        let each = item.privileges.each();
        each.map(move |(one, name, _)| {
            let own = item.grantee == item.grantor;
            (item, one, name, own || item.options.meets(one))
        })
    })
}

const TABLES: &[(&str, Kind)] = &[
    ("grantor", Kind::Text),
    ("grantee", Kind::Text),
    ("table_catalog", Kind::Text),
    ("table_schema", Kind::Text),
    ("table_name", Kind::Text),
    ("privilege_type", Kind::Text),
    ("is_grantable", Kind::Text),
    ("with_hierarchy", Kind::Text),
];

/// The rows of `table_privileges`.
pub fn tables(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(TABLES);
    let rights = catalog.rights();
    for (name, _, acl) in relations(catalog).iter().filter(|r| r.1 == ObjectKind::Relation) {
        for (item, privilege, word, option) in each(acl) {
            rows.push(vec![
                text(rights.name_of(item.grantor)),
                text(rights.name_of(item.grantee)),
                text(DATABASE),
                text("public"),
                text(name.clone()),
                text(word),
                yes_no(option),
                yes_no(privilege == Privileges::SELECT),
            ]);
        }
    }
    rows
}

const COLUMNS: &[(&str, Kind)] = &[
    ("grantor", Kind::Text),
    ("grantee", Kind::Text),
    ("table_catalog", Kind::Text),
    ("table_schema", Kind::Text),
    ("table_name", Kind::Text),
    ("column_name", Kind::Text),
    ("privilege_type", Kind::Text),
    ("is_grantable", Kind::Text),
];

/// The rows of `column_privileges`: what the table gives, and what the column gives itself.
pub fn columns(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(COLUMNS);
    let rights = catalog.rights();
    for (name, _, acl) in relations(catalog).iter().filter(|r| r.1 == ObjectKind::Relation) {
        let access = rights.access(&Object::Relation(name.clone()));
        for (column, number) in columns_of(catalog, name).unwrap_or_default() {
            let own = access.columns.get(&number).cloned().unwrap_or_default();
            let known = |(_, one, ..): &(&AclItem, Privileges, &str, bool)| {
                ObjectKind::Column.known().holds(*one)
            };
            for (item, _, word, option) in each(acl).filter(known).chain(each(&own)) {
                rows.push(vec![
                    text(rights.name_of(item.grantor)),
                    text(rights.name_of(item.grantee)),
                    text(DATABASE),
                    text("public"),
                    text(name.clone()),
                    text(column.clone()),
                    text(word),
                    yes_no(option),
                ]);
            }
        }
    }
    rows
}

const USAGE: &[(&str, Kind)] = &[
    ("grantor", Kind::Text),
    ("grantee", Kind::Text),
    ("object_catalog", Kind::Text),
    ("object_schema", Kind::Text),
    ("object_name", Kind::Text),
    ("object_type", Kind::Text),
    ("privilege_type", Kind::Text),
    ("is_grantable", Kind::Text),
];

/// The rows of `usage_privileges`: of sequences.
pub fn usage(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(USAGE);
    let rights = catalog.rights();
    for (name, _, acl) in relations(catalog).iter().filter(|r| r.1 == ObjectKind::Sequence) {
        for (item, _, word, option) in each(acl).filter(|found| found.1 == Privileges::USAGE) {
            rows.push(vec![
                text(rights.name_of(item.grantor)),
                text(rights.name_of(item.grantee)),
                text(DATABASE),
                text("public"),
                text(name.clone()),
                text("SEQUENCE"),
                text(word),
                yes_no(option),
            ]);
        }
    }
    rows
}

const APPLICABLE: &[(&str, Kind)] =
    &[("grantee", Kind::Text), ("role_name", Kind::Text), ("is_grantable", Kind::Text)];

/// The rows of `applicable_roles`.
pub fn applicable_roles(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(APPLICABLE);
    for member in catalog.rights().roles() {
        for membership in &member.memberships {
            let role = catalog.rights().name_of(membership.role);
            rows.push(vec![text(member.name.clone()), text(role), yes_no(membership.admin)]);
        }
    }
    rows
}
