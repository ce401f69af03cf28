//! Rows become rows of a composite type, column by column.

use super::value::Wish;
use crate::analyzer::Analyzer;
use crate::error::{Result, fault, leftmost};
use crate::facts::{CastContext, Oid, oid};
use crate::tree::{CastVia, Expression, ExpressionKind};

impl Analyzer<'_, '_> {
    pub(super) fn coerce_row(
        &mut self,
        value: Expression,
        target: Oid,
        wish: Wish,
    ) -> Result<Expression> {
        let source = value.type_oid;
        if target == oid::RECORD && self.is_composite(source) {
            return Ok(value);
        }
        if target == oid::RECORD_ARRAY && self.element(source).is_some() {
            return Ok(value);
        }
        if source == oid::RECORD && self.is_composite(target) {
            return self.record_to_row(value, target, wish);
        }
        if self.inherits(source, target) {
            return Ok(self.cast_by(value, CastVia::Row, target, -1, wish));
        }
        Err(self.no_way(source, target))
    }

    /// ROW(..) as a value of a composite type.
    fn record_to_row(&mut self, value: Expression, target: Oid, wish: Wish) -> Result<Expression> {
        let location = value.location;
        let cannot = |this: &Self, detail: String| {
            let message = format!("cannot cast type record to {}", this.type_words(target));
            let error = fault("42846", leftmost(location, wish.at), message);
            if detail.is_empty() { error } else { error.detail(detail) }
        };
        let ExpressionKind::Row(fields) = value.kind else {
            return Err(cannot(self, String::new()));
        };
        let relation = self.columns_of(target).ok_or_else(|| cannot(self, String::new()))?;
        let mut fields = fields.into_iter();
        let mut done = Vec::new();
        for (number, column) in relation.columns.iter().enumerate() {
            let Some(column) = column else {
                done.push(Expression::null(oid::INT4));
                continue;
            };
            let field = fields.next();
            let field =
                field.ok_or_else(|| cannot(self, "Input has too few columns.".to_owned()))?;
            let source = field.type_oid;
            let by_itself = Wish { context: wish.context, ..Wish::IMPLICIT };
            let cast = self.coerce_to(field, column.type_oid, column.typmod, by_itself)?;
            done.push(cast.ok_or_else(|| {
                let (from, to) = (self.type_words(source), self.type_words(column.type_oid));
                let number = number + 1;
                cannot(self, format!("Cannot cast type {from} to {to} in column {number}."))
            })?);
        }
        if fields.next().is_some() {
            return Err(cannot(self, "Input has too many columns.".to_owned()));
        }
        let base = self.base_type(target);
        let row = Expression::new(ExpressionKind::Row(done), base, location);
        let explicit = Wish { context: CastContext::Explicit.min(wish.context), ..wish };
        self.coerce_domain(row, base, -1, target, explicit)
    }
}
