//! Operators.

use std::sync::LazyLock;

use super::Oid;
use super::index::Index;
use super::row::read;

/// A row of `pg_operator`.
#[derive(Clone, Debug)]
pub struct OperatorRow {
    /// Its OID.
    pub oid: Oid,
    /// Its name.
    pub name: &'static str,
    /// The operands' types; the left is 0 of a prefix operator.
    pub operands: [Oid; 2],
    /// The type of the result.
    pub result: Oid,
    /// Its function.
    pub function: Oid,
    /// The operator that gives the same with the operands swapped; 0 for none.
    pub commutator: Oid,
    /// The operator that gives the contrary; 0 for none.
    pub negator: Oid,
    /// Which comparison it is to B-trees: 1 less, 2 less or equal, 3 equal, 4 greater or equal, 5 greater, 0 none.
    pub strategy: u8,
}

static INDEX: LazyLock<Index<OperatorRow>> = LazyLock::new(|| {
    let rows = read(include_str!("operators.tsv"), |row| OperatorRow {
        oid: row.number(),
        name: row.text(),
        operands: [row.number(), row.number()],
        result: row.number(),
        function: row.number(),
        commutator: row.number(),
        negator: row.number(),
        strategy: row.number(),
    });
    Index::new(rows, |row| row.oid, |row| row.name)
});

/// An operator by its OID.
pub fn operator(oid: Oid) -> Option<&'static OperatorRow> {
    INDEX.by_oid(oid)
}

/// All operators of a name.
pub(crate) fn operators_named(name: &str) -> &'static [&'static OperatorRow] {
    INDEX.by_name(name)
}
