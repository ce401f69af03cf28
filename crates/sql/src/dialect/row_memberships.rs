//! `(a, b) IN (SELECT ..)` as a condition, which the planner does not know.
//!
//! It becomes `EXISTS (SELECT 1 FROM (SELECT ..) AS __row (c1, c2) WHERE c1 = a AND c2 = b)`: neither of them is true for a row in which the
//! other is not. So it is rewritten where only truth counts: in WHERE and HAVING, and below AND there. Elsewhere it stays for the planner to refuse.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Query, Select, SetExpr, Statement, TableFactor, VisitorMut,
};

use crate::statement::expression;

/// Rewrites them.
pub struct RowMemberships;

impl VisitorMut for RowMemberships {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<()> {
        match statement {
            Statement::Update(update) => update.selection.iter_mut().for_each(settle),
            Statement::Delete(delete) => delete.selection.iter_mut().for_each(settle),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        select.selection.iter_mut().chain(&mut select.having).for_each(settle);
        ControlFlow::Continue(())
    }
}

fn settle(condition: &mut Expr) {
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            settle(left);
            settle(right);
        }
        Expr::Nested(inner) => settle(inner),
        Expr::InSubquery { expr, subquery, negated: false } => {
            if let Expr::Tuple(row) = &**expr
                && let Some(exists) = exists(row, subquery)
            {
                *condition = exists;
            }
        }
        _ => {}
    }
}

fn exists(row: &[Expr], subquery: &Query) -> Option<Expr> {
    let columns: Vec<_> = (1..=row.len()).map(|number| format!("c{number}")).collect();
    let equal: Vec<_> = columns.iter().map(|column| format!("__row.{column} = 0")).collect();
    let (columns, equal) = (columns.join(", "), equal.join(" AND "));
    let text = format!("EXISTS (SELECT 1 FROM (SELECT 0) AS __row ({columns}) WHERE {equal})");
    let mut exists = expression::parse(&text).ok()?;
    let Expr::Exists { subquery: around, .. } = &mut exists else { return None };
    let SetExpr::Select(select) = &mut *around.body else { return None };
    let TableFactor::Derived { subquery: from, .. } = &mut select.from.first_mut()?.relation else {
        return None;
    };
    **from = subquery.clone();
    let mut values = row.iter().rev();
    give(select.selection.as_mut()?, &mut values);
    Some(exists)
}

/// Puts the row's values in the places of the right sides, from the last to the first.
fn give<'a>(condition: &mut Expr, values: &mut impl Iterator<Item = &'a Expr>) {
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            give(right, values);
            give(left, values);
        }
        Expr::BinaryOp { right, .. } => {
            if let Some(value) = values.next() {
                **right = value.clone();
            }
        }
        _ => {}
    }
}
