//! Domains: a value of the base whose constraints are checked.

use super::value::Wish;
use crate::analyzer::Analyzer;
use crate::error::{Result, leftmost};
use crate::facts::{CastContext, Oid};
use crate::tree::{CastVia, Expression, ExpressionKind};

impl Analyzer<'_, '_> {
    /// A value of a base as one of a domain over it; any other type leaves the value.
    pub(crate) fn coerce_domain(
        &mut self,
        value: Expression,
        base: Oid,
        base_typmod: i32,
        target: Oid,
        wish: Wish,
    ) -> Result<Expression> {
        if base == target || !self.is_domain(target) {
            return Ok(value);
        }
        let by_itself = Wish { context: CastContext::Explicit.min(wish.context), ..Wish::IMPLICIT };
        let value = self.coerce_typmod(value, base, base_typmod, by_itself)?;
        let location = leftmost(wish.at, value.location);
        let kind = ExpressionKind::Cast {
            via: CastVia::Domain,
            form: wish.form,
            context: wish.context,
            operand: Box::new(value),
        };
        let collation = self.collation_of(target);
        Ok(Expression::new(kind, target, location).typmod(-1).collation(collation))
    }
}
