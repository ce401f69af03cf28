//! CASE, AND, OR and FILTER guard what they guard: what is not asked cannot fail, on whichever path a statement runs.
//!
//! DataFusion takes computing for free of errors. Its simplifier makes AND and OR of a CASE of conditions, its AND and OR compute
//! both sides of all rows, its aggregates compute arguments of rows that FILTER leaves out. Here stand: what may fail
//! ([`failing`]), what is done before its optimizer so that it leaves such guards alone ([`mod@keep`]), and what is done before
//! its expressions run, so that each looks at no row that its guard has not let through ([`mod@lazy`]).
//!
//! Among the conjuncts of a condition those that cannot fail are asked first, then the others as they are written.
//! PostgreSQL asks all as they are written: it may fail where this does not, never the other way round.

mod failing;
mod keep;
mod lazy;

pub use failing::{is_constant, may_fail, may_fail_anyhow};
pub use keep::{keep_expression, release_expression};
pub use lazy::{guarded, lazy, lazy_conjunction, lazy_plan};

use datafusion::common::{DFSchema, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;

use super::applied;

/// Optimizes a plan; its guards stay guards.
pub fn optimize(plan: &LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
    let kept = keep::keep(plan.clone())?;
    let optimized = applied::optimize(&kept.data, state)?;
    if kept.transformed { keep::release(optimized) } else { Ok(optimized) }
}

/// The columns that a node's expressions may name.
fn schema_of(node: &LogicalPlan) -> Result<DFSchema> {
    let mut schema = DFSchema::clone(node.schema());
    node.inputs().iter().for_each(|input| schema.merge(input.schema()));
    Ok(schema)
}
