//! Whole numbers that stay in the statement are integers where they fit, as PostgreSQL reads them: DataFusion would read
//! bigints, and so would be whatever is computed of them.
//!
//! Only where a number is computed with, or is an item of a SELECT: elsewhere it may be a position, a count, or an argument
//! that a function wants to see.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Select, SelectItem, Statement, UnaryOperator, Value, VisitMut, VisitorMut,
};

/// The statement with such numbers cast.
pub fn type_integers(statement: &mut Statement) {
    let _ = VisitMut::visit(statement, &mut Integers);
}

struct Integers;

impl VisitorMut for Integers {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr) = item {
                type_integer(expr);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::BinaryOp { left, op, right } if is_arithmetic(op) => {
                type_integer(left);
                type_integer(right);
            }
            Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => {
                type_integer(expr);
            }
            Expr::Case { conditions, else_result, .. } => {
                conditions.iter_mut().for_each(|arm| type_integer(&mut arm.result));
                else_result.iter_mut().for_each(|result| type_integer(result));
            }
            Expr::Array(array) => array.elem.iter_mut().for_each(type_integer),
            Expr::Function(function) if computes(function) => {
                if let FunctionArguments::List(list) = &mut function.args {
                    for argument in &mut list.args {
                        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument {
                            type_integer(expr);
                        }
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn is_arithmetic(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Divide, Minus, Modulo, Multiply, Plus};
    matches!(op, Plus | Minus | Multiply | Divide | Modulo)
}

/// Functions whose result is of their arguments' type, or depends on it.
fn computes(function: &Function) -> bool {
    let name = function.name.0.last().and_then(|part| part.as_ident());
    name.is_some_and(|name| {
        matches!(
            name.value.to_ascii_lowercase().as_str(),
            "abs"
                | "mod"
                | "coalesce"
                | "nullif"
                | "greatest"
                | "least"
                | "min"
                | "max"
                | "sum"
                | "avg"
                | "array_agg"
                | "to_hex"
                | "gcd"
                | "lcm"
        )
    })
}

fn type_integer(expr: &mut Expr) {
    let is_integer = match &*expr {
        Expr::Value(value) => {
            matches!(&value.value, Value::Number(text, _) if text.parse::<i32>().is_ok())
        }
        other => is_least(other),
    };
    if is_integer {
        *expr = Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(expr.clone()),
            data_type: DataType::Integer(None),
            array: false,
            format: None,
        };
    }
}

/// `-2147483648`, whose digits alone are a bigint.
fn is_least(expr: &Expr) -> bool {
    let Expr::UnaryOp { op: UnaryOperator::Minus, expr } = expr else { return false };
    let Expr::Value(value) = &**expr else { return false };
    matches!(&value.value, Value::Number(text, _) if text.parse() == Ok(1_u32 << 31))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::parse;

    #[test]
    fn what_is_computed_with_is_an_integer() {
        let mut statement = parse(
            "SELECT a + 1, sum(2), round(b, 3), lag(c, 1) OVER (ORDER BY 4 ROWS 5 PRECEDING) \
             FROM t GROUP BY 1, a % 6 ORDER BY 7",
        );
        let statement = &mut statement.as_mut().expect("parses")[0];
        type_integers(statement);
        assert_eq!(
            statement.to_string(),
            "SELECT a + CAST(1 AS INTEGER), sum(CAST(2 AS INTEGER)), round(b, 3), lag(c, 1) OVER \
             (ORDER BY 4 ROWS 5 PRECEDING) FROM t GROUP BY 1, a % CAST(6 AS INTEGER) ORDER BY 7"
        );
    }
}
