//! Functions.

use std::sync::LazyLock;

use super::row::read;

/// What a function's result hangs on besides its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// Nothing.
    Immutable,
    /// What stays the same within a statement.
    Stable,
    /// Anything.
    Volatile,
}

/// A row of `pg_proc`.
#[derive(Debug)]
pub struct FunctionRow {
    /// Its OID.
    pub oid: u32,
    /// Its name.
    pub name: &'static str,
    /// Types by name.
    pub arguments: Vec<&'static str>,
    /// The type of the result by name.
    pub result: &'static str,
    /// What the result hangs on.
    pub volatility: Volatility,
    /// Whether the result is NULL when an argument is, without a call.
    pub is_strict: bool,
    /// The name of the kernel: `prosrc`, or the signature of a function in SQL.
    pub source: &'static str,
}

/// All functions, by OID.
pub fn functions() -> &'static [FunctionRow] {
    static ROWS: LazyLock<Vec<FunctionRow>> = LazyLock::new(|| {
        read(include_str!("functions.tsv"), |row| FunctionRow {
            oid: row.number(),
            name: row.text(),
            arguments: row.names(),
            result: row.text(),
            volatility: match row.text() {
                "i" => Volatility::Immutable,
                "s" => Volatility::Stable,
                _ => Volatility::Volatile,
            },
            is_strict: row.flag(),
            source: row.text(),
        })
    });
    &ROWS
}
