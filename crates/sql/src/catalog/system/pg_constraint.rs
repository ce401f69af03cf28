//! `pg_constraint`: keys, references and checks.

use engine::types::{ColumnId, ForeignKey, ForeignKeyAction, IndexSchema};

use super::super::{Catalog, column_number, index_oid, table_oid};
use super::constraint::{Rule, constraints};
use super::pg_namespace::PUBLIC;
use super::rows::{Cell, Kind, Rows, oid, text};

const COLUMNS: &[(&str, Kind)] = &[
    ("oid", Kind::Int),
    ("conname", Kind::Text),
    ("connamespace", Kind::Int),
    ("contype", Kind::Text),
    ("condeferrable", Kind::Bool),
    ("condeferred", Kind::Bool),
    ("convalidated", Kind::Bool),
    ("conrelid", Kind::Int),
    ("contypid", Kind::Int),
    ("conindid", Kind::Int),
    ("conparentid", Kind::Int),
    ("confrelid", Kind::Int),
    ("confupdtype", Kind::Text),
    ("confdeltype", Kind::Text),
    ("confmatchtype", Kind::Text),
    ("conislocal", Kind::Bool),
    ("coninhcount", Kind::Int),
    ("connoinherit", Kind::Bool),
    ("conkey", Kind::Smalls),
    ("confkey", Kind::Smalls),
    ("confdelsetcols", Kind::Smalls),
    ("conbin", Kind::Text),
];

fn action(action: ForeignKeyAction) -> Cell {
    text(match action {
        ForeignKeyAction::NoAction => "a",
        ForeignKeyAction::Restrict => "r",
        ForeignKeyAction::Cascade => "c",
        ForeignKeyAction::SetNull => "n",
        ForeignKeyAction::SetDefault => "d",
    })
}

fn numbers(columns: &[ColumnId]) -> Cell {
    Cell::Smalls(columns.iter().map(|column| column_number(*column)).collect())
}

/// The index of the parent that a foreign key refers to.
fn key_of(catalog: &Catalog, reference: &ForeignKey) -> u32 {
    let parent = catalog.table_by_id(reference.parent);
    let mut indexes = parent.into_iter().flat_map(|parent| &parent.indexes);
    let same = |index: &&IndexSchema| {
        index.unique
            && index.columns.len() == reference.parent_columns.len()
            && index.columns.iter().all(|column| reference.parent_columns.contains(column))
    };
    indexes.find(same).map_or(0, |index| index_oid(index.id))
}

/// The rows.
pub fn rows(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(COLUMNS);
    for constraint in constraints(catalog) {
        let reference = match constraint.rule {
            Rule::Reference(reference) => Some(reference),
            _ => None,
        };
        let index = match constraint.rule {
            Rule::Key(index) => index_oid(index.id),
            Rule::Reference(reference) => key_of(catalog, reference),
            Rule::Check(_) => 0,
        };
        let check = match constraint.rule {
            Rule::Check(expression) => text(expression),
            _ => Cell::Null,
        };
        let blank = || text(" ");
        rows.push(vec![
            oid(constraint.oid),
            text(constraint.name),
            oid(PUBLIC),
            text(constraint.letter()),
            Cell::Bool(false),
            Cell::Bool(false),
            Cell::Bool(true),
            oid(table_oid(constraint.table.id)),
            oid(0),
            oid(index),
            oid(0),
            oid(reference.map_or(0, |r| table_oid(r.parent))),
            reference.map_or_else(blank, |r| action(r.on_update)),
            reference.map_or_else(blank, |r| action(r.on_delete)),
            text(reference.map_or(" ", |r| if r.is_full { "f" } else { "s" })),
            Cell::Bool(true),
            Cell::Int(0),
            Cell::Bool(true),
            numbers(&constraint.named_columns()),
            reference.map_or(Cell::Null, |r| numbers(&r.parent_columns)),
            Cell::Null,
            check,
        ]);
    }
    rows
}
