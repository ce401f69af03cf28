//! Texts beside intervals: an untyped literal or parameter that is compared with an interval is one, too.

use datafusion::common::DFSchema;
use datafusion::logical_expr::expr::{Between, InList};
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, ExprSchemable};

use super::{is_comparison, is_of_intervals};
use crate::catalog::types::is_string;
use crate::dialect::intervals::INTERVAL;

/// The comparison with its texts as intervals; `None` where there are none beside an interval.
pub fn read_as_intervals(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let operands: Vec<&Expr> = match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            vec![left, right]
        }
        Expr::Between(Between { expr, low, high, .. }) => vec![expr, low, high],
        Expr::InList(InList { expr, list, .. }) => std::iter::once(&**expr).chain(list).collect(),
        _ => return None,
    };
    let has_text = operands.iter().any(|operand| is_untyped(operand, schema));
    if !has_text || !operands.iter().any(|operand| is_of_intervals(operand, schema)) {
        return None;
    }
    Some(with_operands(expr.clone(), &|operand| match is_untyped(&operand, schema) {
        true => Expr::Cast(Cast::new(Box::new(operand), INTERVAL)),
        false => operand,
    }))
}

fn is_untyped(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr, Expr::Literal(..) | Expr::Placeholder(_))
        && expr.get_type(schema).is_ok_and(|data_type| is_string(&data_type))
}

fn with_operands(expr: Expr, change: &dyn Fn(Expr) -> Expr) -> Expr {
    let boxed = |operand: Box<Expr>| Box::new(change(*operand));
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            Expr::BinaryExpr(BinaryExpr::new(boxed(left), op, boxed(right)))
        }
        Expr::Between(Between { expr, negated, low, high }) => {
            Expr::Between(Between::new(boxed(expr), negated, boxed(low), boxed(high)))
        }
        Expr::InList(InList { expr, list, negated }) => {
            let list = list.into_iter().map(change).collect();
            Expr::InList(InList::new(boxed(expr), list, negated))
        }
        other => other,
    }
}
