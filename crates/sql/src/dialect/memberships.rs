//! IN and NOT IN where it matters that they may be neither true nor false. Called by `applied`.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::InSubquery;
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{Expr, ExprSchemable, Filter, LogicalPlan, Operator};

/// Puts a function in the place of a subquery.
type Apply<'a> = &'a dyn Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>;

/// Applies memberships whose third value matters: below OR, DataFusion marks rows that have a partner, and takes all others for
/// no members, although `NULL NOT IN (..)` is not true. What stands alone in a WHERE, or is IN there, may be joined, but not a
/// NOT IN whose subquery reads the row: its join would look for NULL among the rows of all subqueries. Nor one of a constant,
/// whose join has no key that could be NULL.
pub fn apply_unknown(plan: LogicalPlan, apply: Apply<'_>) -> Result<Transformed<LogicalPlan>> {
    plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::Filter(filter) = node else { return Ok(Transformed::no(node)) };
        let schema = filter.input.schema().clone();
        let mut changed = false;
        let conjuncts = split_conjunction(&filter.predicate).into_iter().map(|conjunct| {
            let applied = apply_unknown_in(conjunct.clone(), &schema, apply)?;
            changed |= applied.transformed;
            Ok(applied.data)
        });
        let predicate = conjunction(conjuncts.collect::<Result<Vec<Expr>>>()?);
        Ok(match predicate.filter(|_| changed) {
            Some(predicate) => {
                Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, filter.input)?))
            }
            None => Transformed::no(LogicalPlan::Filter(filter)),
        })
    })
}

fn apply_unknown_in(
    conjunct: Expr,
    schema: &DFSchema,
    apply: Apply<'_>,
) -> Result<Transformed<Expr>> {
    if let Expr::InSubquery(member) = &conjunct
        && (!member.negated || has_one_subquery_for_all(member))
    {
        return Ok(Transformed::no(conjunct));
    }
    apply_where_it_matters(conjunct, false, schema, apply)
}

/// Below AND and OR alone of a WHERE what is neither true nor false is as good as false; below anything else it `matters`.
fn apply_where_it_matters(
    expr: Expr,
    matters: bool,
    schema: &DFSchema,
    apply: Apply<'_>,
) -> Result<Transformed<Expr>> {
    match &expr {
        Expr::InSubquery(member)
            if (member.negated || matters) && may_be_unknown(member, schema)? =>
        {
            apply(expr, schema)
        }
        Expr::BinaryExpr(binary) if matches!(binary.op, Operator::And | Operator::Or) => {
            expr.map_children(|child| apply_where_it_matters(child, matters, schema, apply))
        }
        _ => expr.map_children(|child| apply_where_it_matters(child, true, schema, apply)),
    }
}

/// Whether each row asks whether it is among the same values.
fn has_one_subquery_for_all(member: &InSubquery) -> bool {
    member.subquery.outer_ref_columns.is_empty() && !member.expr.column_refs().is_empty()
}

/// Whether NULL is compared, as far as types tell.
fn may_be_unknown(member: &InSubquery, schema: &DFSchema) -> Result<bool> {
    let inner = member.subquery.subquery.schema();
    Ok(member.expr.nullable(schema)? || inner.fields().iter().any(|field| field.is_nullable()))
}
