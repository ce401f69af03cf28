//! Operators.

use std::sync::LazyLock;

use super::row::read;

/// A row of `pg_operator`.
#[derive(Debug)]
pub struct OperatorRow {
    /// Its OID.
    pub oid: u32,
    /// Its name.
    pub name: &'static str,
    /// The left operand's type; `None` of a prefix operator.
    pub left: Option<&'static str>,
    /// The right operand's type by name.
    pub right: &'static str,
    /// The type of the result by name.
    pub result: &'static str,
    /// The OID of its function.
    pub function: u32,
    /// The name of the kernel.
    pub source: &'static str,
    /// The OID of the operator that gives the same with the operands swapped; 0 for none.
    pub commutator: u32,
    /// The OID of the operator that gives the contrary; 0 for none.
    pub negator: u32,
    /// Whether a merge join can use it.
    pub can_merge: bool,
    /// Whether a hash join can use it.
    pub can_hash: bool,
}

/// All operators, by OID.
pub fn operators() -> &'static [OperatorRow] {
    static ROWS: LazyLock<Vec<OperatorRow>> = LazyLock::new(|| {
        read(include_str!("operators.tsv"), |row| OperatorRow {
            oid: row.number(),
            name: row.text(),
            left: row.name(),
            right: row.text(),
            result: row.text(),
            function: row.number(),
            source: row.text(),
            commutator: row.number(),
            negator: row.number(),
            can_merge: row.flag(),
            can_hash: row.flag(),
        })
    });
    &ROWS
}
