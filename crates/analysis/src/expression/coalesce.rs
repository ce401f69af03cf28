//! COALESCE, GREATEST, LEAST.

use syntax::{CoalesceExpr, MinMaxExpr, MinMaxOp, Nodes};

use crate::analyzer::Analyzer;
use crate::error::{Result, location};
use crate::tree::{Expression, ExpressionKind};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn coalesce(&mut self, node: CoalesceExpr<'t>) -> Result<Expression> {
        let met = self.here().sets_met;
        let arguments = self.each(node.args())?;
        let (arguments, common) = self.coerce_all_to_common(arguments, "COALESCE")?;
        self.no_set_since(met, "COALESCE")?;
        let typmod = self.common_typmod(arguments.iter(), common);
        let collation = self.collation_of(common);
        let kind = ExpressionKind::Coalesce(arguments);
        let at = location(node.location());
        Ok(Expression::new(kind, common, at).typmod(typmod).collation(collation))
    }

    pub(super) fn extreme(&mut self, node: MinMaxExpr<'t>) -> Result<Expression> {
        let is_greatest = node.op() == MinMaxOp::Greatest;
        let name = if is_greatest { "GREATEST" } else { "LEAST" };
        let arguments = self.each(node.args())?;
        let (arguments, common) = self.coerce_all_to_common(arguments, name)?;
        let typmod = self.common_typmod(arguments.iter(), common);
        let collation = self.collation_of(common);
        let kind = ExpressionKind::Extreme { is_greatest, arguments };
        let at = location(node.location());
        Ok(Expression::new(kind, common, at).typmod(typmod).collation(collation))
    }

    /// Expressions of a list.
    pub(crate) fn each(&mut self, nodes: Nodes<'t>) -> Result<Vec<Expression>> {
        nodes.iter().map(|node| self.expression(node)).collect()
    }
}
