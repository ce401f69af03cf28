//! Aggregates.

use std::sync::LazyLock;

use super::row::read;

/// A row of `pg_aggregate`, of those that neither sort their input nor take direct arguments.
#[derive(Debug)]
pub struct AggregateRow {
    /// Its OID.
    pub oid: u32,
    /// Its name.
    pub name: &'static str,
    /// Types by name; none of `count(*)`.
    pub arguments: Vec<&'static str>,
    /// The type of the result by name.
    pub result: &'static str,
    /// The function that adds a row.
    pub transition: &'static str,
    /// The function that gives the result; `None` where the state is the result.
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
