//! Functions, aggregates and window functions.

use std::sync::LazyLock;

use super::Oid;
use super::index::Index;
use super::row::read;

/// How a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// Once a row.
    Normal,
    /// Over the rows of a group.
    Aggregate,
    /// Over the rows of a window.
    Window,
    /// By CALL.
    Procedure,
}

/// How an aggregate takes its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateKind {
    /// In any order, or by ORDER BY among the arguments.
    Normal,
    /// WITHIN GROUP (ORDER BY ..).
    OrderedSet,
    /// WITHIN GROUP, of a row that is not there.
    Hypothetical,
}

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
#[derive(Clone, Debug)]
pub struct FunctionRow {
    /// Its OID.
    pub oid: Oid,
    /// Its name.
    pub name: &'static str,
    /// How it is called.
    pub kind: FunctionKind,
    /// Types of the arguments.
    pub arguments: Vec<Oid>,
    /// The type of the result, or of a row of it.
    pub result: Oid,
    /// Whether it gives many rows.
    pub returns_set: bool,
    /// The type of each of the last arguments, as many as there are; 0 where it takes a fixed number.
    pub variadic: Oid,
    /// How many of the last arguments may be left out.
    pub defaults: usize,
    /// Names of all arguments, empty where there are none.
    pub names: Vec<&'static str>,
    /// Types of all arguments, those that go out among them; empty where all go in.
    pub all_types: Vec<Oid>,
    /// `i`, `o`, `b`, `v` or `t` of each of them.
    pub modes: &'static str,
    /// What the result hangs on.
    pub volatility: Volatility,
    /// Whether the result is NULL when an argument is, without a call.
    pub is_strict: bool,
    /// Of an aggregate how it takes its arguments.
    pub aggregate: AggregateKind,
    /// Arguments of an ordered-set aggregate before WITHIN GROUP.
    pub direct_arguments: usize,
}

static INDEX: LazyLock<Index<FunctionRow>> = LazyLock::new(|| {
    let rows = read(include_str!("functions.tsv"), |row| FunctionRow {
        oid: row.number(),
        name: row.text(),
        kind: match row.text() {
            "a" => FunctionKind::Aggregate,
            "w" => FunctionKind::Window,
            "p" => FunctionKind::Procedure,
            _ => FunctionKind::Normal,
        },
        arguments: row.numbers(),
        result: row.number(),
        returns_set: row.flag(),
        variadic: row.number(),
        defaults: row.number(),
        names: row.words(),
        all_types: row.numbers(),
        modes: row.text(),
        volatility: match row.text() {
            "i" => Volatility::Immutable,
            "s" => Volatility::Stable,
            _ => Volatility::Volatile,
        },
        is_strict: row.flag(),
        aggregate: match row.text() {
            "o" => AggregateKind::OrderedSet,
            "h" => AggregateKind::Hypothetical,
            _ => AggregateKind::Normal,
        },
        direct_arguments: row.number(),
    });
    Index::new(rows, |row| row.oid, |row| row.name)
});

/// A function by its OID.
pub fn function(oid: Oid) -> Option<&'static FunctionRow> {
    INDEX.by_oid(oid)
}

/// All functions of a name.
pub(crate) fn functions_named(name: &str) -> &'static [&'static FunctionRow] {
    INDEX.by_name(name)
}
