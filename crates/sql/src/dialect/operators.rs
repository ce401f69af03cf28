//! Operators and COLLATE that the planner does not know: what PostgreSQL's prefix operators compute has functions, and its collations by
//! bytes are ours.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, ExactNumberInfo, Expr, Ident, ObjectName, Select, SelectItem,
    UnaryOperator, VisitorMut,
};

use super::bits::NOT;
use super::introspection::call;

/// Collations that compare byte by byte.
const BY_BYTES: &[&str] = &["c", "posix", "default", "ucs_basic"];

/// Letters of which one is in every text that has something to rewrite.
pub const LETTERS: &[&str] = &["~", "|/", "@", "collate"];

/// Rewrites them.
pub struct Operators;

impl VisitorMut for Operators {
    type Break = ();

    /// What an operator computes has no name.
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && is_operation(expr)
            {
                let alias = Ident::with_quote('"', "?column?");
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::UnaryOp { op, expr: operand } => {
                if let Some(called) = called(*op, operand) {
                    *expr = called;
                }
            }
            Expr::Collate { expr: inner, collation } if is_by_bytes(collation) => {
                *expr = (**inner).clone();
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn is_operation(expr: &Expr) -> bool {
    use UnaryOperator::{BitwiseNot, PGAbs, PGCubeRoot, PGSquareRoot};
    match expr {
        Expr::UnaryOp { op, .. } => matches!(op, BitwiseNot | PGAbs | PGCubeRoot | PGSquareRoot),
        Expr::Nested(inner) => is_operation(inner),
        _ => false,
    }
}

fn called(op: UnaryOperator, operand: &Expr) -> Option<Expr> {
    let root = |name| call(name, vec![double(operand)]);
    Some(match op {
        UnaryOperator::PGSquareRoot => root("sqrt"),
        UnaryOperator::PGCubeRoot => root("cbrt"),
        UnaryOperator::PGAbs => call("abs", vec![operand.clone()]),
        UnaryOperator::BitwiseNot => call(NOT, vec![operand.clone()]),
        _ => return None,
    })
}

fn double(operand: &Expr) -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(operand.clone()),
        data_type: DataType::Double(ExactNumberInfo::None),
        array: false,
        format: None,
    }
}

fn is_by_bytes(collation: &ObjectName) -> bool {
    let last = collation.0.last().and_then(|part| part.as_ident());
    last.is_some_and(|name| BY_BYTES.iter().any(|known| name.value.eq_ignore_ascii_case(known)))
}
