//! `- interval '2 hours 30 seconds'`, whose sign DataFusion would put in front of the text, where it is that of the hours.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, UnaryOperator, VisitorMut};

/// Puts parentheses around the interval: the sign is that of its value.
pub struct Signs;

impl VisitorMut for Signs {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::UnaryOp { op: UnaryOperator::Minus, expr: interval } = expr
            && matches!(interval.as_ref(), Expr::Interval(_))
        {
            **interval = Expr::Nested(Box::new(interval.as_ref().clone()));
        }
        ControlFlow::Continue(())
    }
}
