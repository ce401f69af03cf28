//! BETWEEN.

use syntax::{AExpr, AExprKind, Node};

use crate::analyzer::Analyzer;
use crate::call::OperatorName;
use crate::error::{Result, location};
use crate::tree::Expression;

impl<'t> Analyzer<'t, '_> {
    pub(super) fn between(
        &mut self,
        node: AExpr<'t>,
        value: Expression,
        bounds: Node<'t>,
    ) -> Result<Expression> {
        let Node::List(bounds) = bounds else { panic!("BETWEEN has two bounds") };
        let at = location(node.location());
        let mut bounds = bounds.iter();
        let mut bound = || bounds.next().expect("BETWEEN has two bounds");
        let (low, high) = (bound(), bound());
        let pair = |this: &mut Self, low, high, names: [&str; 2], is_and| {
            let mut tests = Vec::new();
            for (name, bound) in names.into_iter().zip([low, high]) {
                let bound = this.expression(bound)?;
                let name = OperatorName::plain(name);
                let test = this.operate(name, Some(value.clone()), bound, at)?;
                tests.push(this.boolean(test, if is_and { "AND" } else { "OR" })?);
            }
            Ok(Self::joined(tests, is_and, at))
        };
        const WITHIN: [&str; 2] = [">=", "<="];
        const OUTSIDE: [&str; 2] = ["<", ">"];
        match node.kind() {
            AExprKind::Between => pair(self, low, high, WITHIN, true),
            AExprKind::NotBetween => pair(self, low, high, OUTSIDE, false),
            AExprKind::BetweenSym => {
                let one = pair(self, low, high, WITHIN, true)?;
                let other = pair(self, high, low, WITHIN, true)?;
                Ok(Self::joined(vec![one, other], false, at))
            }
            _ => {
                let one = pair(self, low, high, OUTSIDE, false)?;
                let other = pair(self, high, low, OUTSIDE, false)?;
                Ok(Self::joined(vec![one, other], true, at))
            }
        }
    }
}
