//! IS DISTINCT FROM and NULLIF.

use syntax::{AExpr, AExprKind, Literal, Node};

use crate::analyzer::Analyzer;
use crate::call::OperatorName;
use crate::error::{Location, Result, fault, location};
use crate::facts::oid;
use crate::tree::{Expression, ExpressionKind, OperatorRef, Test};

/// Whether NULL is written.
pub(crate) fn is_null(node: Node<'_>) -> bool {
    matches!(node, Node::AConst(constant) if constant.value() == Literal::Null)
}

impl<'t> Analyzer<'t, '_> {
    pub(super) fn is_distinct(
        &mut self,
        node: AExpr<'t>,
        left: Expression,
        right: Node<'t>,
    ) -> Result<Expression> {
        let at = location(node.location());
        let is_not = node.kind() == AExprKind::NotDistinct;
        if is_null(right) || left.is_null() && left.type_oid == oid::UNKNOWN {
            let value = if is_null(right) { left } else { self.expression(right)? };
            let test = if is_not { Test::Null } else { Test::NotNull };
            let kind = ExpressionKind::Test(test, Box::new(value));
            return Ok(Expression::new(kind, oid::BOOL, at));
        }
        let right = self.expression(right)?;
        let name = OperatorName::of(node.name());
        let both_rows = matches!(left.kind, ExpressionKind::Row(_))
            && matches!(right.kind, ExpressionKind::Row(_));
        let result = if both_rows {
            self.rows_distinct(name, left, right, at)?
        } else {
            self.one_distinct(name, left, right, at)?
        };
        Ok(if is_not { negated(result, at) } else { result })
    }

    fn one_distinct(
        &mut self,
        name: OperatorName<'_>,
        left: Expression,
        right: Expression,
        at: Location,
    ) -> Result<Expression> {
        let (row, pair, at) = self.equality(
            name,
            left,
            right,
            "IS DISTINCT FROM requires = operator to yield boolean",
            at,
        )?;
        Ok(Expression::new(ExpressionKind::Distinct(row, pair), oid::BOOL, at))
    }

    fn rows_distinct(
        &mut self,
        name: OperatorName<'_>,
        left: Expression,
        right: Expression,
        at: Location,
    ) -> Result<Expression> {
        let (ExpressionKind::Row(left), ExpressionKind::Row(right)) = (left.kind, right.kind)
        else {
            panic!("both are rows");
        };
        if left.len() != right.len() {
            return Err(fault("42601", at, "unequal number of entries in row expressions"));
        }
        let mut tests = Vec::new();
        for (left, right) in left.into_iter().zip(right) {
            tests.push(self.one_distinct(name, left, right, at)?);
        }
        if tests.is_empty() {
            let kind = ExpressionKind::Constant(crate::tree::Constant::Boolean(false));
            return Ok(Expression::new(kind, oid::BOOL, at));
        }
        Ok(Self::joined(tests, false, at))
    }

    pub(super) fn null_if(
        &mut self,
        node: AExpr<'t>,
        left: Expression,
        right: Node<'t>,
    ) -> Result<Expression> {
        let right = self.expression(right)?;
        let at = location(node.location());
        let name = OperatorName::of(node.name());
        let message = "NULLIF requires = operator to yield boolean";
        let (row, pair, at) = self.equality(name, left, right, message, at)?;
        let (type_oid, typmod, collation) = (pair[0].type_oid, pair[0].typmod, pair[0].collation);
        let kind = ExpressionKind::NullIf(row, pair);
        Ok(Expression::new(kind, type_oid, at).typmod(typmod).collation(collation))
    }

    /// An operator that is an equality, and its operands.
    fn equality(
        &mut self,
        name: OperatorName<'_>,
        left: Expression,
        right: Expression,
        message: &str,
        at: Location,
    ) -> Result<(OperatorRef, Box<[Expression; 2]>, Location)> {
        let operation = self.operate(name, Some(left), right, at)?;
        if operation.type_oid != oid::BOOL {
            return Err(fault("42804", at, message));
        }
        let at = operation.location;
        let (row, operands) = Self::operands(operation);
        let pair = <[Expression; 2]>::try_from(operands).expect("there are two");
        Ok((row, Box::new(pair), at))
    }
}

/// NOT of a condition.
pub(crate) fn negated(value: Expression, at: Location) -> Expression {
    Expression::new(ExpressionKind::Not(Box::new(value)), oid::BOOL, at)
}
