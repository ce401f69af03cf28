//! Groups without keys that the planner does not see: `GROUP BY ()`, and HAVING where nothing else makes a group.
//!
//! Beside other keys `()` adds nothing. Alone it makes one group of all rows, of none too, as an aggregate without GROUP BY does: a
//! SELECT without one gets a condition on an aggregate that always holds.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, Query, Select, VisitMut, VisitorMut,
};

use super::introspection::plain_name;
use crate::statement::expression;

/// Holds of every group.
const ALWAYS: &str = "count(*) >= 0";

/// Puts groups without keys in the planner's words; `is_aggregate` knows aggregates by their names.
pub fn make_groups(query: &mut Query, is_aggregate: &dyn Fn(&str) -> bool) {
    let _ = VisitMut::visit(query, &mut Groups { is_aggregate });
}

struct Groups<'a> {
    is_aggregate: &'a dyn Fn(&str) -> bool,
}

impl VisitorMut for Groups<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let GroupByExpr::Expressions(keys, _) = &mut select.group_by else {
            return ControlFlow::Continue(());
        };
        let before = keys.len();
        keys.retain(|key| !matches!(key, Expr::Tuple(columns) if columns.is_empty()));
        let is_group = keys.is_empty() && (before > 0 || select.having.is_some());
        if is_group && !self.aggregates(select) {
            let always = expression::parse(ALWAYS).ok();
            select.having = match (select.having.take(), always) {
                (Some(having), Some(always)) => Some(both(having, always)),
                (having, always) => having.or(always),
            };
        }
        ControlFlow::Continue(())
    }
}

impl Groups<'_> {
    /// Whether the SELECT calls an aggregate outside its subqueries.
    fn aggregates(&self, select: &mut Select) -> bool {
        let mut calls = Calls { is_aggregate: self.is_aggregate, depth: 0 };
        VisitMut::visit(&mut select.projection, &mut calls).is_break()
            || VisitMut::visit(&mut select.having, &mut calls).is_break()
    }
}

fn both(left: Expr, right: Expr) -> Expr {
    let left = Expr::Nested(Box::new(left));
    Expr::BinaryOp { left: Box::new(left), op: BinaryOperator::And, right: Box::new(right) }
}

/// Breaks off at a call of an aggregate.
struct Calls<'a> {
    is_aggregate: &'a dyn Fn(&str) -> bool,
    depth: usize,
}

impl VisitorMut for Calls<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(call)
                if self.depth == 0
                    && call.over.is_none()
                    && (self.is_aggregate)(&plain_name(call)) =>
            {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}
