//! CASE and coalesce within one another, planned in as many steps as they have levels.
//!
//! DataFusion copies what it plans: a `coalesce` becomes a CASE that has each argument but the last twice, the type of a CASE is
//! asked for twice wherever a function stands around it, and a physical CASE holds each of its parts twice. Each of these doubles
//! with every level. So CASEs that are nested deeply come in as calls of a function ([`shallow`], before anything plans them),
//! `coalesce` stays a call where its arguments are more than a few words ([`coalesce`]), and once the optimizer is done,
//! [`settle`] makes CASEs of the calls again, none deeper than [`settle::LEVELS`]: what lies below is a [`lazy`] function of the columns
//! that it reads. No argument is computed of a row that PostgreSQL would not compute it of. Called by `template::Planning`, `catalog` and
//! `dialect::applied`.

mod call;
mod cases;
mod coalesce;
mod lazy;
mod settle;

use std::sync::Arc;

use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::ScalarUDF;

pub use call::{Branches, branches};
pub use cases::shallow;
pub use lazy::is_lazy;
pub use settle::{settle, settle_expression};

/// The functions, over DataFusion's own.
pub fn functions(state: &SessionState) -> Vec<Arc<ScalarUDF>> {
    let coalesce = state.udf(coalesce::NAME).into_iter().map(coalesce::function);
    coalesce.chain(call::functions()).collect()
}
