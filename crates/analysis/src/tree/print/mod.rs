//! The tree as text that a person reads: what golden files show.
//!
//! A clause a line, below it what belongs to it; an expression on one line, each part with its type behind a colon. Columns are named by
//! their entry; of a query further out with a `^` for each level. Called by whoever writes a [`Query`] out.

mod entry;
mod expression;
mod query;

use std::fmt::{Display, Formatter};

use super::{EntryColumn, Query};
use crate::facts::{Oid, type_row};

/// Where the text goes, and what names mean there.
struct Printer<'a> {
    text: String,
    depth: usize,
    /// From the outermost to the query that is written.
    queries: Vec<&'a Query>,
}

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let mut printer = Printer { text: String::new(), depth: 0, queries: Vec::new() };
        printer.query(self);
        f.write_str(&printer.text)
    }
}

impl<'a> Printer<'a> {
    fn line(&mut self, line: &str) {
        self.text.push_str(&"  ".repeat(self.depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// What belongs to the line before.
    fn below(&mut self, write: impl FnOnce(&mut Self)) {
        self.depth += 1;
        write(self);
        self.depth -= 1;
    }

    /// The query that many levels out.
    fn at(&self, levels: usize) -> Option<&'a Query> {
        let place = self.queries.len().checked_sub(levels + 1)?;
        self.queries.get(place).copied()
    }
}

/// A type by its name, with its modifier where it has one.
fn type_text(oid: Oid, typmod: i32) -> String {
    let name = match type_row(oid) {
        Some(row) => row.name.to_owned(),
        None => format!("type {oid}"),
    };
    if typmod == -1 { name } else { format!("{name}[{typmod}]") }
}

/// Columns with their types.
fn columns_text(columns: &[EntryColumn]) -> String {
    let column = |column: &EntryColumn| match column.type_oid {
        0 => "(dropped)".to_owned(),
        oid => format!("{} {}", column.name, type_text(oid, column.typmod)),
    };
    columns.iter().map(column).collect::<Vec<_>>().join(", ")
}
