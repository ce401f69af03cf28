//! Casts.

use std::sync::LazyLock;

use super::row::read;

/// Where a cast happens without being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastContext {
    /// Anywhere.
    Implicit,
    /// Where a column is assigned to.
    Assignment,
    /// Nowhere.
    Explicit,
}

/// How a cast is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastMethod {
    /// By the function of this OID.
    Function(u32),
    /// By way of the text form.
    Text,
    /// The bytes stay.
    Binary,
}

/// A row of `pg_cast`.
#[derive(Debug)]
pub struct CastRow {
    /// Types by name.
    /// The type that is cast, by name.
    pub source: &'static str,
    /// The type that it is cast to, by name.
    pub target: &'static str,
    /// Where it happens by itself.
    pub context: CastContext,
    /// How it is done.
    pub method: CastMethod,
}

/// All casts.
pub fn casts() -> &'static [CastRow] {
    static ROWS: LazyLock<Vec<CastRow>> = LazyLock::new(|| {
        read(include_str!("casts.tsv"), |row| {
            let (source, target, function) = (row.text(), row.text(), row.number());
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
        })
    });
    &ROWS
}
