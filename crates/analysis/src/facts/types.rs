//! Types.

use std::sync::LazyLock;

use super::Oid;
use super::index::Index;
use super::row::read;

/// What a type is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// Neither of the others.
    Base,
    /// Columns.
    Composite,
    /// Another type, with constraints.
    Domain,
    /// Labels.
    Enum,
    /// None of values: `unknown`, `anyelement`, `record`.
    Pseudo,
    /// A lower and an upper bound.
    Range,
    /// Ranges.
    Multirange,
}

/// The comparisons of a type's default B-tree operator class, by OID; the last by its hash class. 0 where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Comparisons {
    /// `<`
    pub less: Oid,
    /// `=`
    pub equal: Oid,
    /// `>`
    pub greater: Oid,
    /// `=` of hashing.
    pub hash_equal: Oid,
}

/// A row of `pg_type`.
#[derive(Clone, Debug)]
pub struct TypeRow {
    /// Its OID.
    pub oid: Oid,
    /// Its name.
    pub name: &'static str,
    /// The schema it is in, unless it is `pg_catalog`.
    pub schema: Option<&'static str>,
    /// Bytes of a value; negative where values differ in length.
    pub length: i16,
    /// What it is made of.
    pub kind: TypeKind,
    /// N for numbers, S for texts, ...
    pub category: char,
    /// Whether its category prefers it.
    pub is_preferred: bool,
    /// What a subscript gives; 0 where there are none.
    pub element: Oid,
    /// Its arrays; 0 where there are none.
    pub array: Oid,
    /// Its collation; 0 where it has none.
    pub collation: Oid,
    /// Whether it is a true array, of any length.
    pub is_array: bool,
    /// The function that reads the text form.
    pub input: &'static str,
    /// The function that reads modifiers, where it has any.
    pub modifier_input: &'static str,
    /// Of a range its bounds' type, of a multirange its range, of a domain its base.
    pub of: Oid,
    /// The typmod of a domain's base.
    pub of_typmod: i32,
    /// Of a range its multirange.
    pub multirange: Oid,
    /// Of a composite type the relation with its columns.
    pub relation: Oid,
    /// How its values are compared.
    pub comparisons: Comparisons,
}

static INDEX: LazyLock<Index<TypeRow>> = LazyLock::new(|| {
    let rows = read(include_str!("types.tsv"), |row| TypeRow {
        oid: row.number(),
        name: row.text(),
        schema: None,
        length: row.number(),
        kind: match row.text() {
            "p" => TypeKind::Pseudo,
            "r" => TypeKind::Range,
            "m" => TypeKind::Multirange,
            _ => TypeKind::Base,
        },
        category: row.letter(),
        is_preferred: row.flag(),
        element: row.number(),
        array: row.number(),
        collation: row.number(),
        is_array: row.flag(),
        input: row.text(),
        modifier_input: row.text(),
        of: row.number(),
        of_typmod: -1,
        multirange: row.number(),
        relation: 0,
        comparisons: {
            let ordered = row.numbers();
            let hash_equal = row.number();
            match ordered[..] {
                [less, equal, greater] => Comparisons { less, equal, greater, hash_equal },
                _ => Comparisons { hash_equal, ..Comparisons::default() },
            }
        },
    });
    Index::new(rows, |row| row.oid, |row| row.name)
});

/// A type by its OID.
pub fn type_row(oid: Oid) -> Option<&'static TypeRow> {
    INDEX.by_oid(oid)
}

/// A type by its name in `pg_type`.
pub(crate) fn type_named(name: &str) -> Option<&'static TypeRow> {
    INDEX.by_name(name).first().copied()
}
