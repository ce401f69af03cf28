//! Windows: frames that cannot be, and names that are given twice or say again what they had said.

use datafusion::sql::sqlparser::ast::{
    Expr, NamedWindowDefinition, NamedWindowExpr, UnaryOperator, WindowFrameBound,
    WindowFrameUnits, WindowSpec,
};
use engine::types::{Result, SqlState};

use super::Analysis;
use crate::template::fold;

impl Analysis<'_> {
    /// A window's frame.
    pub(super) fn frame(
        &self,
        window: &WindowSpec,
        windows: &[NamedWindowDefinition],
    ) -> Result<()> {
        use WindowFrameBound::{CurrentRow, Following, Preceding};
        let Some(frame) = &window.window_frame else { return Ok(()) };
        let end = frame.end_bound.as_ref().unwrap_or(&CurrentRow);
        let fault = |message: &str| Err(self.words.fault(SqlState::WindowingError, message, None));
        match (&frame.start_bound, end) {
            (Following(None), _) => return fault("frame start cannot be UNBOUNDED FOLLOWING"),
            (_, Preceding(None)) => return fault("frame end cannot be UNBOUNDED PRECEDING"),
            (CurrentRow, Preceding(_)) => {
                return fault("frame starting from current row cannot have preceding rows");
            }
            (Following(_), CurrentRow | Preceding(_)) => {
                return fault("frame starting from following row cannot have preceding rows");
            }
            _ => {}
        }
        let has_offset =
            |bound: &WindowFrameBound| matches!(bound, Following(Some(_)) | Preceding(Some(_)));
        let offset = has_offset(&frame.start_bound) || has_offset(end);
        let keys = keys(window, windows);
        if frame.units == WindowFrameUnits::Range && offset && keys != 1 {
            return fault(
                "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column",
            );
        }
        if frame.units == WindowFrameUnits::Groups && keys == 0 {
            return fault("GROUPS mode requires an ORDER BY clause");
        }
        for (bound, word) in [(&frame.start_bound, "starting"), (end, "ending")] {
            if let Following(Some(offset)) | Preceding(Some(offset)) = bound
                && frame.units != WindowFrameUnits::Range
                && is_negative(offset)
            {
                let message = format!("frame {word} offset must not be negative");
                return Err(self.words.fault(SqlState::InvalidFrameOffset, message, None));
            }
        }
        Ok(())
    }

    /// The windows of a WINDOW clause.
    pub(super) fn named_windows(&self, windows: &[NamedWindowDefinition]) -> Result<()> {
        for (at, NamedWindowDefinition(name, _)) in windows.iter().enumerate() {
            let folded = fold(name);
            if windows[..at].iter().any(|NamedWindowDefinition(before, _)| fold(before) == folded) {
                let message = format!("window \"{folded}\" is already defined");
                let at = self.words.name(name).and_then(|at| self.words.after(at, &["("]));
                return Err(self.words.fault(SqlState::WindowingError, message, at));
            }
        }
        Ok(())
    }

    /// A window that builds on a named one may only add what that one has not.
    pub(super) fn built_on(
        &self,
        window: &WindowSpec,
        windows: &[NamedWindowDefinition],
    ) -> Result<()> {
        let Some(base) = &window.window_name else { return Ok(()) };
        let name = fold(base);
        let found = windows.iter().find(|NamedWindowDefinition(known, _)| fold(known) == name);
        let clause = match found {
            _ if !window.partition_by.is_empty() => "PARTITION BY",
            Some(NamedWindowDefinition(_, NamedWindowExpr::WindowSpec(base)))
                if !window.order_by.is_empty() && !base.order_by.is_empty() =>
            {
                "ORDER BY"
            }
            _ => return Ok(()),
        };
        let message = format!("cannot override {clause} clause of window \"{name}\"");
        let at = self.words.name(base).and_then(|at| self.words.before(at));
        Err(self.words.fault(SqlState::WindowingError, message, at))
    }
}

/// By how many columns a window is ordered.
fn keys(window: &WindowSpec, windows: &[NamedWindowDefinition]) -> usize {
    let base = window.window_name.as_ref().and_then(|base| {
        windows.iter().find_map(|NamedWindowDefinition(name, spec)| match spec {
            NamedWindowExpr::WindowSpec(spec) if fold(name) == fold(base) => Some(spec),
            _ => None,
        })
    });
    match base {
        Some(base) if window.order_by.is_empty() => keys(base, windows),
        _ => window.order_by.len(),
    }
}

fn is_negative(offset: &Expr) -> bool {
    matches!(offset, Expr::UnaryOp { op: UnaryOperator::Minus, .. })
}
