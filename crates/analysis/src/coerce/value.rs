//! A value of a type becomes one of another.

use crate::analyzer::Analyzer;
use crate::error::{Location, NOWHERE, Result, fault, leftmost};
use crate::facts::{CastContext, Oid, oid};
use crate::tree::{CastForm, CastVia, Constant, Expression, ExpressionKind};

/// How a cast came about, and where it stands.
#[derive(Clone, Copy)]
pub(crate) struct Wish {
    pub context: CastContext,
    pub form: CastForm,
    pub at: Location,
}

impl Wish {
    /// A cast by itself.
    pub const IMPLICIT: Wish =
        Wish { context: CastContext::Implicit, form: CastForm::Implicit, at: NOWHERE };
}

impl Analyzer<'_, '_> {
    /// The value as one of a type, without regard to its typmod but for literals of intervals. The way exists: `can_coerce` said so.
    pub(crate) fn coerce(
        &mut self,
        value: Expression,
        target: Oid,
        typmod: i32,
        wish: Wish,
    ) -> Result<Expression> {
        let source = value.type_oid;
        if source == target || self.is_taken_as_is(source, target) {
            return Ok(value);
        }
        if matches!(target, oid::ANYARRAY | oid::ANYENUM | oid::ANYRANGE | oid::ANYMULTIRANGE)
            && source != oid::UNKNOWN
        {
            let base = self.base_type(source);
            return Ok(if base == source { value } else { relabeled(value, base, wish) });
        }
        if source == oid::UNKNOWN {
            return self.coerce_unknown(value, target, typmod, wish);
        }
        match self.pathway(source, target, wish.context) {
            Some(CastVia::Relabel) => {
                let (base, base_typmod) = self.base_type_and_typmod(target, typmod);
                let checked = self.coerce_domain(value, base, base_typmod, target, wish)?;
                if checked.type_oid == target {
                    return Ok(checked);
                }
                Ok(self.relabel(checked, target, wish))
            }
            Some(via) => {
                let (base, base_typmod) = self.base_type_and_typmod(target, typmod);
                let done = self.cast_by(value, via, base, base_typmod, wish);
                self.coerce_domain(done, base, base_typmod, target, wish)
            }
            None => self.coerce_row(value, target, wish),
        }
    }

    fn is_taken_as_is(&self, source: Oid, target: Oid) -> bool {
        matches!(target, oid::ANY | oid::ANYELEMENT | oid::ANYNONARRAY)
            || matches!(target, oid::ANYCOMPATIBLE | oid::ANYCOMPATIBLENONARRAY)
            || (source == oid::ANYARRAY && target == oid::ANYARRAY)
    }

    /// A literal or a parameter whose type nobody decided yet.
    fn coerce_unknown(
        &mut self,
        value: Expression,
        target: Oid,
        typmod: i32,
        wish: Wish,
    ) -> Result<Expression> {
        let location = value.location;
        match value.kind {
            ExpressionKind::Constant(constant) => {
                let (base, mut base_typmod) = self.base_type_and_typmod(target, typmod);
                if base != oid::INTERVAL {
                    base_typmod = -1;
                }
                if let Constant::Text(text) = &constant {
                    self.check_literal(text, base, base_typmod, location)?;
                }
                let kept = if base == oid::INTERVAL { base_typmod } else { -1 };
                let collation = self.collation_of(base);
                let read = Expression::new(
                    ExpressionKind::Constant(constant),
                    base,
                    leftmost(location, wish.at),
                );
                let read = read.typmod(kept).collation(collation);
                let (_, domain_typmod) = self.base_type_and_typmod(target, typmod);
                self.coerce_domain(read, base, domain_typmod, target, wish)
            }
            ExpressionKind::Parameter(number) => self.parameter(value, number, target, wish.at),
            ExpressionKind::Collate(inner) => {
                let inner = self.coerce(*inner, target, typmod, wish)?;
                let type_oid = inner.type_oid;
                let kept = inner.typmod;
                let collated =
                    Expression::new(ExpressionKind::Collate(Box::new(inner)), type_oid, location);
                Ok(collated.typmod(kept).collation(value.collation))
            }
            _ => {
                // A column of an unknown type, or a subquery's: by way of the text form.
                let (base, base_typmod) = self.base_type_and_typmod(target, typmod);
                let done = self.cast_by(value, CastVia::Text, base, base_typmod, wish);
                self.coerce_domain(done, base, base_typmod, target, wish)
            }
        }
    }

    /// A cast that does something.
    pub(crate) fn cast_by(
        &self,
        operand: Expression,
        via: CastVia,
        target: Oid,
        typmod: i32,
        wish: Wish,
    ) -> Expression {
        // A function that takes the typmod gives it to the result.
        let keeps = match &via {
            CastVia::Function(function) => function.0.arguments.len() > 1,
            CastVia::Elements(via) => {
                matches!(&**via, CastVia::Function(function) if function.0.arguments.len() > 1)
            }
            _ => false,
        };
        let location = leftmost(wish.at, operand.location);
        let kind = ExpressionKind::Cast {
            via,
            form: wish.form,
            context: wish.context,
            operand: Box::new(operand),
        };
        Expression::new(kind, target, location)
            .typmod(if keeps { typmod } else { -1 })
            .collation(self.collation_of(target))
    }

    /// The same bytes as a value of another type.
    pub(crate) fn relabel(&self, operand: Expression, target: Oid, wish: Wish) -> Expression {
        let collation = self.collation_of(target);
        // A constant needs no cast: it becomes one of the type.
        relabeled(operand, target, wish).collation(collation)
    }

    /// # Errors
    /// XX000: there is no way, which nobody asked before.
    pub(super) fn no_way(&self, source: Oid, target: Oid) -> Box<crate::error::AnalysisError> {
        let (source, target) = (self.type_words(source), self.type_words(target));
        let message = format!("failed to find conversion function from {source} to {target}");
        fault("XX000", NOWHERE, message)
    }
}

fn relabeled(operand: Expression, target: Oid, wish: Wish) -> Expression {
    let location = leftmost(wish.at, operand.location);
    let kind = ExpressionKind::Cast {
        via: CastVia::Relabel,
        form: wish.form,
        context: wish.context,
        operand: Box::new(operand),
    };
    Expression::new(kind, target, location)
}
