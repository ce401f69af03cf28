//! PostgreSQL's parse analysis: a raw tree and a catalog become a typed query tree.
//!
//! **In**: a statement of [`syntax::parse`], the [`Catalog`] at one moment, the types of parameters that the client told. **Out**: a
//! [`tree::Query`] in which every expression has its type, typmod and collation, every cast is explicit, functions and operators are rows of
//! [`facts`] and columns are (levels up, entry, column); or an [`AnalysisError`] with PostgreSQL 15's SQLSTATE, message, DETAIL, HINT and
//! position. Nothing is planned or executed here, and nothing here knows a session beyond the settings that literals are read by.
//!
//! # Rooms
//! `facts` (what PostgreSQL has by birth) → `tree` → `types` → `coerce` (casts, common types) → `call` (operators, functions, aggregates) →
//! `names` (scopes) → `expression` → `from` → `select` → `write`; one clause or form a file. `Analyzer` is the state that they share.
//!
//! # Bounds
//! What is nested deeper than a stack of 2 MiB allows is 54001, as PostgreSQL says it; chains of set operations, which grow to the left without
//! bound, are walked by iteration and are lists in the tree.

mod analyzer;
mod call;
pub mod catalog;
mod coerce;
mod error;
mod expression;
pub mod facts;
mod from;
mod names;
mod parameters;
mod place;
mod select;
pub mod tree;
mod types;
mod write;

use analyzer::Analyzer;
pub use catalog::Catalog;
pub use error::{AnalysisError, Location, NOWHERE, Result};
use facts::Oid;
use syntax::Node;
use tree::Query;
pub use values::kernel::Context;

/// A statement with its types.
#[derive(Debug)]
pub struct Analysis {
    /// The statement.
    pub query: Query,
    /// Types of its parameters, from `$1`.
    pub parameters: Vec<Oid>,
}

/// What a statement means.
///
/// `text` is the whole text that `statement` was parsed from: places are in it. `parameters` are the types that the client told, 0 for those
/// that it did not.
///
/// # Errors
/// What PostgreSQL's analysis says of it; 0A000 for statements that are no SELECT, VALUES, INSERT, UPDATE or DELETE.
pub fn analyze(
    text: &str,
    statement: Node<'_>,
    catalog: &dyn Catalog,
    context: &Context,
    parameters: &[Oid],
) -> Result<Analysis> {
    let mut analyzer = Analyzer::new(text, catalog, context, parameters);
    let analysed = analyzer.in_level(|this| this.query(statement));
    let done = analysed.and_then(|query| {
        let parameters = analyzer.parameters.decided(&query)?;
        Ok(Analysis { query, parameters })
    });
    done.map_err(|error| error.in_characters(text))
}
