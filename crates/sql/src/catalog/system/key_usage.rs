//! `information_schema`'s tables about constraints.

use engine::types::TableSchema;

use super::super::Catalog;
use super::constraint::{Constraint, Rule, constraints};
use super::definition::action_words;
use super::information_schema::DATABASE;
use super::rows::{Cell, Kind, Rows, text};

const CONSTRAINTS: &[(&str, Kind)] = &[
    ("constraint_catalog", Kind::Text),
    ("constraint_schema", Kind::Text),
    ("constraint_name", Kind::Text),
    ("table_catalog", Kind::Text),
    ("table_schema", Kind::Text),
    ("table_name", Kind::Text),
    ("constraint_type", Kind::Text),
    ("is_deferrable", Kind::Text),
    ("initially_deferred", Kind::Text),
    ("enforced", Kind::Text),
];

/// The database, the schema and a name.
fn place(name: &str) -> [Cell; 3] {
    [text(DATABASE), text("public"), text(name)]
}

/// The rows of `table_constraints`.
pub fn table_constraints(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(CONSTRAINTS);
    for constraint in constraints(catalog) {
        let kind = match constraint.rule {
            Rule::Key(index) if index.primary => "PRIMARY KEY",
            Rule::Key(_) => "UNIQUE",
            Rule::Reference(_) => "FOREIGN KEY",
            Rule::Check(_) => "CHECK",
        };
        let mut row = place(constraint.name).to_vec();
        row.extend(place(&constraint.table.name));
        row.extend([kind, "NO", "NO", "YES"].map(text));
        rows.push(row);
    }
    rows
}

const CHECKS: &[(&str, Kind)] = &[
    ("constraint_catalog", Kind::Text),
    ("constraint_schema", Kind::Text),
    ("constraint_name", Kind::Text),
    ("check_clause", Kind::Text),
];

/// The rows of `check_constraints`.
pub fn check_constraints(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(CHECKS);
    for constraint in constraints(catalog) {
        if let Rule::Check(expression) = constraint.rule {
            let mut row = place(constraint.name).to_vec();
            row.push(text(format!("({expression})")));
            rows.push(row);
        }
    }
    rows
}

const USAGE: &[(&str, Kind)] = &[
    ("constraint_catalog", Kind::Text),
    ("constraint_schema", Kind::Text),
    ("constraint_name", Kind::Text),
    ("table_catalog", Kind::Text),
    ("table_schema", Kind::Text),
    ("table_name", Kind::Text),
    ("column_name", Kind::Text),
    ("ordinal_position", Kind::Int),
    ("position_in_unique_constraint", Kind::Int),
];

/// The rows of `key_column_usage`.
pub fn key_column_usage(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(USAGE);
    for constraint in constraints(catalog) {
        for (i, column) in constraint.columns().iter().enumerate() {
            let mut row = place(constraint.name).to_vec();
            row.extend(place(&constraint.table.name));
            row.push(text(&*constraint.table.columns[column.index()].name));
            row.push(Cell::Int(i as i32 + 1));
            row.push(place_in_key(catalog, &constraint, i).map_or(Cell::Null, Cell::Int));
            rows.push(row);
        }
    }
    rows
}

/// Where the column that the i-th of a foreign key refers to stands in the parent's key.
fn place_in_key(catalog: &Catalog, constraint: &Constraint<'_>, i: usize) -> Option<i32> {
    let Rule::Reference(reference) = constraint.rule else { return None };
    let (_, key) = referred(catalog, constraint)?;
    let place = key.columns().iter().position(|column| *column == reference.parent_columns[i])?;
    Some(place as i32 + 1)
}

/// The parent of a foreign key, and its constraint over the columns that the key refers to.
fn referred<'a>(
    catalog: &'a Catalog,
    constraint: &Constraint<'_>,
) -> Option<(&'a TableSchema, Constraint<'a>)> {
    let Rule::Reference(reference) = constraint.rule else { return None };
    let parent = catalog.table_by_id(reference.parent)?;
    let found = constraints(catalog).into_iter().find(|other| {
        matches!(other.rule, Rule::Key(_))
            && other.table.id == parent.id
            && other.columns().len() == reference.parent_columns.len()
            && other.columns().iter().all(|column| reference.parent_columns.contains(column))
    });
    Some((parent, found?))
}

const COLUMN_USAGE: &[(&str, Kind)] = &[
    ("table_catalog", Kind::Text),
    ("table_schema", Kind::Text),
    ("table_name", Kind::Text),
    ("column_name", Kind::Text),
    ("constraint_catalog", Kind::Text),
    ("constraint_schema", Kind::Text),
    ("constraint_name", Kind::Text),
];

/// The rows of `constraint_column_usage`: of a foreign key, the columns that it refers to.
pub fn constraint_column_usage(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(COLUMN_USAGE);
    for constraint in constraints(catalog) {
        let (table, columns) = match constraint.rule {
            Rule::Reference(reference) => match catalog.table_by_id(reference.parent) {
                Some(parent) => (parent.as_ref(), reference.parent_columns.as_slice().into()),
                None => continue,
            },
            _ => (constraint.table, constraint.named_columns()),
        };
        for column in columns.iter() {
            let mut row = place(&table.name).to_vec();
            row.push(text(&*table.columns[column.index()].name));
            row.extend(place(constraint.name));
            rows.push(row);
        }
    }
    rows
}

const REFERENCES: &[(&str, Kind)] = &[
    ("constraint_catalog", Kind::Text),
    ("constraint_schema", Kind::Text),
    ("constraint_name", Kind::Text),
    ("unique_constraint_catalog", Kind::Text),
    ("unique_constraint_schema", Kind::Text),
    ("unique_constraint_name", Kind::Text),
    ("match_option", Kind::Text),
    ("update_rule", Kind::Text),
    ("delete_rule", Kind::Text),
];

/// The rows of `referential_constraints`.
pub fn referential_constraints(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(REFERENCES);
    for constraint in constraints(catalog) {
        let Rule::Reference(reference) = constraint.rule else { continue };
        let mut row = place(constraint.name).to_vec();
        match referred(catalog, &constraint) {
            Some((_, key)) => row.extend(place(key.name)),
            None => row.extend([Cell::Null, Cell::Null, Cell::Null]),
        }
        row.push(text(if reference.is_full { "FULL" } else { "NONE" }));
        row.extend([reference.on_update, reference.on_delete].map(|a| text(action_words(a))));
        rows.push(row);
    }
    rows
}
