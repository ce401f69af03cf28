//! Expressions that look at no row which a guard has not let through, for DataFusion's evaluator: its CASE computes each branch
//! of the rows that take it, its AND and OR compute both sides of all rows.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ExprSchema, Result};
use datafusion::logical_expr::expr::Case;
use datafusion::logical_expr::utils::{conjunction, disjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, Filter, Join, LogicalPlan, Operator, lit};

use super::failing::{is_constant, may_fail, may_fail_anyhow};
use super::keep::{release_expression, rewrite};
use super::schema_of;

/// How deep guarded AND and OR may stand in each other: what is unknown so far is asked again where it decides, so that each
/// level doubles the expression. Deeper ones stay as they are.
const DEPTH: usize = 6;

/// An expression in which AND, OR, CASE and FILTER compute nothing of rows that they guard.
pub fn lazy(expr: Expr, schema: &dyn ExprSchema) -> Result<Expr> {
    let expr = release_expression(expr)?.data;
    match may_fail_anyhow(&expr, schema) {
        true => deep(expr, schema, 0),
        false => Ok(expr),
    }
}

/// The same of a condition that is only asked whether it is true, by its conjuncts.
pub fn lazy_conjunction(conjuncts: Vec<Expr>, schema: &dyn ExprSchema) -> Result<Option<Expr>> {
    let (mut sure, mut failing, mut after_constant) = (Vec::new(), Vec::new(), false);
    for conjunct in conjuncts {
        let is_failing =
            may_fail(&conjunct, schema) || after_constant && may_fail_anyhow(&conjunct, schema);
        after_constant |= is_constant(&conjunct);
        let conjunct = lazy(conjunct, schema)?;
        if is_failing { failing.push(conjunct) } else { sure.push(conjunct) }
    }
    let last = failing.pop();
    let asked: Vec<Expr> = conjunction(sure).into_iter().chain(failing).collect();
    Ok(match last {
        Some(last) => Some(all_before(asked, last)),
        None => conjunction(asked),
    })
}

/// A condition that is asked only where all of its guards are true.
pub fn guarded(guards: Vec<Expr>, condition: Expr) -> Expr {
    all_before(guards, condition)
}

/// A plan in which no expression looks at rows that a guard has not let through. The filters of scans stay apart, for indexes.
pub fn lazy_plan(plan: LogicalPlan) -> Result<LogicalPlan> {
    let lazy = plan.transform_up_with_subqueries(|node| {
        if matches!(node, LogicalPlan::TableScan(_)) || !may_guard(&node)? {
            return Ok(Transformed::no(node));
        }
        let schema = schema_of(&node)?;
        lazy_node(node, &schema)
    })?;
    Ok(lazy.data)
}

/// Whether something in a node's expressions may guard what may fail, as far as is known without types.
fn may_guard(node: &LogicalPlan) -> Result<bool> {
    let (nothing, mut guards, mut fails) = (DFSchema::empty(), false, false);
    node.apply_expressions(|expr| {
        guards |= expr.exists(|expr| Ok(is_guard(expr)))?;
        fails |= may_fail_anyhow(expr, &nothing);
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(guards && fails)
}

fn is_guard(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(binary) => matches!(binary.op, Operator::And | Operator::Or),
        Expr::Case(case) => case.expr.is_some(),
        Expr::AggregateFunction(call) => call.params.filter.is_some(),
        Expr::WindowFunction(call) => call.params.filter.is_some(),
        _ => false,
    }
}

fn lazy_node(node: LogicalPlan, schema: &DFSchema) -> Result<Transformed<LogicalPlan>> {
    match node {
        LogicalPlan::Filter(filter) => {
            let conjuncts = split_conjunction_owned(filter.predicate);
            let predicate = lazy_conjunction(conjuncts, schema)?.unwrap_or_else(|| lit(true));
            Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, filter.input)?)))
        }
        LogicalPlan::Join(mut join) => {
            let conjuncts = join.filter.take().map(split_conjunction_owned).unwrap_or_default();
            let filter = lazy_conjunction(conjuncts, schema)?;
            let pairs = std::mem::take(&mut join.on).into_iter();
            let pairs = pairs.map(|(l, r)| Ok((lazy(l, schema)?, lazy(r, schema)?)));
            let on = pairs.collect::<Result<Vec<_>>>()?;
            Ok(Transformed::yes(LogicalPlan::Join(Join { on, filter, ..join })))
        }
        other => rewrite(other, &|expr| Ok(Transformed::yes(lazy(expr, schema)?))),
    }
}

