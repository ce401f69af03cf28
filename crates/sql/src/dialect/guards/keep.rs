//! Guards that DataFusion's optimizer would take apart, in a form that it leaves alone; and back.
//!
//! `CASE TRUE WHEN condition THEN ..` means what `CASE WHEN condition THEN ..` means, but the simplifier makes no AND and OR of
//! it. Conjuncts over one table that may fail become one such CASE each, since DataFusion asks what it takes for cheap first.

use std::collections::{HashMap, HashSet};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{ExprSchema, Result, ScalarValue, TableReference};
use datafusion::logical_expr::expr::{AggregateFunction, Case};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{Aggregate, Expr, ExprSchemable, Filter, Join, LogicalPlan, lit};

use super::failing::{fails_of_row, may_fail, may_fail_anyhow};
use super::schema_of;

/// A plan that is not analyzed yet with its guards in that form.
pub fn keep(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    plan.transform_up_with_subqueries(|node| {
        if !has_guard(&node)? {
            return Ok(Transformed::no(node));
        }
        let schema = schema_of(&node)?;
        let node = rewrite(node, &|expr| keep_expression(expr, &schema))?;
        node.transform_data(|node| match node {
            LogicalPlan::Filter(filter) => kept_filter(filter, &schema),
            LogicalPlan::Join(join) => kept_join(join, &schema),
            LogicalPlan::Aggregate(grouping) => kept_filters(grouping),
            other => Ok(Transformed::no(other)),
        })
    })
}

/// An expression with its guards in that form.
pub fn keep_expression(expr: Expr, schema: &dyn ExprSchema) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| match expr {
        Expr::Case(case) if is_taken_apart(&case, schema) => {
            Ok(Transformed::yes(Expr::Case(Case { expr: Some(Box::new(lit(true))), ..case })))
        }
        other => Ok(Transformed::no(other)),
    })
}

/// An optimized plan with its guards as they were written.
pub fn release(plan: LogicalPlan) -> Result<LogicalPlan> {
    let released = plan.transform_up_with_subqueries(|node| rewrite(node, &release_expression))?;
    Ok(released.data)
}

/// An expression with its guards as they were written.
pub fn release_expression(expr: Expr) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| match expr {
        Expr::Case(case) if is_kept(&case) => {
            Ok(Transformed::yes(Expr::Case(Case { expr: None, ..case })))
        }
        other => Ok(Transformed::no(other)),
    })
}

