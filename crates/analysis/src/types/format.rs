//! How messages name types.

use crate::analyzer::Analyzer;
use crate::facts::{Oid, TypeRow};

/// Whether a name stands without quotes.
fn is_plain(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    first && name.bytes().all(plain)
}

/// A name as it would be written.
pub(crate) fn quoted(name: &str) -> String {
    if is_plain(name) { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

fn words(row: &TypeRow) -> String {
    if row.schema.is_some() {
        return quoted(row.name);
    }
    let name = match row.name {
        "bool" => "boolean",
        "int2" => "smallint",
        "int4" => "integer",
        "int8" => "bigint",
        "float4" => "real",
        "float8" => "double precision",
        "bpchar" => "character",
        "varchar" => "character varying",
        "varbit" => "bit varying",
        "time" => "time without time zone",
        "timetz" => "time with time zone",
        "timestamp" => "timestamp without time zone",
        "timestamptz" => "timestamp with time zone",
        "char" => "\"char\"",
        "any" => "\"any\"",
        name => name,
    };
    name.to_owned()
}

impl Analyzer<'_, '_> {
    /// A type as messages name it, without modifiers.
    pub(crate) fn type_words(&self, oid: Oid) -> String {
        let row = self.type_of(oid);
        if row.is_array && row.element != 0 {
            return format!("{}[]", words(self.type_of(row.element)));
        }
        words(row)
    }

    /// Types of arguments as messages list them.
    pub(crate) fn types_words(&self, types: &[Oid]) -> String {
        types.iter().map(|oid| self.type_words(*oid)).collect::<Vec<_>>().join(", ")
    }
}

impl Analyzer<'_, '_> {
    /// A type with its modifier, as messages name it.
    pub(crate) fn type_words_with(&self, oid: Oid, typmod: i32) -> String {
        use crate::facts::oid as types;
        let words = self.type_words(oid);
        if typmod < 0 {
            return if oid == types::BPCHAR { "bpchar".to_owned() } else { words };
        }
        match oid {
            types::BPCHAR | types::VARCHAR => format!("{words}({})", typmod - 4),
            types::NUMERIC => {
                let typmod = typmod - 4;
                let scale = ((typmod & 0x7ff) ^ 1024) - 1024;
                format!("{words}({},{scale})", typmod >> 16 & 0xffff)
            }
            types::BIT | types::VARBIT => format!("{words}({typmod})"),
            types::TIME | types::TIMETZ | types::TIMESTAMP | types::TIMESTAMPTZ => {
                let (first, rest) = words.split_once(' ').unwrap_or((&words, ""));
                format!("{first}({typmod}) {rest}")
            }
            _ => words,
        }
    }
}