/// `depth` guarded AND and OR stand around it.
fn deep(expr: Expr, schema: &dyn ExprSchema, depth: usize) -> Result<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { op: op @ (Operator::And | Operator::Or), .. }) => {
            chain(operands(expr, op), op, schema, depth)
        }
        other => {
            let below = |child: Expr| -> Result<Transformed<Expr>> {
                Ok(Transformed::yes(deep(child, schema, depth)?))
            };
            Ok(with_guarded_arguments(other.map_children(below)?.data, schema))
        }
    }
}

/// What a chain of one operator connects, in its order.
fn operands(expr: Expr, by: Operator) -> Vec<Expr> {
    let (mut all, mut rest) = (Vec::new(), vec![expr]);
    while let Some(next) = rest.pop() {
        match next {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if op == by => {
                rest.extend([*right, *left]);
            }
            other => all.push(other),
        }
    }
    all
}

fn chain(operands: Vec<Expr>, op: Operator, schema: &dyn ExprSchema, depth: usize) -> Result<Expr> {
    let fails: Vec<bool> = operands.iter().map(|one| may_fail_anyhow(one, schema)).collect();
    let is_guarded = fails[1..].contains(&true) && depth < DEPTH;
    let below = if is_guarded { depth + 1 } else { depth };
    let operands = operands.into_iter().map(|one| deep(one, schema, below));
    let operands = operands.collect::<Result<Vec<Expr>>>()?;
    Ok(match is_guarded {
        true => one_by_one(in_blocks(operands, &fails, op), op),
        false => connected(operands, op),
    })
}

/// Operands that cannot fail and stand side by side as one.
fn in_blocks(operands: Vec<Expr>, fails: &[bool], op: Operator) -> Vec<Expr> {
    let mut blocks: Vec<(Expr, bool)> = Vec::new();
    for (operand, &fails) in operands.into_iter().zip(fails) {
        match blocks.pop() {
            Some((before, false)) if !fails => {
                blocks.push((connected(vec![before, operand], op), false));
            }
            before => {
                blocks.extend(before);
                blocks.push((operand, fails));
            }
        }
    }
    blocks.into_iter().map(|(block, _)| block).collect()
}

fn connected(operands: Vec<Expr>, op: Operator) -> Expr {
    let all = if op == Operator::And { conjunction(operands) } else { disjunction(operands) };
    all.expect("an operator has operands")
}

/// AND ends with what is false, OR with what is true. Where nothing has decided, all is known to be sound, and NULLs have their
/// say: `NULL AND false` is false.
fn one_by_one(operands: Vec<Expr>, op: Operator) -> Expr {
    let before = &operands[..operands.len() - 1];
    let decides = before.iter().map(|operand| {
        let operand = Box::new(operand.clone());
        match op {
            Operator::And => (Box::new(Expr::IsFalse(operand)), Box::new(lit(false))),
            _ => (operand, Box::new(lit(true))),
        }
    });
    let decides = decides.collect();
    Expr::Case(Case::new(None, decides, Some(Box::new(connected(operands, op)))))
}

/// The condition where all that is asked before is true, false elsewhere.
fn all_before(asked: Vec<Expr>, condition: Expr) -> Expr {
    if asked.is_empty() {
        return condition;
    }
    let leaves = |expr: Expr| (Box::new(Expr::IsNotTrue(Box::new(expr))), Box::new(lit(false)));
    let arms = asked.into_iter().map(leaves).collect();
    Expr::Case(Case::new(None, arms, Some(Box::new(condition))))
}

