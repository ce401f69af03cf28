//! Arguments with names.

use syntax::NamedArgExpr;

use crate::analyzer::Analyzer;
use crate::error::{Result, location};
use crate::tree::{Expression, ExpressionKind};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn named_argument(&mut self, argument: NamedArgExpr<'t>) -> Result<Expression> {
        let node = argument.arg().expect("an argument has a value");
        let value = self.expression(node)?;
        let (type_oid, typmod, collation) = (value.type_oid, value.typmod, value.collation);
        let name = argument.name().unwrap_or_default().into();
        let kind = ExpressionKind::Named(name, 0, Box::new(value));
        let at = location(argument.location());
        Ok(Expression::new(kind, type_oid, at).typmod(typmod).collation(collation))
    }
}
