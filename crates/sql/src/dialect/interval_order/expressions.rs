//! Comparisons inside expressions.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{
    AggregateFunction, Between, Case, InList, InSubquery, ScalarFunction, SetComparison,
};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, LogicalPlanBuilder, Operator, Subquery,
};

use super::{has_intervals, is_comparison, is_of_intervals, refused, windows, wrap};
use crate::dialect::interval_aggregates::Extreme;
use crate::dialect::intervals::INTERVAL;
use crate::dialect::spans::{extreme, spanned};

/// Functions that compare an array's elements.
const OF_ARRAYS: [&str; 15] = [
    "array_distinct",
    "array_except",
    "array_has",
    "array_has_all",
    "array_has_any",
    "array_intersect",
    "array_max",
    "array_min",
    "array_position",
    "array_positions",
    "array_remove",
    "array_remove_all",
    "array_replace",
    "array_sort",
    "array_union",
];

/// An analyzed expression with intervals compared by what they amount to.
pub fn by_span(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| one(expr, schema))
}

fn one(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_interval = |expr: &Expr| is_of_intervals(expr, schema);
    Ok(Transformed::yes(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) => {
            return compared(*left, op, *right, schema);
        }
        Expr::Between(mut between) if is_interval(&between.expr) => {
            let Between { expr, low, high, .. } = &mut between;
            [expr, low, high].into_iter().for_each(span_of);
            Expr::Between(between)
        }
        Expr::InList(InList { expr, list, negated }) if is_interval(&expr) => {
            let list = list.into_iter().map(spanned).collect();
            Expr::InList(InList { expr: Box::new(spanned(*expr)), list, negated })
        }
        Expr::Case(mut case) if case.expr.as_ref().is_some_and(|operand| is_interval(operand)) => {
            case.expr.iter_mut().for_each(span_of);
            case.when_then_expr.iter_mut().for_each(|(when, _)| span_of(when));
            Expr::Case(case)
        }
        Expr::InSubquery(InSubquery { expr, subquery, negated }) if is_interval(&expr) => {
            let (expr, subquery) = (Box::new(spanned(*expr)), spans(&subquery)?);
            Expr::InSubquery(InSubquery { expr, subquery, negated })
        }
        Expr::SetComparison(SetComparison { expr, subquery, op, quantifier })
            if is_interval(&expr) =>
        {
            let (expr, subquery) = (Box::new(spanned(*expr)), spans(&subquery)?);
            Expr::SetComparison(SetComparison { expr, subquery, op, quantifier })
        }
        Expr::ScalarFunction(call) => return called(call, schema),
        Expr::AggregateFunction(call) => return aggregated(call, schema),
        Expr::WindowFunction(window) => return windows::computed(window, schema),
        other => return Ok(Transformed::no(other)),
    }))
}

fn span_of(operand: &mut Box<Expr>) {
    **operand = spanned(operand.as_ref().clone());
}

fn compared(left: Expr, op: Operator, right: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let pair = |left, right| Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)));
    if is_of_intervals(&left, schema) || is_of_intervals(&right, schema) {
        return Ok(Transformed::yes(pair(spanned(left), spanned(right))));
    }
    if holds(&left, schema) {
        return Err(refused("comparing arrays of intervals", "Compare their elements."));
    }
    Ok(Transformed::no(pair(left, right)))
}

fn holds(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|data_type| has_intervals(&data_type))
}

/// A subquery's only column as numbers.
fn spans(subquery: &Subquery) -> Result<Subquery> {
    let plan = subquery.subquery.as_ref().clone();
    let (qualifier, field) = plan.schema().qualified_field(0);
    let (column, name) = (Column::from((qualifier, field)), field.name().clone());
    let number = spanned(Expr::Column(column)).alias(name);
    let plan = LogicalPlanBuilder::from(plan).project([number])?.build()?;
    Ok(subquery.with_plan(Arc::new(plan)))
}

fn called(call: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_interval = call.args.first().is_some_and(|first| is_of_intervals(first, schema));
    match (call.name(), call.args.as_slice()) {
        ("greatest" | "least", _) if is_interval => {
            let largest = call.name() == "greatest";
            Ok(Transformed::yes(extreme(call.args, largest)))
        }
        ("nullif", [value, other]) if is_interval => {
            let (left, right) = (spanned(value.clone()), spanned(other.clone()));
            let null = Expr::Literal(ScalarValue::try_from(&INTERVAL)?, None);
            let arm = (Box::new(left.eq(right)), Box::new(null));
            let value = Some(Box::new(value.clone()));
            Ok(Transformed::yes(Expr::Case(Case::new(None, vec![arm], value))))
        }
        (name, [list, ..]) if OF_ARRAYS.contains(&name) && holds(list, schema) => {
            Err(refused(&format!("{name} of intervals"), "Unnest the array."))
        }
        _ => Ok(Transformed::no(Expr::ScalarFunction(call))),
    }
}

fn aggregated(mut call: AggregateFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    for key in &mut call.params.order_by {
        wrap(&mut key.expr, schema);
    }
    let is_interval = call.params.args.iter().any(|argument| holds(argument, schema));
    if !is_interval {
        return Ok(Transformed::yes(Expr::AggregateFunction(call)));
    }
    if let Some(extreme) = Extreme::named(call.func.name()) {
        call.func = extreme.function();
        call.params.distinct = false;
    }
    if call.params.distinct {
        match call.func.name() {
            "count" => call.params.args.iter_mut().for_each(|argument| wrap(argument, schema)),
            name => {
                let what = format!("{name}(DISTINCT ..) of intervals");
                return Err(refused(&what, "Select the distinct intervals in a subquery."));
            }
        }
    }
    match call.func.name() {
        "mode" | "median" | "percentile_disc" | "percentile_cont" | "approx_median" => {
            let what = format!("{} of intervals", call.func.name());
            Err(refused(&what, "Use extract(epoch FROM ..)."))
        }
        _ => Ok(Transformed::yes(Expr::AggregateFunction(call))),
    }
}
