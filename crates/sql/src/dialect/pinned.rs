//! Constants of the query around, known to the correlated scalar subqueries in it.
//!
//! `o.id = $1` around and `t.k = o.id` inside mean `t.k = $1` inside, too. Without it the grouping that such a subquery
//! becomes would be over all of `t` for the one row that is wanted.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Expr, ExprSchemable, Filter, LogicalPlan, Operator,
};

/// Adds to correlated aggregates what the query around says of the columns that they read.
pub fn pin(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    plan.transform_down_with_subqueries(|node| {
        let known = constants(&node);
        if known.is_empty() {
            return Ok(Transformed::no(node));
        }
        let preserver = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = preserver.save(&expr);
            let pinned = expr.transform_down(|expr| pin_one(expr, &known))?;
            Ok(pinned.update_data(|expr| name.restore(expr)))
        })
    })
}

/// The columns that are equal to a constant in every row whose expressions the node's caller gets to see.
fn constants(node: &LogicalPlan) -> Vec<(Column, Expr)> {
    let mut filter = match node {
        LogicalPlan::Filter(_) => Some(node),
        LogicalPlan::Projection(projection) => Some(projection.input.as_ref()),
        _ => None,
    };
    let mut known = Vec::new();
    while let Some(LogicalPlan::Filter(Filter { predicate, input, .. })) = filter {
        known.extend(split_conjunction(predicate).into_iter().filter_map(constant));
        filter = Some(input.as_ref());
    }
    known
}

fn constant(conjunct: &Expr) -> Option<(Column, Expr)> {
    match equated(conjunct)? {
        (Expr::Column(column), value) | (value, Expr::Column(column)) => {
            let is_constant = matches!(value, Expr::Placeholder(_) | Expr::Literal(..));
            is_constant.then(|| (column.clone(), value.clone()))
        }
        _ => None,
    }
}

fn equated(conjunct: &Expr) -> Option<(&Expr, &Expr)> {
    match conjunct {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => Some((left, right)),
        _ => None,
    }
}

fn pin_one(expr: Expr, known: &[(Column, Expr)]) -> Result<Transformed<Expr>> {
    let Expr::ScalarSubquery(mut subquery) = expr else { return Ok(Transformed::no(expr)) };
    let pinned = pin_aggregate(&subquery.subquery, known)?;
    let transformed = pinned.is_some();
    if let Some(pinned) = pinned {
        subquery.subquery = pinned.into();
    }
    let expr = Expr::ScalarSubquery(subquery);
    Ok(if transformed { Transformed::yes(expr) } else { Transformed::no(expr) })
}

fn pin_aggregate(plan: &LogicalPlan, known: &[(Column, Expr)]) -> Result<Option<LogicalPlan>> {
    let LogicalPlan::Projection(projection) = plan else { return Ok(None) };
    let LogicalPlan::Aggregate(aggregate) = projection.input.as_ref() else { return Ok(None) };
    let LogicalPlan::Filter(filter) = aggregate.input.as_ref() else { return Ok(None) };
    let schema = filter.input.schema();
    let conjuncts = split_conjunction(&filter.predicate);
    let said = conjuncts.into_iter().filter_map(|conjunct| said_inside(conjunct, known, schema));
    let Some(said) = said.reduce(Expr::and) else { return Ok(None) };
    let predicate = filter.predicate.clone().and(said);
    let filter = LogicalPlan::Filter(Filter::try_new(predicate, filter.input.clone())?);
    let (keys, calls) = (aggregate.group_expr.clone(), aggregate.aggr_expr.clone());
    let aggregate = LogicalPlan::Aggregate(Aggregate::try_new(filter.into(), keys, calls)?);
    plan.with_new_exprs(projection.expr.clone(), vec![aggregate]).map(Some)
}

/// `inner = constant` where the conjunct is `inner = outer` and the outer column is known.
fn said_inside(conjunct: &Expr, known: &[(Column, Expr)], schema: &DFSchema) -> Option<Expr> {
    let (inner, outer, column) = match equated(conjunct)? {
        (inner, outer @ Expr::OuterReferenceColumn(_, column))
        | (outer @ Expr::OuterReferenceColumn(_, column), inner) => (inner, outer, column),
        _ => return None,
    };
    let (_, value) = known.iter().find(|(known, _)| known == column)?;
    let same = is_transitive([inner, outer, value], schema)?;
    (same && matches!(inner, Expr::Column(_))).then(|| inner.clone().eq(value.clone()))
}

/// Whether `=` among these compares without a cast that makes different values equal.
fn is_transitive(compared: [&Expr; 3], schema: &DFSchema) -> Option<bool> {
    let [inner, outer, value] = compared.map(|expr| expr.get_type(schema).ok());
    let types = [inner?, outer?, value?];
    let are_integers = types.iter().all(DataType::is_integer);
    Some(are_integers || types.iter().all(|data_type| *data_type == types[0]))
}
