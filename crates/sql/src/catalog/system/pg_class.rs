//! `pg_class`, `pg_tables`, `pg_views`: relations of every kind.

use std::hash::Hasher;

use engine::types::TableSchema;

use super::super::{Catalog, index_oid, sequence_oid, table_oid};
use super::lookup::{acl_cell, owner};
use super::pg_namespace::PUBLIC;
use super::rows::{Cell, Kind, Rows, oid, text};
use crate::rights::Object;

const COLUMNS: &[(&str, Kind)] = &[
    ("oid", Kind::Int),
    ("relname", Kind::Text),
    ("relnamespace", Kind::Int),
    ("reltype", Kind::Int),
    ("reloftype", Kind::Int),
    ("relowner", Kind::Int),
    ("relam", Kind::Int),
    ("relfilenode", Kind::Int),
    ("reltablespace", Kind::Int),
    ("relpages", Kind::Int),
    ("reltuples", Kind::Real),
    ("relallvisible", Kind::Int),
    ("reltoastrelid", Kind::Int),
    ("relhasindex", Kind::Bool),
    ("relisshared", Kind::Bool),
    ("relpersistence", Kind::Text),
    ("relkind", Kind::Text),
    ("relnatts", Kind::Small),
    ("relchecks", Kind::Small),
    ("relhasrules", Kind::Bool),
    ("relhastriggers", Kind::Bool),
    ("relhassubclass", Kind::Bool),
    ("relrowsecurity", Kind::Bool),
    ("relforcerowsecurity", Kind::Bool),
    ("relispopulated", Kind::Bool),
    ("relreplident", Kind::Text),
    ("relispartition", Kind::Bool),
    ("relrewrite", Kind::Int),
    ("relfrozenxid", Kind::Int),
    ("relminmxid", Kind::Int),
    ("relacl", Kind::Texts),
    ("reloptions", Kind::Texts),
    ("relpartbound", Kind::Text),
];

/// B-tree's access method.
const BTREE: u32 = 403;
/// The heap's access method.
const HEAP: u32 = 2;

struct Relation<'a> {
    oid: u32,
    name: &'a str,
    kind: &'static str,
    columns: usize,
    checks: usize,
    has_index: bool,
    foreign_keys: bool,
    rows: f32,
    owner: u32,
    acl: Cell,
}

/// A view's id: views have none of their own.
pub fn view_oid(name: &str) -> u32 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(name.as_bytes());
    // Between the tables' ids and the constraints'.
    0x1000_0000 + (hasher.finish() as u32 % 0x0fff_ffff)
}

/// The rows of `pg_class`.
pub fn rows(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(COLUMNS);
    for table in catalog.tables() {
        push(&mut rows, &table_relation(catalog, table));
        for index in &table.indexes {
            let columns = index.columns.len();
            let index = plain(index_oid(index.id), &index.name, "i", columns);
            push(&mut rows, &Relation { owner: owner(catalog, &table.name).0, ..index });
        }
    }
    for view in catalog.views() {
        let known = catalog.view_columns().iter().find(|known| known.name == view.name);
        let width = known.map_or(view.columns.len(), |known| known.columns.len());
        let view = plain(view_oid(&view.name), &view.name, "v", width);
        push(&mut rows, &owned(catalog, view));
    }
    for sequence in catalog.sequences() {
        let sequence = plain(sequence_oid(sequence.id), &sequence.name, "S", 3);
        push(&mut rows, &owned(catalog, sequence));
    }
    rows
}

/// With its owner and what was said about it.
fn owned<'a>(catalog: &Catalog, relation: Relation<'a>) -> Relation<'a> {
    let said = catalog.rights().said(&Object::Relation(relation.name.to_owned()));
    let acl = acl_cell(catalog, said.and_then(|access| access.acl.as_ref()));
    Relation { owner: owner(catalog, relation.name).0, acl, ..relation }
}

fn plain<'a>(oid: u32, name: &'a str, kind: &'static str, columns: usize) -> Relation<'a> {
    let rows = 0.0;
    let (checks, has_index, foreign_keys) = (0, false, false);
    let (owner, acl) = (0, Cell::Null);
    Relation { oid, name, kind, columns, checks, has_index, foreign_keys, rows, owner, acl }
}

fn table_relation<'a>(catalog: &Catalog, table: &'a TableSchema) -> Relation<'a> {
    let stored = catalog.engine().and_then(|engine| engine.store().table(table.id));
    let rows = stored.map_or(0.0, |table| table.statistics().rows as f32);
    let referenced = |other: &TableSchema| other.foreign_keys.iter().any(|k| k.parent == table.id);
    let relation = Relation {
        oid: table_oid(table.id),
        name: &table.name,
        kind: "r",
        columns: table.columns.len(),
        checks: table.checks.len(),
        has_index: !table.indexes.is_empty(),
        foreign_keys: !table.foreign_keys.is_empty()
            || catalog.tables().iter().any(|other| referenced(other)),
        rows,
        owner: 0,
        acl: Cell::Null,
    };
    owned(catalog, relation)
}

fn push(rows: &mut Rows, relation: &Relation<'_>) {
    let access = match relation.kind {
        "i" => BTREE,
        "r" => HEAP,
        _ => 0,
    };
    let no = Cell::Bool(false);
    rows.push(vec![
        oid(relation.oid),
        text(relation.name),
        oid(PUBLIC),
        oid(0),
        oid(0),
        oid(relation.owner),
        oid(access),
        oid(relation.oid),
        oid(0),
        Cell::Int(0),
        Cell::Real(relation.rows),
        Cell::Int(0),
        oid(0),
        Cell::Bool(relation.has_index),
        no.clone(),
        text("p"),
        text(relation.kind),
        Cell::Small(relation.columns as i16),
        Cell::Small(relation.checks as i16),
        Cell::Bool(relation.kind == "v"),
        Cell::Bool(relation.foreign_keys),
        no.clone(),
        no.clone(),
        no.clone(),
        Cell::Bool(true),
        text(if relation.kind == "r" { "d" } else { "n" }),
        no,
        oid(0),
        oid(0),
        oid(0),
        relation.acl.clone(),
        Cell::Null,
        Cell::Null,
    ]);
}

const TABLES: &[(&str, Kind)] = &[
    ("schemaname", Kind::Text),
    ("tablename", Kind::Text),
    ("tableowner", Kind::Text),
    ("tablespace", Kind::Text),
    ("hasindexes", Kind::Bool),
    ("hasrules", Kind::Bool),
    ("hastriggers", Kind::Bool),
    ("rowsecurity", Kind::Bool),
];

/// The rows of `pg_tables`.
pub fn tables(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(TABLES);
    for table in catalog.tables() {
        rows.push(vec![
            text("public"),
            text(&*table.name),
            text(owner(catalog, &table.name).1),
            Cell::Null,
            Cell::Bool(!table.indexes.is_empty()),
            Cell::Bool(false),
            Cell::Bool(!table.foreign_keys.is_empty()),
            Cell::Bool(false),
        ]);
    }
    rows
}

const VIEWS: &[(&str, Kind)] = &[
    ("schemaname", Kind::Text),
    ("viewname", Kind::Text),
    ("viewowner", Kind::Text),
    ("definition", Kind::Text),
];

/// The rows of `pg_views`.
pub fn views(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(VIEWS);
    for view in catalog.views() {
        let definition = text(view.text.clone());
        let owner = text(owner(catalog, &view.name).1);
        rows.push(vec![text("public"), text(view.name.clone()), owner, definition]);
    }
    rows
}
