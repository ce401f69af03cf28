//! Casts that are written.

use syntax::{Node, TypeCast};

use crate::analyzer::Analyzer;
use crate::coerce::Wish;
use crate::error::{Location, Result, fault, location};
use crate::facts::{CastContext, Oid};
use crate::tree::{CastForm, Expression};
use crate::types::NamedType;

/// Where a cast stands: at its sign, or at its type.
fn place(cast: TypeCast<'_>) -> Location {
    let own = location(cast.location());
    let of_type = || location(cast.type_name().and_then(|name| name.location()));
    if own >= 0 { own } else { of_type() }
}

impl<'t> Analyzer<'t, '_> {
    pub(super) fn cast_type(&mut self, cast: TypeCast<'t>) -> Result<NamedType> {
        self.type_name(cast.type_name().expect("a cast has its type"))
    }

    pub(super) fn cast(
        &mut self,
        node: TypeCast<'t>,
        value: Expression,
        to: NamedType,
    ) -> Result<Expression> {
        self.explicit_cast(value, to, place(node))
    }

    /// A value as one of a type that is written.
    ///
    /// # Errors
    /// 42846 where there is no cast.
    pub(crate) fn explicit_cast(
        &mut self,
        value: Expression,
        to: NamedType,
        at: Location,
    ) -> Result<Expression> {
        let (source, location) = (value.type_oid, value.location);
        let wish = Wish { context: CastContext::Explicit, form: CastForm::Explicit, at };
        let done = self.coerce_to(value, to.oid, to.typmod, wish)?;
        let at = if at >= 0 { at } else { location };
        done.ok_or_else(|| self.cannot_cast(source, to.oid, at))
    }

    pub(super) fn cannot_cast(
        &self,
        source: Oid,
        target: Oid,
        at: Location,
    ) -> Box<crate::error::AnalysisError> {
        let (source, target) = (self.type_words(source), self.type_words(target));
        fault("42846", at, format!("cannot cast type {source} to {target}"))
    }

    /// A cast of ARRAY[..], whose elements are cast one by one.
    pub(super) fn array_cast(&mut self, node: TypeCast<'t>) -> Result<Expression> {
        let to = self.cast_type(node)?;
        let Some(Node::AArrayExpr(array)) = node.arg() else {
            panic!("other casts are links of a chain");
        };
        let (base, typmod) = self.base_type_and_typmod(to.oid, to.typmod);
        let value = match self.element(base) {
            Some(element) => self.array(array, Some((base, element, typmod)))?,
            None => self.array(array, None)?,
        };
        self.explicit_cast(value, to, place(node))
    }
}
