//! Which way leads from a type to another.

use crate::analyzer::Analyzer;
use crate::facts::{CastContext, CastMethod, Oid, TypeKind, cast, function, oid};
use crate::tree::{CastVia, FunctionRef};
use crate::types::is_polymorphic;

impl Analyzer<'_, '_> {
    /// The way from a type to another in a context, as far as there is one. Domains are their bases here.
    pub(crate) fn pathway(
        &self,
        source: Oid,
        target: Oid,
        context: CastContext,
    ) -> Option<CastVia> {
        let (source, target) = (self.base_type(source), self.base_type(target));
        if source == target {
            return Some(CastVia::Relabel);
        }
        if let Some(row) = cast(source, target) {
            if context < row.context {
                return None;
            }
            return Some(match row.method {
                CastMethod::Function(oid) => {
                    let row = function(oid).expect("casts' functions are in the tables");
                    CastVia::Function(FunctionRef(row))
                }
                CastMethod::Text => CastVia::Text,
                CastMethod::Binary => CastVia::Relabel,
            });
        }
        if !matches!(target, oid::OIDVECTOR | oid::INT2VECTOR)
            && let (Some(from), Some(to)) = (self.element(source), self.element(target))
            && let Some(via) = self.pathway(from, to, context)
        {
            return Some(CastVia::Elements(Box::new(via)));
        }
        let is_text = |oid| self.category(oid) == 'S';
        let by_text = (context >= CastContext::Assignment && is_text(target))
            || (context >= CastContext::Explicit && is_text(source));
        by_text.then_some(CastVia::Text)
    }

    /// Whether values of types can become values of others in a context, one by one.
    pub(crate) fn can_coerce_all(
        &self,
        sources: &[Oid],
        targets: &[Oid],
        context: CastContext,
    ) -> bool {
        let mut is_generic = false;
        for (source, target) in sources.iter().zip(targets) {
            if is_polymorphic(*target) {
                is_generic = true;
            } else if !self.can_coerce_one(*source, *target, context) {
                return false;
            }
        }
        !is_generic || self.fits_generic(sources, targets)
    }

    /// The same of one.
    pub(crate) fn can_coerce(&self, source: Oid, target: Oid, context: CastContext) -> bool {
        self.can_coerce_all(&[source], &[target], context)
    }

    fn can_coerce_one(&self, source: Oid, target: Oid, context: CastContext) -> bool {
        if source == target || target == oid::ANY || source == oid::UNKNOWN {
            return true;
        }
        if self.pathway(source, target, context).is_some() {
            return true;
        }
        let is_row = |oid| self.is_composite(oid);
        if source == oid::RECORD && is_row(target) || is_row(source) && target == oid::RECORD {
            return true;
        }
        let is_rows = |oid| self.element(oid).is_some_and(|element| self.is_composite(element));
        if target == oid::RECORD_ARRAY && is_rows(source) {
            return true;
        }
        self.inherits(source, target)
    }

    /// Whether a row type's relation inherits from another's.
    pub(crate) fn inherits(&self, source: Oid, target: Oid) -> bool {
        let relation = |oid| {
            let row = self.type_of(oid);
            (row.kind == TypeKind::Composite).then_some(row.relation)
        };
        match (relation(self.base_type(source)), relation(target)) {
            (Some(child), Some(parent)) => self.catalog.inherits(child, parent),
            _ => false,
        }
    }
}
