//! What PostgreSQL's parse analysis refuses and DataFusion's planner takes, or refuses in other words.
//!
//! In comes a statement as parsed, with the places of its names and literals; out comes nothing, or the fault with
//! PostgreSQL's words and position: operators and functions over types that they do not take, values that a column does
//! not take, conditions that are not boolean, aggregates and window functions where they may not be. What this room
//! does not know (`Type::Opaque`: functions of DataFusion, catalog tables, parameters) it lets pass: the planner
//! decides. Called by `session` once per statement that is planned. Absent here: changing anything.

mod call;
mod expression;
mod operator;
mod query;
mod relations;
mod types;
mod words;
mod write;

use datafusion::sql::sqlparser::ast::{SetExpr, Statement};
use engine::types::Result;

use crate::catalog::Catalog;
use relations::Scope;
use words::Words;

/// What an analysis needs everywhere.
struct Analysis<'a> {
    catalog: &'a Catalog,
    words: Words<'a>,
    /// Whether there is a function of that name.
    known: &'a dyn Fn(&str) -> bool,
}

/// Analyzes one statement whose text is `text`; `known` tells whether there is a function of a name.
pub fn check(
    statement: &Statement,
    catalog: &Catalog,
    text: &str,
    known: &dyn Fn(&str) -> bool,
) -> Result<()> {
    let analysis = Analysis { catalog, words: Words::new(text), known };
    let outer = Scope::default();
    match statement {
        Statement::Query(query) => match (query.body.as_ref(), &query.with) {
            (
                SetExpr::Insert(inner) | SetExpr::Update(inner) | SetExpr::Delete(inner),
                Some(with),
            ) => {
                let scope = analysis.with(with, &outer)?;
                analysis.write(inner, &scope)
            }
            _ => analysis.query(query, &outer).map(|_| ()),
        },
        other => analysis.write(other, &outer),
    }
}
