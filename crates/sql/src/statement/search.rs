//! The query that finds again what an UPDATE or DELETE has changed, for its verification: RETURNING's rows, or how many.
//!
//! In comes the statement's text with its literals lifted; out goes a query of its own over the table, planned like any
//! other. Rows that others join several times (FROM, USING) are changed once: then it asks for rows that have a partner.

use std::fmt::Write;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, Expr, SetExpr};
use engine::types::{ColumnId, DataType, Error, Result, SqlState};

use super::complex::{Change, generated_values, returned};
use super::insert::is_default;
use super::modify::{Target, pairs, target, update_from};
use super::naming::fold;
use super::returning::{self, quoted};
use crate::catalog::Catalog;
use crate::session::Database;
use crate::template::{Parameters, QueryTemplate, parse};

/// What finds a write's rows again.
#[derive(Clone, Debug)]
pub struct Search {
    /// The query.
    pub query: Arc<QueryTemplate>,
    /// It gives RETURNING's rows; else their number.
    pub gives_rows: bool,
}

/// Plans the search of the UPDATE or DELETE that `text` is, with parameters of these types.
pub fn plan(
    database: &Database,
    catalog: &Arc<Catalog>,
    text: &str,
    types: &[DataType],
) -> Result<Search> {
    let (text, gives_rows) = query_text(catalog, parse(text)?.remove(0))?;
    let ast::Statement::Query(query) = parse(&text)?.remove(0) else { return Err(no_search()) };
    let mut parameters = Parameters::known(types);
    let query = database.planner.query(catalog, &query, &mut parameters, &text)?;
    Ok(Search { query, gives_rows })
}

fn no_search() -> Error {
    Error::new(SqlState::FeatureNotSupported, "the statement looks for no rows")
}

fn query_text(catalog: &Catalog, statement: ast::Statement) -> Result<(String, bool)> {
    match statement {
        ast::Statement::Update(update) => of_update(catalog, &update, None),
        ast::Statement::Delete(delete) => of_delete(catalog, &delete, None),
        ast::Statement::Query(query) => match (*query.body, query.with) {
            (SetExpr::Update(ast::Statement::Update(update)), with) => {
                of_update(catalog, &update, with.as_ref())
            }
            (SetExpr::Delete(ast::Statement::Delete(delete)), with) => {
                of_delete(catalog, &delete, with.as_ref())
            }
            _ => Err(no_search()),
        },
        _ => Err(no_search()),
    }
}

fn of_update(
    catalog: &Catalog,
    update: &ast::Update,
    with: Option<&ast::With>,
) -> Result<(String, bool)> {
    let target = target(catalog, &update.table)?;
    let mut pairs = pairs(&update.assignments, &target.table)?;
    pairs.extend(generated_values(&target, &pairs)?);
    of_change(&Change {
        target: &target,
        with,
        pairs: Some(&pairs),
        from: update_from(update),
        selection: update.selection.as_ref(),
        returning: update.returning.as_deref(),
    })
}

fn of_delete(
    catalog: &Catalog,
    delete: &ast::Delete,
    with: Option<&ast::With>,
) -> Result<(String, bool)> {
    let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
        &delete.from;
    let target = target(catalog, from.first().ok_or_else(no_search)?)?;
    of_change(&Change {
        target: &target,
        with,
        pairs: None,
        from: delete.using.as_deref().unwrap_or_default(),
        selection: delete.selection.as_ref(),
        returning: delete.returning.as_deref(),
    })
}

fn of_change(change: &Change<'_>) -> Result<(String, bool)> {
    let Target { table, alias } = change.target;
    let mut text = String::new();
    let mut put = |part: std::fmt::Arguments<'_>| text.write_fmt(part).expect("strings take all");
    if let Some(with) = change.with {
        if with.cte_tables.iter().any(|named| fold(&named.alias.name) == *table.name) {
            return Err(no_search());
        }
        put(format_args!("{with} "));
    }
    let shown = shown(change)?;
    match &shown {
        None => put(format_args!("SELECT count(*) AS c0")),
        Some(expressions) => {
            for (number, expression) in expressions.iter().enumerate() {
                let before = if number == 0 { "SELECT" } else { "," };
                put(format_args!("{before} {expression} AS c{number}"));
            }
        }
    }
    put(format_args!(" FROM {} AS {}", quoted(&table.name), quoted(alias)));
    match (change.from, change.selection) {
        ([], None) => {}
        ([], Some(selection)) => put(format_args!(" WHERE {selection}")),
        (others, selection) => {
            put(format_args!(" WHERE EXISTS (SELECT 1"));
            for (number, other) in others.iter().enumerate() {
                put(format_args!("{} {other}", if number == 0 { " FROM" } else { "," }));
            }
            if let Some(selection) = selection {
                put(format_args!(" WHERE {selection}"));
            }
            put(format_args!(")"));
        }
    }
    Ok((text, shown.is_some()))
}

/// What RETURNING shows, where that is the same whichever partner a row was found with.
fn shown(change: &Change<'_>) -> Result<Option<Vec<Expr>>> {
    let has_default = |pairs: &[(ColumnId, Expr)]| pairs.iter().any(|(_, value)| is_default(value));
    let Some(clause) = change.returning else { return Ok(None) };
    if !change.from.is_empty() || change.pairs.is_some_and(has_default) {
        return Ok(None);
    }
    let items = returning::items(clause, &change.target.table, &change.target.alias)?;
    Ok(Some(returned(change, &items)))
}