/// An aggregate whose arguments are NULL where its FILTER leaves the row out, if computing them may fail. The filter stays: some
/// aggregates see NULL.
fn with_guarded_arguments(expr: Expr, schema: &dyn ExprSchema) -> Expr {
    let guard = |argument: Expr, filter: &Expr| match may_fail_anyhow(&argument, schema) {
        true => {
            let arm = (Box::new(filter.clone()), Box::new(argument));
            Expr::Case(Case::new(None, vec![arm], None))
        }
        false => argument,
    };
    match expr {
        Expr::AggregateFunction(mut call) => {
            let params = &mut call.params;
            if let Some(filter) = &params.filter {
                let args = std::mem::take(&mut params.args).into_iter();
                params.args = args.map(|argument| guard(argument, filter)).collect();
                for key in &mut params.order_by {
                    key.expr = guard(std::mem::take(&mut key.expr), filter);
                }
            }
            Expr::AggregateFunction(call)
        }
        Expr::WindowFunction(mut call) => {
            let params = &mut call.params;
            if let Some(filter) = &params.filter {
                let args = std::mem::take(&mut params.args).into_iter();
                params.args = args.map(|argument| guard(argument, filter)).collect();
            }
            Expr::WindowFunction(call)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
    use datafusion::arrow::datatypes::DataType;
    use datafusion::logical_expr::execution_props::ExecutionProps;
    use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
    use datafusion::logical_expr::{and, cast, col, not, or};
    use datafusion::physical_expr::create_physical_expr;

    use super::*;

    const TRUTHS: [Option<bool>; 3] = [Some(true), Some(false), None];

    /// All pairs of truths, the second also as a text.
    fn truths() -> RecordBatch {
        let pairs =
            TRUTHS.iter().flat_map(|first| TRUTHS.iter().map(move |second| (first, second)));
        let (first, second): (Vec<Option<bool>>, Vec<Option<bool>>) = pairs.unzip();
        let texts: StringArray = second.iter().map(|truth| truth.map(|t| t.to_string())).collect();
        let columns: [(&str, ArrayRef); 3] = [
            ("x", Arc::new(BooleanArray::from(first))),
            ("y", Arc::new(BooleanArray::from(second))),
            ("text", Arc::new(texts)),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
            .expect("columns are of one length")
    }

    fn computed(expr: &Expr, rows: &RecordBatch) -> Result<ArrayRef> {
        let schema = DFSchema::try_from(rows.schema())?;
        let (properties, context) = (ExecutionProps::new(), PhysicalPlanningContext::default());
        let physical = create_physical_expr(expr, &schema, &properties, &context)?;
        physical.evaluate(rows)?.into_array(rows.num_rows())
    }

    #[test]
    fn lazy_conditions_are_what_they_were() {
        let rows = truths();
        let schema = DFSchema::try_from(rows.schema()).expect("names differ");
        let connect: [fn(Expr, Expr) -> Expr; 2] = [and, or];
        for outer in connect {
            for inner in connect {
                let chain = |may_fail: Expr| {
                    outer(inner(col("x"), not(may_fail.clone())), inner(may_fail, col("x")))
                };
                let failing = chain(cast(col("text"), DataType::Boolean));
                let made = lazy(failing.clone(), &schema).expect("types are known");
                assert_ne!(made, failing);
                let plain = computed(&chain(col("y")), &rows).expect("nothing fails");
                assert_eq!(&computed(&made, &rows).expect("texts are truths"), &plain, "{failing}");
            }
        }
    }

    #[test]
    fn what_is_guarded_is_not_computed() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["true", "no truth"]));
        let guard: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
        let rows = RecordBatch::try_from_iter([("x", guard), ("text", texts)]).expect("two rows");
        let schema = DFSchema::try_from(rows.schema()).expect("names differ");
        let failing = and(col("x"), cast(col("text"), DataType::Boolean));
        assert!(computed(&failing, &rows).is_err());
        let made = lazy(failing.clone(), &schema).expect("types are known");
        let expected: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
        assert_eq!(&computed(&made, &rows).expect("the guard guards"), &expected);
        let conjuncts = vec![cast(col("text"), DataType::Boolean), col("x")];
        let made = lazy_conjunction(conjuncts, &schema).expect("types are known");
        let made = made.expect("there are conjuncts");
        assert_eq!(&computed(&made, &rows).expect("what is sure comes first"), &expected);
    }
}
