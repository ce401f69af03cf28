//! Set-returning functions: where they may stand.

use crate::analyzer::Analyzer;
use crate::error::{Location, Result, fault};
use crate::place::Place;
use crate::tree::{Expression, ExpressionKind};

/// Whether a value is many: a set-returning function, at the top.
pub(crate) fn returns_set(value: &Expression) -> bool {
    matches!(&value.kind, ExpressionKind::Call { function, .. } if function.0.returns_set)
}

impl Analyzer<'_, '_> {
    /// Notes a set-returning function.
    ///
    /// # Errors
    /// 0A000 where it may not stand.
    pub(super) fn place_set(&mut self, met_before: usize, at: Location) -> Result<()> {
        let place = self.here().place;
        if let Some(words) = place.refuses_sets() {
            let message = format!("set-returning functions are not allowed {words}");
            return Err(fault("0A000", at, message));
        }
        if place == Place::FromFunction && self.here().sets_met != met_before {
            let message = "set-returning functions must appear at top level of FROM";
            return Err(fault("0A000", at, message));
        }
        self.level().sets_met += 1;
        self.level().last_set = at;
        self.level().has_sets |= place != Place::FromFunction;
        Ok(())
    }

    /// A set-returning function may not stand within CASE and COALESCE.
    ///
    /// # Errors
    /// 0A000 where one was met since.
    pub(crate) fn no_set_since(&self, met: usize, construct: &str) -> Result<()> {
        if self.here().sets_met == met {
            return Ok(());
        }
        let at = self.here().last_set;
        let message = format!("set-returning functions are not allowed in {construct}");
        Err(fault("0A000", at, message)
            .hint("You might be able to move the set-returning function into a LATERAL FROM item."))
    }
}
