//! What PostgreSQL's parse analysis refuses and DataFusion's planner takes, or refuses in other words.
//!
//! In comes a statement as parsed, with the places of its names and literals; out comes nothing, or the fault with
//! PostgreSQL's words and position: operators and functions over types that they do not take, values that a column does
//! not take, conditions that are not boolean, aggregates and window functions where they may not be. What this room
//! does not know (`Type::Opaque`: functions of DataFusion, catalog tables, parameters) it lets pass: the planner
//! decides. Called by `session` once per statement that is planned. Absent here: changing anything.

mod call;
mod changes_in_with;
mod expression;
mod grouping_sets;
mod operator;
mod query;
mod relations;
pub(crate) mod types;
mod window;
mod words;
mod write;

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Query, SetExpr, Statement, Visit, Visitor};
use engine::types::{DataType, Error, Result, SqlState, TableSchema};

use crate::catalog::Catalog;
use expression::Place;
use relations::Scope;
use types::Type;
use words::Words;

/// What an analysis needs everywhere.
struct Analysis<'a> {
    catalog: &'a Catalog,
    words: Words<'a>,
    /// Whether there is a function of that name.
    known: &'a dyn Fn(&str) -> bool,
}

/// Analyzes an expression over the rows of one table in a clause of a definition: its type, where it is known.
pub fn check_of_row(
    expr: &Expr,
    table: Option<&TableSchema>,
    catalog: &Catalog,
    clause: &'static str,
    known: &dyn Fn(&str) -> bool,
) -> Result<Option<DataType>> {
    let analysis = Analysis { catalog, words: Words::new(""), known };
    let mut scope = Scope::default();
    if let Some(table) = table {
        analysis.target_scope(table, None, &mut scope);
    }
    if holds_subquery(expr) {
        let clause = clause.strip_suffix('s').unwrap_or(clause);
        let message = format!("cannot use subquery in {clause}");
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    let found = analysis.expression(expr, &scope, Place::rows(clause)).map_err(Error::unplaced)?;
    Ok(match found {
        Type::Known(data_type) => Some(data_type),
        Type::Literal | Type::Opaque => None,
    })
}

fn holds_subquery(expr: &Expr) -> bool {
    struct Subqueries;
    impl Visitor for Subqueries {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    expr.visit(&mut Subqueries).is_break()
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
    analysis.changes_in_with(statement)?;
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
