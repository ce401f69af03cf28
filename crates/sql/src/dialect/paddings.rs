//! `octet_length` of a column of `char(n)` counts the blanks up to its length, which values are kept without.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::functions::unicode::expr_fn::character_length;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, lit};
use engine::types::DataType;

use crate::template::origin;

const NAME: &str = "octet_length";

/// Adds the blanks, everywhere in a plan that is not analyzed yet.
pub fn count_paddings(plan: LogicalPlan) -> Result<LogicalPlan> {
    let counted = plan.transform_down_with_subqueries(|node| {
        let inputs: Vec<LogicalPlan> = match asks(&node)? {
            true => node.inputs().into_iter().cloned().collect(),
            false => return Ok(Transformed::no(node)),
        };
        let preserver = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = preserver.save(&expr);
            let counted = expr.transform_up(|expr| Ok(counted(expr, &inputs)))?;
            Ok(counted.update_data(|expr| name.restore(expr)))
        })
    })?;
    Ok(counted.data)
}

fn asks(node: &LogicalPlan) -> Result<bool> {
    let mut asks = false;
    node.apply_expressions(|expr| {
        asks |= expr.exists(|expr| Ok(of_column(expr).is_some()))?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(asks)
}

fn of_column(expr: &Expr) -> Option<&Column> {
    match expr {
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == NAME => {
            match args.as_slice() {
                [Expr::Column(column)] => Some(column),
                _ => None,
            }
        }
        _ => None,
    }
}

fn counted(expr: Expr, inputs: &[LogicalPlan]) -> Transformed<Expr> {
    let Some(column) = of_column(&expr) else { return Transformed::no(expr) };
    match inputs.iter().find_map(|input| length(input, column)) {
        Some(length) => {
            let blanks = lit(length) - character_length(Expr::Column(column.clone()));
            Transformed::yes(expr + blanks)
        }
        None => Transformed::no(expr),
    }
}

/// The length of a column of `char(n)`.
fn length(input: &LogicalPlan, column: &Column) -> Option<i32> {
    let index = input.schema().maybe_index_of_column(column)?;
    match origin(input, index)?.data_type {
        DataType::Char(length) => i32::try_from(length).ok(),
        _ => None,
    }
}
