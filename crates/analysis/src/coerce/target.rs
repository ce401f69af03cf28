//! A value as one of a type and its modifier: casts that are written, assignments.

use super::value::Wish;
use crate::analyzer::Analyzer;
use crate::error::Result;
use crate::facts::Oid;
use crate::tree::{Expression, ExpressionKind};

impl Analyzer<'_, '_> {
    /// The value as one of a type with a modifier; `None` where there is no way.
    pub(crate) fn coerce_to(
        &mut self,
        value: Expression,
        target: Oid,
        typmod: i32,
        wish: Wish,
    ) -> Result<Option<Expression>> {
        if !self.can_coerce(value.type_oid, target, wish.context) {
            return Ok(None);
        }
        if let ExpressionKind::Collate(inner) = value.kind {
            let done = self.coerce_steps(*inner, target, typmod, wish)?;
            if self.collation_of(done.type_oid) == 0 {
                return Ok(Some(done));
            }
            let (type_oid, kept) = (done.type_oid, done.typmod);
            let kind = ExpressionKind::Collate(Box::new(done));
            let again = Expression::new(kind, type_oid, value.location).typmod(kept);
            return Ok(Some(again.collation(value.collation)));
        }
        self.coerce_steps(value, target, typmod, wish).map(Some)
    }

    fn coerce_steps(
        &mut self,
        value: Expression,
        target: Oid,
        typmod: i32,
        wish: Wish,
    ) -> Result<Expression> {
        let done = self.coerce(value, target, typmod, wish)?;
        self.coerce_typmod(done, target, typmod, wish)
    }
}
