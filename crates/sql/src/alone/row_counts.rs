//! LIMIT and OFFSET as numbers, once the parameters in them have values.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, Limit, LogicalPlan};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use engine::types::{Error, SqlState};

/// The same node with counts that are numbers; a negative one is refused. OFFSET is asked first.
pub fn counted(limit: Limit) -> Result<Transformed<LogicalPlan>> {
    let skip = limit.skip.map(|count| number(*count, SqlState::InvalidOffset, "OFFSET"));
    let fetch = limit.fetch.map(|count| number(*count, SqlState::InvalidLimit, "LIMIT"));
    let (skip, fetch) = (skip.transpose()?, fetch.transpose()?);
    let boxed = |count: Option<Expr>| count.map(Box::new);
    let limit = Limit { skip: boxed(skip), fetch: boxed(fetch), ..limit };
    Ok(Transformed::yes(LogicalPlan::Limit(limit)))
}

fn number(count: Expr, state: SqlState, clause: &str) -> Result<Expr> {
    let count = match count {
        Expr::Literal(..) => count,
        computed => computed_number(computed)?,
    };
    let Expr::Literal(value, _) = &count else { return Ok(count) };
    match value.cast_to(&DataType::Int64)? {
        ScalarValue::Int64(Some(negative)) if negative < 0 => {
            let fault = Error::new(state, format!("{clause} must not be negative"));
            Err(DataFusionError::External(Box::new(fault)))
        }
        number => Ok(Expr::Literal(number, None)),
    }
}

fn computed_number(expr: Expr) -> Result<Expr> {
    let schema = Arc::new(DFSchema::empty());
    let context = SimplifyContext::builder().with_schema(schema.clone()).build();
    let simplifier = ExprSimplifier::new(context);
    simplifier.simplify(simplifier.coerce(expr, &schema)?)
}
