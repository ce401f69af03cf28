//! Aggregates.

use std::sync::LazyLock;

use super::row::read;

/// A row of `pg_aggregate`, of those that neither sort their input nor take direct arguments.
#[derive(Debug)]
pub struct AggregateRow {
    pub oid: u32,
    pub name: &'static str,
    /// Types by name; none of `count(*)`.
    pub arguments: Vec<&'static str>,
    pub result: &'static str,
    /// The functions that add a row, and that give the result; `None` where the state is the result.
    pub transition: &'static str,
    pub last: Option<&'static str>,
}

/// All aggregates, by OID.
pub fn aggregates() -> &'static [AggregateRow] {
    static ROWS: LazyLock<Vec<AggregateRow>> = LazyLock::new(|| {
        read(include_str!("aggregates.tsv"), |row| AggregateRow {
            oid: row.number(),
            name: row.text(),
            arguments: row.names(),
            result: row.text(),
            transition: row.text(),
            last: row.name(),
        })
    });
    &ROWS
}
