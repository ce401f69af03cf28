//! `CURRENT_ROLE`, which the parser takes for a column: the word is reserved, so it is the function wherever it stands unquoted.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, VisitorMut};

use super::calls::word;

/// The word.
pub const NAME: &str = "current_role";

/// Makes calls of it.
pub struct CurrentRole;

impl VisitorMut for CurrentRole {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && name.quote_style.is_none()
            && name.value.eq_ignore_ascii_case(NAME)
        {
            *expr = word(NAME);
        }
        ControlFlow::Continue(())
    }
}
