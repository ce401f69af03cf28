//! All constraints of all tables, with ids.

use std::borrow::Cow;

use engine::types::{ColumnId, ForeignKey, IndexSchema, TableSchema};

use super::super::{Catalog, index_oid, table_oid};
use crate::statement::constraint::columns_in_order;
use crate::statement::expression::parse;

/// Ids of constraints start here: no relation has as many.
const FIRST: u32 = 0x2000_0000;
/// Constraints of one table that are no indexes, at most.
const PER_TABLE: u32 = 256;

/// What a constraint says.
#[derive(Clone, Copy, Debug)]
pub enum Rule<'a> {
    /// PRIMARY KEY or UNIQUE.
    Key(&'a IndexSchema),
    /// FOREIGN KEY.
    Reference(&'a ForeignKey),
    /// CHECK.
    Check(&'a str),
}

/// A constraint.
#[derive(Clone, Copy, Debug)]
pub struct Constraint<'a> {
    /// Its id.
    pub oid: u32,
    /// Its name.
    pub name: &'a str,
    /// Its table.
    pub table: &'a TableSchema,
    /// What it says.
    pub rule: Rule<'a>,
}

impl Constraint<'_> {
    /// PostgreSQL's letter.
    pub fn letter(&self) -> &'static str {
        match self.rule {
            Rule::Key(index) if index.primary => "p",
            Rule::Key(_) => "u",
            Rule::Reference(_) => "f",
            Rule::Check(_) => "c",
        }
    }

    /// The table's columns that it names: those of a check in the order in which it does.
    pub fn named_columns(&self) -> Cow<'_, [ColumnId]> {
        match self.rule {
            Rule::Check(text) => {
                let expr = parse(text);
                expr.map_or(Vec::new(), |expr| columns_in_order(self.table, &expr)).into()
            }
            _ => self.columns().into(),
        }
    }

    /// The columns of a key or a reference.
    pub fn columns(&self) -> &[ColumnId] {
        match self.rule {
            Rule::Key(index) => &index.columns,
            Rule::Reference(reference) => &reference.columns,
            Rule::Check(_) => &[],
        }
    }
}

/// All constraints of all tables.
pub fn constraints(catalog: &Catalog) -> Vec<Constraint<'_>> {
    catalog.tables().into_iter().flat_map(|table| of_table(table)).collect()
}

fn of_table(table: &TableSchema) -> Vec<Constraint<'_>> {
    let keys = table.indexes.iter().filter(|index| index.constraint || index.primary);
    let keys = keys.map(|index| Constraint {
        oid: FIRST + index_oid(index.id),
        name: &index.name,
        table,
        rule: Rule::Key(index),
    });
    let base = FIRST * 2 + table_oid(table.id) * PER_TABLE % FIRST;
    let references = table.foreign_keys.iter().enumerate().map(move |(i, key)| Constraint {
        oid: base + i as u32,
        name: &key.name,
        table,
        rule: Rule::Reference(key),
    });
    let after = base + table.foreign_keys.len() as u32;
    let checks = table.checks.iter().enumerate().map(move |(i, check)| Constraint {
        oid: after + i as u32,
        name: &check.name,
        table,
        rule: Rule::Check(&check.expression),
    });
    keys.chain(references).chain(checks).collect()
}
