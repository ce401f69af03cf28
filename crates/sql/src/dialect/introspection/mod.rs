//! What drivers and psql ask of the catalog, in words that DataFusion's planner takes.
//!
//! In comes a parsed statement, out goes one that means the same: casts to `regclass` and its like become functions,
//! `ARRAY(subquery)` a function of a subquery, composite values structs. No rule knows a client's query. Called by
//! `template::parse` only.

mod absent;
mod arrays;
mod calls;
mod current_role;
mod fetch;
mod names;
mod oid_arrays;
mod series;

pub(super) use calls::{arguments, call, plain_name, word};
pub(super) use series::names_column;

use std::sync::LazyLock;

use datafusion::sql::sqlparser::ast::{Statement, VisitMut};
use datafusion_pg_catalog::sql::rules::{
    AliasDuplicatedProjectionRewrite, CurrentUserVariableToSessionUserFunctionCall,
    FixVersionColumnName, ResolveUnqualifiedIdentifier, RewritePgCatalogOperator,
    SqlStatementRewriteRule, StripCallableQualifier, StripCollate,
};

/// Rules for statements that read `pg_catalog`.
static CATALOG_RULES: LazyLock<Vec<Box<dyn SqlStatementRewriteRule>>> = LazyLock::new(|| {
    vec![
        Box::new(AliasDuplicatedProjectionRewrite),
        Box::new(ResolveUnqualifiedIdentifier),
        Box::new(StripCallableQualifier),
        Box::new(CurrentUserVariableToSessionUserFunctionCall),
        Box::new(RewritePgCatalogOperator),
        Box::new(StripCollate),
        Box::new(FixVersionColumnName),
    ]
});

/// Rewrites one statement, whose text is `text`.
pub fn rewrite(mut statement: Statement, text: &str) -> Statement {
    if mentions(text, "fetch") {
        let _ = VisitMut::visit(&mut statement, &mut fetch::Fetch);
    }
    if mentions(text, current_role::NAME) {
        let _ = VisitMut::visit(&mut statement, &mut current_role::CurrentRole);
    }
    if super::operators::LETTERS.iter().any(|letters| mentions(text, letters)) {
        let _ = VisitMut::visit(&mut statement, &mut super::operators::Operators);
    }
    if mentions(text, "in") && mentions(text, "select") {
        let _ = VisitMut::visit(&mut statement, &mut super::row_memberships::RowMemberships);
    }
    if ["limit", "offset", "ties"].iter().any(|word| mentions(text, word)) {
        let _ = VisitMut::visit(&mut statement, &mut super::row_counts::RowCounts);
    }
    if mentions(text, "generate_s") || mentions(text, "unnest") {
        let _ = VisitMut::visit(&mut statement, &mut series::Series);
    }
    if mentions(text, "array") || mentions(text, ").") {
        let _ = VisitMut::visit(&mut statement, &mut arrays::Arrays);
    }
    if mentions(text, "escape") {
        let _ = VisitMut::visit(&mut statement, &mut super::escapes::Escapes);
    }
    if mentions(text, "interval") {
        let _ = VisitMut::visit(&mut statement, &mut super::signs::Signs);
    }
    if mentions(text, "age") {
        let _ = VisitMut::visit(&mut statement, &mut super::ages::Ages);
    }
    if mentions(text, "reg") {
        let _ = VisitMut::visit(&mut statement, &mut names::Names);
    }
    if !mentions(text, "pg_") {
        return statement;
    }
    let _ = VisitMut::visit(&mut statement, &mut absent::Absent);
    let _ = VisitMut::visit(&mut statement, &mut oid_arrays::OidArrays);
    CATALOG_RULES.iter().fold(statement, |statement, rule| rule.rewrite(statement))
}

/// Whether the text has these letters anywhere, in whatever case.
pub fn mentions(text: &str, letters: &str) -> bool {
    let windows = text.as_bytes().windows(letters.len());
    windows.into_iter().any(|bytes| bytes.eq_ignore_ascii_case(letters.as_bytes()))
}
