//! The second step of a cast: the length or precision of a type.

use super::value::Wish;
use crate::analyzer::Analyzer;
use crate::error::Result;
use crate::facts::{CastMethod, Oid, cast, function};
use crate::tree::{CastVia, Expression, ExpressionKind, FunctionRef};

impl Analyzer<'_, '_> {
    /// A value of a type as one with a modifier.
    pub(crate) fn coerce_typmod(
        &mut self,
        value: Expression,
        target: Oid,
        typmod: i32,
        wish: Wish,
    ) -> Result<Expression> {
        if typmod < 0 || typmod == value.typmod {
            return Ok(value);
        }
        let is_array = self.element(target).is_some();
        let element = self.element(target).unwrap_or(target);
        let length = cast(element, element).map(|row| row.method);
        if let Some(CastMethod::Function(oid)) = length {
            let row = function(oid).expect("casts' functions are in the tables");
            let via = CastVia::Function(FunctionRef(row));
            let via = if is_array { CastVia::Elements(Box::new(via)) } else { via };
            let collation = value.collation;
            return Ok(self.cast_by(value, via, target, typmod, wish).collation(collation));
        }
        // A literal of an interval has its modifier already.
        if matches!(value.kind, ExpressionKind::Constant(_)) {
            return Ok(value.typmod(typmod));
        }
        Ok(self.relabel(value, target, wish).typmod(typmod))
    }
}
