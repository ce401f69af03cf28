//! Arguments are cast to what the function or operator declares.

use crate::analyzer::Analyzer;
use crate::coerce::Wish;
use crate::error::Result;
use crate::facts::Oid;
use crate::tree::{Expression, ExpressionKind};

impl Analyzer<'_, '_> {
    /// Arguments as ones of the declared types.
    pub(super) fn cast_arguments(
        &mut self,
        arguments: Vec<Expression>,
        declared: &[Oid],
    ) -> Result<Vec<Expression>> {
        let mut done = Vec::with_capacity(arguments.len());
        for (at, argument) in arguments.into_iter().enumerate() {
            let declared = declared.get(at).copied().unwrap_or(argument.type_oid);
            done.push(self.cast_argument(argument, declared)?);
        }
        Ok(done)
    }

    fn cast_argument(&mut self, argument: Expression, declared: Oid) -> Result<Expression> {
        if argument.type_oid == declared {
            return Ok(argument);
        }
        if let ExpressionKind::Named(name, place, inner) = argument.kind {
            let inner = self.coerce(*inner, declared, -1, Wish::IMPLICIT)?;
            let (type_oid, collation) = (inner.type_oid, inner.collation);
            let kind = ExpressionKind::Named(name, place, Box::new(inner));
            return Ok(Expression::new(kind, type_oid, argument.location).collation(collation));
        }
        self.coerce(argument, declared, -1, Wish::IMPLICIT)
    }
}
