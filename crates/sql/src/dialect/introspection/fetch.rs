//! `FETCH FIRST n ROWS ONLY` is LIMIT.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, LimitClause, Query, Value, VisitorMut};

/// Puts LIMIT in the place of FETCH; WITH TIES is left to `row_counts`, PERCENT for the planner to refuse.
pub struct Fetch;

impl VisitorMut for Fetch {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let plain = query.fetch.as_ref().is_some_and(|fetch| !fetch.with_ties && !fetch.percent);
        let offset = match &query.limit_clause {
            None => None,
            Some(LimitClause::LimitOffset { limit: None, offset, .. }) => offset.clone(),
            Some(_) => return ControlFlow::Continue(()),
        };
        if plain && let Some(fetch) = query.fetch.take() {
            let one = || Expr::value(Value::Number("1".to_owned(), false));
            let limit = Some(fetch.quantity.unwrap_or_else(one));
            query.limit_clause =
                Some(LimitClause::LimitOffset { limit, offset, limit_by: Vec::new() });
        }
        ControlFlow::Continue(())
    }
}
