//! AND, OR, NOT.

use syntax::{BoolExpr, BoolExprType};

use crate::analyzer::Analyzer;
use crate::error::{Result, location};
use crate::facts::oid;
use crate::tree::{Expression, ExpressionKind};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn logic(&mut self, node: BoolExpr<'t>) -> Result<Expression> {
        let word = match node.boolop() {
            BoolExprType::And => "AND",
            BoolExprType::Or => "OR",
            BoolExprType::Not => "NOT",
        };
        let mut arguments = Vec::with_capacity(node.args().len());
        for argument in node.args().iter() {
            let value = self.expression(argument)?;
            arguments.push(self.boolean(value, word)?);
        }
        let first = arguments.first().map_or(-1, |argument| argument.location);
        let at = crate::error::leftmost(location(node.location()), first);
        let kind = match node.boolop() {
            BoolExprType::And => ExpressionKind::And(arguments),
            BoolExprType::Or => ExpressionKind::Or(arguments),
            BoolExprType::Not => ExpressionKind::Not(Box::new(arguments.remove(0))),
        };
        Ok(Expression::new(kind, oid::BOOL, at))
    }

    /// Several conditions as one.
    pub(crate) fn joined(conditions: Vec<Expression>, is_and: bool, at: i32) -> Expression {
        let mut conditions = conditions;
        if conditions.len() == 1 {
            return conditions.remove(0);
        }
        let at = conditions.iter().fold(at, |at, one| crate::error::leftmost(at, one.location));
        let kind =
            if is_and { ExpressionKind::And(conditions) } else { ExpressionKind::Or(conditions) };
        Expression::new(kind, oid::BOOL, at)
    }
}
