//! CASE.

use syntax::CaseExpr;

use crate::analyzer::Analyzer;
use crate::call::OperatorName;
use crate::error::{Location, Result, location};
use crate::facts::oid;
use crate::tree::{Expression, ExpressionKind};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn case(&mut self, case: CaseExpr<'t>) -> Result<Expression> {
        let met = self.here().sets_met;
        let operand = match case.arg() {
            Some(node) => {
                let value = self.expression(node)?;
                let is_unknown = value.type_oid == oid::UNKNOWN;
                Some(if is_unknown {
                    self.coerce_to_common(value, oid::TEXT, "CASE")?
                } else {
                    value
                })
            }
            None => None,
        };
        let (mut conditions, mut results) = (Vec::new(), Vec::new());
        for when in case.args().iter() {
            let node = when.expr().expect("WHEN has a condition");
            let condition = self.expression(node)?;
            let at = location(when.location());
            let condition = match &operand {
                Some(operand) => self.case_equality(operand, condition, at)?,
                None => condition,
            };
            conditions.push(self.boolean(condition, "CASE/WHEN")?);
            results.push(self.expression(when.result().expect("WHEN has a result"))?);
        }
        let otherwise = match case.defresult() {
            Some(node) => self.expression(node)?,
            None => Expression::null(oid::UNKNOWN),
        };
        // ELSE counts most for the type.
        let all = std::iter::once(&otherwise).chain(&results);
        let common = self.common_type(all, "CASE")?;
        let otherwise = self.coerce_to_common(otherwise, common, "CASE/ELSE")?;
        let results = results
            .into_iter()
            .map(|result| self.coerce_to_common(result, common, "CASE/WHEN"))
            .collect::<Result<Vec<_>>>()?;
        self.no_set_since(met, "CASE")?;
        let typmod = self.common_typmod(results.iter().chain([&otherwise]), common);
        let whens = conditions.into_iter().zip(results).collect();
        let operand = operand.map(Box::new);
        let kind = ExpressionKind::Case { operand, whens, otherwise: Box::new(otherwise) };
        let collation = self.collation_of(common);
        let at = location(case.location());
        Ok(Expression::new(kind, common, at).typmod(typmod).collation(collation))
    }

    /// The operand of CASE compared with what WHEN names.
    fn case_equality(
        &mut self,
        operand: &Expression,
        value: Expression,
        at: Location,
    ) -> Result<Expression> {
        let placeholder = Expression::new(ExpressionKind::CaseOperand, operand.type_oid, -1)
            .typmod(operand.typmod)
            .collation(operand.collation);
        self.operate(OperatorName::plain("="), Some(placeholder), value, at)
    }
}
