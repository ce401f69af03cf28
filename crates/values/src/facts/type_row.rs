//! Types.

use std::sync::LazyLock;

use super::row::read;

/// A row of `pg_type`.
#[derive(Debug)]
pub struct TypeRow {
    pub oid: u32,
    pub name: &'static str,
    /// Bytes of a value; -1 where values differ in length.
    pub length: i16,
    /// A letter: N for numbers, S for texts, ...
    pub category: char,
    pub is_preferred: bool,
    pub input: &'static str,
    pub output: &'static str,
    pub receive: &'static str,
    pub send: &'static str,
    /// Reads type modifiers, where the type has any.
    pub modifier_input: Option<&'static str>,
    /// The OID of the type of its arrays.
    pub array: u32,
    /// The OID of its collation; 0 where it has none.
    pub collation: u32,
}

/// All types, by OID.
pub fn types() -> &'static [TypeRow] {
    static ROWS: LazyLock<Vec<TypeRow>> = LazyLock::new(|| {
        read(include_str!("types.tsv"), |row| TypeRow {
            oid: row.number(),
            name: row.text(),
            length: row.number(),
            category: row.number(),
            is_preferred: row.flag(),
            input: row.text(),
            output: row.text(),
            receive: row.text(),
            send: row.text(),
            modifier_input: row.name(),
            array: row.number(),
            collation: row.number(),
        })
    });
    &ROWS
}
