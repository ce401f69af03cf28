//! Casts.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Oid;
use super::row::read;

/// Where a cast happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastContext {
    /// Anywhere.
    Implicit,
    /// Where a column is assigned to.
    Assignment,
    /// Where it is written.
    Explicit,
}

/// How a cast is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastMethod {
    /// By the function of this OID.
    Function(Oid),
    /// By way of the text form.
    Text,
    /// The bytes stay.
    Binary,
}

/// A row of `pg_cast`.
#[derive(Clone, Copy, Debug)]
pub struct CastRow {
    /// The type that is cast.
    pub source: Oid,
    /// The type that it is cast to.
    pub target: Oid,
    /// Where it happens at the least.
    pub context: CastContext,
    /// How it is done.
    pub method: CastMethod,
}

/// The cast between two types.
pub fn cast(source: Oid, target: Oid) -> Option<&'static CastRow> {
    static ROWS: LazyLock<HashMap<(Oid, Oid), CastRow>> = LazyLock::new(|| {
        let rows = read(include_str!("casts.tsv"), |row| {
            let (source, target, function) = (row.number(), row.number(), row.number());
            let context = match row.text() {
                "i" => CastContext::Implicit,
                "a" => CastContext::Assignment,
                _ => CastContext::Explicit,
            };
            let method = match row.text() {
                "f" => CastMethod::Function(function),
                "i" => CastMethod::Text,
                _ => CastMethod::Binary,
            };
            CastRow { source, target, context, method }
        });
        rows.into_iter().map(|row| ((row.source, row.target), row)).collect()
    });
    ROWS.get(&(source, target))
}