/// Rewrites a node's expressions and keeps their names, those of each key of a grouping set too.
pub(super) fn rewrite(
    node: LogicalPlan,
    change: &dyn Fn(Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let preserver = NamePreserver::new(&node);
    let named = |expr: Expr| -> Result<Transformed<Expr>> {
        let name = preserver.save(&expr);
        Ok(change(expr)?.update_data(|expr| name.restore(expr)))
    };
    node.map_expressions(|expr| match expr {
        Expr::GroupingSet(_) => expr.map_children(named),
        other => named(other),
    })
}

/// Whether a node has what may be a guard.
fn has_guard(node: &LogicalPlan) -> Result<bool> {
    let mut found = matches!(node, LogicalPlan::Filter(_) | LogicalPlan::Join(_));
    node.apply_expressions(|expr| {
        found |= expr.exists(|expr| {
            Ok(match expr {
                Expr::Case(_) => true,
                Expr::AggregateFunction(call) => call.params.filter.is_some(),
                _ => false,
            })
        })?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

/// Whether the simplifier may make AND and OR of a CASE in which one condition or branch guards another: of one whose branches
/// are conditions, or are compared with a literal.
fn is_taken_apart(case: &Case, schema: &dyn ExprSchema) -> bool {
    if case.expr.is_some() {
        return false;
    }
    let branches = || {
        let taken = case.when_then_expr.iter().map(|(_, then)| then);
        taken.chain(&case.else_expr)
    };
    let is_condition =
        |expr: &Expr| expr.get_type(schema).map_or(true, |of| of == DataType::Boolean);
    let fails = |expr: &Expr| may_fail_anyhow(expr, schema);
    case.when_then_expr.iter().skip(1).any(|(when, _)| fails(when))
        || branches().any(|branch| fails(branch)) && branches().any(|branch| is_condition(branch))
}

fn is_kept(case: &Case) -> bool {
    matches!(case.expr.as_deref(), Some(Expr::Literal(ScalarValue::Boolean(Some(true)), _)))
}

fn kept_filter(filter: Filter, schema: &dyn ExprSchema) -> Result<Transformed<LogicalPlan>> {
    Ok(match in_order(&filter.predicate, schema) {
        Some(predicate) => {
            Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, filter.input)?))
        }
        None => Transformed::no(LogicalPlan::Filter(filter)),
    })
}

fn kept_join(join: Join, schema: &dyn ExprSchema) -> Result<Transformed<LogicalPlan>> {
    let ordered = join.filter.as_ref().and_then(|filter| in_order(filter, schema));
    Ok(match ordered {
        Some(_) => Transformed::yes(LogicalPlan::Join(Join { filter: ordered, ..join })),
        None => Transformed::no(LogicalPlan::Join(join)),
    })
}

/// A condition whose conjuncts over one table that may fail are asked as they are written; `None` where no two are.
fn in_order(condition: &Expr, schema: &dyn ExprSchema) -> Option<Expr> {
    let mut all: Vec<Vec<&Expr>> = Vec::new();
    let mut places: HashMap<Option<&TableReference>, usize> = HashMap::new();
    for conjunct in split_conjunction(condition) {
        let table = only_table(conjunct).filter(|_| may_fail(conjunct, schema));
        match table.map(|table| *places.entry(table).or_insert(all.len())) {
            Some(place) if place < all.len() => all[place].push(conjunct),
            _ => all.push(vec![conjunct]),
        }
    }
    let any = all.iter().any(|together| together.len() > 1);
    let all = all.into_iter().map(|together| one_after_the_other(&together));
    any.then(|| conjunction(all)).flatten()
}

/// The only table whose columns a condition reads; none for one that a subquery or a row further out has a say in.
fn only_table(condition: &Expr) -> Option<Option<&TableReference>> {
    let is_other = condition.exists(|expr| {
        Ok(matches!(
            expr,
            Expr::OuterReferenceColumn(..)
                | Expr::ScalarSubquery(_)
                | Expr::InSubquery(_)
                | Expr::Exists(_)
                | Expr::SetComparison(_)
        ))
    });
    let columns = condition.column_refs();
    let tables: HashSet<_> = columns.iter().map(|column| column.relation.as_ref()).collect();
    let mut tables = tables.into_iter();
    match (is_other, tables.next(), tables.next()) {
        (Ok(false), Some(table), None) => Some(table),
        _ => None,
    }
}

fn one_after_the_other(conjuncts: &[&Expr]) -> Expr {
    let (last, before) = conjuncts.split_last().expect("a place is made for a conjunct");
    before.iter().rev().fold((*last).clone(), |then, when| {
        let arm = (Box::new((*when).clone()), Box::new(then));
        Expr::Case(Case::new(Some(Box::new(lit(true))), vec![arm], Some(Box::new(lit(false)))))
    })
}

/// Arguments that an aggregate's FILTER guards, where another expression computes the same: it would be computed of all rows,
/// once for both.
fn kept_filters(grouping: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let schema = grouping.input.schema().clone();
    let mut seen: HashMap<Expr, usize> = HashMap::new();
    for expr in grouping.group_expr.iter().chain(&grouping.aggr_expr) {
        expr.apply(|node| {
            if fails_of_row(node, &schema) {
                *seen.entry(node.clone()).or_default() += 1;
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    let is_shared = |argument: &Expr| {
        argument.exists(|node| Ok(seen.get(node).is_some_and(|times| *times > 1)))
    };
    let keep = |expr: Expr| {
        expr.transform_up(|expr| match expr {
            Expr::AggregateFunction(call) => {
                let shared = call.params.args.iter().map(is_shared);
                match shared.collect::<Result<Vec<_>>>()?.contains(&true) {
                    true => Ok(with_guarded_arguments(call)),
                    false => Ok(Transformed::no(Expr::AggregateFunction(call))),
                }
            }
            other => Ok(Transformed::no(other)),
        })
    };
    rewrite(LogicalPlan::Aggregate(grouping), &keep)
}

fn with_guarded_arguments(mut call: AggregateFunction) -> Transformed<Expr> {
    let Some(filter) = call.params.filter.clone() else {
        return Transformed::no(Expr::AggregateFunction(call));
    };
    let guarded = |argument: Expr| {
        let arm = (filter.clone(), Box::new(argument));
        Expr::Case(Case::new(Some(Box::new(lit(true))), vec![arm], None))
    };
    call.params.args = call.params.args.into_iter().map(guarded).collect();
    Transformed::yes(Expr::AggregateFunction(call))
}
