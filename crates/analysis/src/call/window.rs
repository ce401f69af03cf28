//! Calls of window functions, and of aggregates over windows.

use syntax::WindowDef;

use super::function::Written;
use crate::analyzer::Analyzer;
use crate::error::{Location, Result, fault};
use crate::facts::{FunctionKind, FunctionRow, Oid};
use crate::tree::{Expression, ExpressionKind, FunctionRef, WindowCall};

impl<'t> Analyzer<'t, '_> {
    #[allow(clippy::too_many_arguments, reason = "a call's parts, once")]
    pub(super) fn window_call(
        &mut self,
        row: &'static FunctionRow,
        arguments: Vec<Expression>,
        result: Oid,
        written: Written<'t>,
        over: WindowDef<'t>,
        name: &str,
        at: Location,
    ) -> Result<Expression> {
        let is_aggregate = row.kind == FunctionKind::Aggregate;
        if written.is_distinct {
            let message = "DISTINCT is not implemented for window functions";
            return Err(fault("0A000", at, message));
        }
        if is_aggregate {
            self.check_star(&arguments, &written, name, at)?;
        }
        if written.is_ordered {
            let message = "aggregate ORDER BY is not implemented for window functions";
            return Err(fault("0A000", at, message));
        }
        if written.filter.is_some() && !is_aggregate {
            let message = "FILTER is not implemented for non-aggregate window functions";
            return Err(fault("0A000", at, message));
        }
        let filter = self.filter(written.filter)?;
        if let Some(at) = Self::set_within(&arguments.iter().collect::<Vec<_>>()) {
            let message = "window function calls cannot contain set-returning function calls";
            return Err(fault("0A000", at, message).hint(
                "You might be able to move the set-returning function into a LATERAL FROM item.",
            ));
        }
        if row.returns_set {
            return Err(fault("42P13", at, "window functions cannot return sets"));
        }
        let values: Vec<&Expression> = arguments.iter().chain(&filter).collect();
        if let Some(at) = Self::window_within(&values) {
            return Err(fault("42P20", at, "window function calls cannot be nested"));
        }
        if let Some(words) = self.here().place.refuses_windows() {
            let message = format!("window functions are not allowed {words}");
            return Err(fault("42P20", at, message));
        }
        let window = self.window_place(over)?;
        self.level().has_windows = true;
        let call = WindowCall {
            function: FunctionRef(row),
            arguments,
            filter: filter.map(Box::new),
            window,
        };
        let collation = self.collation_of(result);
        let kind = ExpressionKind::Window(Box::new(call));
        Ok(Expression::new(kind, result, at).collation(collation))
    }

    /// The place of a window among the query's; one that is written in the call is added.
    fn window_place(&mut self, over: WindowDef<'t>) -> Result<usize> {
        let at = crate::error::location(over.location());
        if let Some(name) = over.name() {
            let found = self.here().windows.iter().position(|window| window.name() == Some(name));
            return found
                .ok_or_else(|| fault("42704", at, format!("window \"{name}\" does not exist")));
        }
        let windows = &mut self.level().windows;
        windows.push(over);
        Ok(windows.len() - 1)
    }
}
