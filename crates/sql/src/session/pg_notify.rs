//! `pg_notify` and `pg_listening_channels`.
//!
//! `pg_notify` says its part once for each time it is written, before the query runs: so it is an item of a SELECT without
//! FROM and nothing that might leave it out or repeat it. `pg_listening_channels()` becomes the session's channels, in FROM
//! and among the items. Called by `functions` and `preparation`.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, Ident, Query, TableAlias, TableAliasColumnDef, TableFactor, TableFunctionArgs,
    Visit, Visitor,
};
use engine::types::{Error, Result, SqlState};

use super::Session;
use super::plain_select::{items, plain_select};

/// NOTIFY as a function.
pub const NOTIFY: &str = "pg_notify";

const CHANNELS: &str = "pg_listening_channels";

fn is(function: &Function, name: &str) -> bool {
    let last = function.name.0.last().and_then(|part| part.as_ident());
    last.is_some_and(|ident| ident.value.eq_ignore_ascii_case(name))
}

/// 0A000 for `pg_notify` anywhere else than among the items of a SELECT without FROM.
pub fn unsupported() -> Error {
    let message = "pg_notify is supported among the items of a SELECT without FROM only";
    let hint = "Use SELECT pg_notify(channel, payload), or NOTIFY, once for each notification.";
    Error::new(SqlState::FeatureNotSupported, message).hint(hint)
}

/// How often a query calls `pg_notify`, at whatever depth.
fn calls(query: &Query) -> usize {
    struct Counter(usize);
    impl Visitor for Counter {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            self.0 += usize::from(matches!(expr, Expr::Function(function) if is(function, NOTIFY)));
            ControlFlow::Continue(())
        }
    }
    let mut counter = Counter(0);
    let _ = query.visit(&mut counter);
    counter.0
}

/// Whether a query calls it.
pub fn notifies(query: &Query) -> bool {
    calls(query) > 0
}

/// 0A000 where a query calls it in another way than is there.
pub fn check(query: &Query) -> Result<()> {
    let calls = calls(query);
    let plain = plain_select(query)
        .map_or(0, |select| items(select).filter(|item| calls_plainly(item)).count());
    if calls == plain { Ok(()) } else { Err(unsupported()) }
}

/// Whether an item is such a call, but for a cast.
fn calls_plainly(item: &Expr) -> bool {
    let mut expr = item;
    while let Expr::Cast { expr: inner, .. } | Expr::Nested(inner) = expr {
        expr = inner;
    }
    matches!(expr, Expr::Function(function) if is(function, NOTIFY))
}

/// Whether a call asks for the session's channels.
pub fn asks_for_channels(function: &Function) -> bool {
    is(function, CHANNELS)
}

/// The same in FROM.
pub fn is_channels(factor: &TableFactor) -> bool {
    let TableFactor::Table { name, args: Some(TableFunctionArgs { args, .. }), .. } = factor else {
        return false;
    };
    let last = name.0.last().and_then(|part| part.as_ident());
    args.is_empty() && last.is_some_and(|name| name.value.eq_ignore_ascii_case(CHANNELS))
}

fn quoted(channels: &[Arc<str>], before: &str, behind: &str) -> String {
    let quoted =
        channels.iter().map(|name| format!("{before}'{}'{behind}", name.replace('\'', "''")));
    quoted.collect::<Vec<_>>().join(", ")
}

/// The channels as an item that gives a row for each.
pub fn item(channels: &[Arc<str>]) -> Option<Expr> {
    let text = match channels {
        [] => "unnest(array_remove(ARRAY['none'], 'none'))".to_owned(),
        _ => format!("unnest(ARRAY[{}])", quoted(channels, "", "")),
    };
    crate::statement::expression::parse(&text).ok()
}

/// `(SELECT ...) AS alias (column)` in the place of the function.
pub fn relation(channels: &[Arc<str>], factor: &TableFactor) -> Option<TableFactor> {
    let TableFactor::Table { alias, .. } = factor else { return None };
    let text = match channels {
        [] => "SELECT CAST(NULL AS text) AS name WHERE false".to_owned(),
        _ => format!("SELECT name FROM (VALUES {}) AS v (name)", quoted(channels, "(", ")")),
    };
    let statement = crate::template::parse(&text).ok()?.pop()?;
    let datafusion::sql::sqlparser::ast::Statement::Query(subquery) = statement else {
        return None;
    };
    let mut alias = alias.clone().unwrap_or_else(|| TableAlias {
        explicit: true,
        name: Ident::new(CHANNELS),
        columns: Vec::new(),
        at: None,
    });
    if alias.columns.is_empty() {
        let column = TableAliasColumnDef { name: alias.name.clone(), data_type: None };
        alias.columns.push(column);
    }
    Some(TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None })
}

impl Session {
    /// The channels that the session listens to.
    pub(super) fn channels(&self) -> Vec<Arc<str>> {
        self.mailbox().map(|mailbox| mailbox.channels()).unwrap_or_default()
    }
}
