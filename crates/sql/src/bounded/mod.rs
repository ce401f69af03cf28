//! What a statement's text may cost before it runs, and on whose thread.
//!
//! In come parsing and planning as closures; out come their results, or 54001 for what is nested too deeply, is too large once
//! written out or takes too long, 57014 for what nobody waits for any more, 53000 where too many wait. They run on
//! [`PlanningThreads`], few threads of their own with large stacks, so that connections never wait for somebody else's plan.
//! Whatever takes long looks at [`checkpoint`] now and then, the parser by way of [`Counted`]. [`check_tokens`] counts before
//! anything recurses, [`flatten`] makes long chains of AND, OR and UNION shallow, [`check_widths`] counts columns, [`check_plan`]
//! what names written twice stand for, [`check_expressions`] what the optimizer copies. What a thread allocates for a plan is its
//! statement's, and too much of it 53200. Called by `session`, `template`, `dialect`, `catalog` and `alone`.

mod chains;
mod counted;
mod expressions;
mod plans;
mod threads;
mod tokens;
mod wanted;
mod widths;

pub use chains::flatten;
pub use counted::Counted;
pub use expressions::{
    check_expression, check_expressions, check_held, check_node, check_size, grows_below,
};
pub use plans::{check_plan, too_large_to_share};
pub use threads::{Planned, PlanningThreads, STACK_BYTES};
pub use tokens::{check_length, check_tokens};
pub use wanted::{checkpoint, name_relation};
pub use widths::check_widths;

use engine::types::{Error, SqlState};

/// 54001, in PostgreSQL's words.
fn too_deep() -> Error {
    Error::new(SqlState::StatementTooComplex, "stack depth limit exceeded")
}
