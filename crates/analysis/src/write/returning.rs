//! RETURNING.

use syntax::ReturningClause;

use crate::analyzer::Analyzer;
use crate::error::{NOWHERE, Result, fault};
use crate::place::Place;
use crate::tree::Query;

impl<'t> Analyzer<'t, '_> {
    pub(super) fn returning(
        &mut self,
        clause: Option<ReturningClause<'t>>,
        query: &mut Query,
    ) -> Result<()> {
        let Some(clause) = clause else { return Ok(()) };
        query.has_returning = true;
        let mut targets = self.in_place(Place::Returning, |this| this.targets(clause.exprs()))?;
        if targets.is_empty() {
            let message = "RETURNING must have at least one column";
            return Err(fault("42601", NOWHERE, message));
        }
        self.resolve_unknown(&mut targets)?;
        query.returning = targets;
        Ok(())
    }
}
