//! Types.

use std::sync::LazyLock;

use super::row::read;

/// A row of `pg_type`.
#[derive(Debug)]
pub struct TypeRow {
    /// Its OID.
    pub oid: u32,
    /// Its name in `pg_type`.
    pub name: &'static str,
    /// Bytes of a value; -1 where values differ in length.
    pub length: i16,
    /// A letter: N for numbers, S for texts, ...
    pub category: char,
    /// Whether its category prefers it.
    pub is_preferred: bool,
    /// The function that reads the text form.
    pub input: &'static str,
    /// The function that writes the text form.
    pub output: &'static str,
    /// The function that reads the binary form.
    pub receive: &'static str,
    /// The function that writes the binary form.
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
