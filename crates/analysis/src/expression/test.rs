//! IS NULL, IS TRUE and the like.

use syntax::{BoolTestType, BooleanTest, NullTest, NullTestType};

use crate::analyzer::Analyzer;
use crate::error::{Result, leftmost, location};
use crate::facts::oid;
use crate::tree::{Expression, ExpressionKind, Test};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn null_test(node: NullTest<'t>, value: Expression) -> Expression {
        let test = match node.nulltesttype() {
            NullTestType::IsNull => Test::Null,
            NullTestType::IsNotNull => Test::NotNull,
        };
        let at = leftmost(location(node.location()), value.location);
        Expression::new(ExpressionKind::Test(test, Box::new(value)), oid::BOOL, at)
    }

    pub(super) fn boolean_test(
        &mut self,
        node: BooleanTest<'t>,
        value: Expression,
    ) -> Result<Expression> {
        let (test, clause) = match node.booltesttype() {
            BoolTestType::IsTrue => (Test::True, "IS TRUE"),
            BoolTestType::IsNotTrue => (Test::NotTrue, "IS NOT TRUE"),
            BoolTestType::IsFalse => (Test::False, "IS FALSE"),
            BoolTestType::IsNotFalse => (Test::NotFalse, "IS NOT FALSE"),
            BoolTestType::IsUnknown => (Test::Unknown, "IS UNKNOWN"),
            BoolTestType::IsNotUnknown => (Test::NotUnknown, "IS NOT UNKNOWN"),
        };
        let value = self.boolean(value, clause)?;
        let at = leftmost(location(node.location()), value.location);
        Ok(Expression::new(ExpressionKind::Test(test, Box::new(value)), oid::BOOL, at))
    }
}
