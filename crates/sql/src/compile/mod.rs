//! DataFusion's plans and expressions in, the engine's out.
//!
//! An optimized logical plan over parameters becomes a [`engine::plan::PlanNode`] tree: predicates that the engine
//! understands in their native form, everything else as an [`Evaluated`] expression backed by DataFusion's evaluator.
//! What the global plan cannot run is refused with a reason, which EXPLAIN shows. Called by `template` (queries) and,
//! through [`Scope`], by `statement` (expressions of INSERT, UPDATE, DELETE, CHECK, DEFAULT).

mod aggregate;
mod arithmetic;
mod assignment;
#[cfg(test)]
mod bookstore_tests;
mod expression;
mod guards;
mod join;
mod node;
mod predicate;
mod query;
mod scope;

pub use assignment::assign;
pub use expression::{Evaluated, Resolve};
pub use predicate::predicates;
pub use query::{Compiled, compile};
pub use scope::{Relation, Scope};

use datafusion::logical_expr::Expr;

/// Why the global plan cannot run a statement.
pub type Refusal = String;

/// What compiles, or why not.
pub type Result<T> = std::result::Result<T, Refusal>;

fn refuse<T>(what: impl Into<String>) -> Result<T> {
    Err(what.into())
}

/// The expression below aliases.
fn unalias(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unalias(&alias.expr),
        other => other,
    }
}
