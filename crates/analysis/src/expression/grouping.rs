//! GROUPING(..).

use syntax::GroupingFunc;

use crate::analyzer::Analyzer;
use crate::error::{Result, fault, location};
use crate::facts::oid;
use crate::tree::{Expression, ExpressionKind};

/// Arguments at most.
const MOST: usize = 31;

impl<'t> Analyzer<'t, '_> {
    pub(super) fn grouping(&mut self, node: GroupingFunc<'t>) -> Result<Expression> {
        let at = location(node.location());
        if node.args().len() > MOST {
            let message = format!("GROUPING must have fewer than {} arguments", MOST + 1);
            return Err(fault("54023", at, message));
        }
        let arguments = self.each(node.args())?;
        let levels = self.grouping_level(&arguments, at)?;
        Ok(Expression::new(ExpressionKind::Grouping { arguments, levels }, oid::INT4, at))
    }
}
