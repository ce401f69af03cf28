//! Elements and slices of arrays, and what jsonb has of them.

use syntax::{AIndices, Node};

use crate::analyzer::Analyzer;
use crate::coerce::Wish;
use crate::error::{Result, fault};
use crate::facts::{CastContext, Oid, oid};
use crate::tree::{Expression, ExpressionKind};

/// Dimensions at most.
const MOST_DIMENSIONS: usize = 6;
/// The array types that oidvector and int2vector are read as.
const INT2_ARRAY: Oid = 1005;
const OID_ARRAY: Oid = 1028;

/// What a subscripted value gives.
pub(crate) struct Container {
    pub base: Oid,
    pub typmod: i32,
    pub element: Oid,
    is_json: bool,
}

impl<'t> Analyzer<'t, '_> {
    /// What subscripts of a type give.
    ///
    /// # Errors
    /// 42804 where it has none.
    pub(crate) fn container(&self, type_oid: Oid, typmod: i32, at: i32) -> Result<Container> {
        let (base, typmod) = self.base_type_and_typmod(type_oid, typmod);
        let base = match base {
            oid::INT2VECTOR => INT2_ARRAY,
            oid::OIDVECTOR => OID_ARRAY,
            base => base,
        };
        let is_json = base == oid::JSONB;
        let element = if is_json { oid::JSONB } else { self.type_of(base).element };
        if element == 0 {
            let words = self.type_words(base);
            let message =
                format!("cannot subscript type {words} because it does not support subscripting");
            return Err(fault("42804", at, message));
        }
        Ok(Container { base, typmod, element, is_json })
    }

    /// An element or a slice; or, with a value, the container with it assigned.
    pub(crate) fn subscript(
        &mut self,
        value: Expression,
        subscripts: &[AIndices<'t>],
        assigned: Option<Expression>,
    ) -> Result<Expression> {
        let at = value.location;
        let container = self.container(value.type_oid, value.typmod, at)?;
        let is_slice = subscripts.iter().any(|subscript| subscript.is_slice());
        let (mut upper, mut lower) = (Vec::new(), Vec::new());
        for subscript in subscripts {
            let low = match (subscript.is_slice(), subscript.lidx()) {
                (true, Some(node)) => Some(self.bound(node, &container)?),
                _ => None,
            };
            if is_slice {
                lower.push(low);
            }
            upper.push(match subscript.uidx() {
                Some(node) => Some(self.bound(node, &container)?),
                None => None,
            });
        }
        if container.is_json && is_slice {
            let at = subscripts.first().and_then(|one| one.lidx().or(one.uidx()));
            let _ = at;
            return Err(fault("0A000", -1, "jsonb subscript does not support slices"));
        }
        if upper.len() > MOST_DIMENSIONS && !container.is_json {
            let message = format!(
                "number of array dimensions ({}) exceeds the maximum allowed ({MOST_DIMENSIONS})",
                upper.len()
            );
            return Err(fault("54000", -1, message));
        }
        let gives = if is_slice || assigned.is_some() { container.base } else { container.element };
        let array = Box::new(value);
        let assigned = assigned.map(Box::new);
        let kind = ExpressionKind::Subscript { array, upper, lower, assigned };
        let collation = self.collation_of(gives);
        Ok(Expression::new(kind, gives, at).typmod(container.typmod).collation(collation))
    }

    fn bound(&mut self, node: Node<'t>, container: &Container) -> Result<Expression> {
        let value = self.expression(node)?;
        if container.is_json {
            return self.json_subscript(value);
        }
        let at = value.location;
        let wish = Wish { context: CastContext::Assignment, ..Wish::IMPLICIT };
        let done = self.coerce_to(value, oid::INT4, -1, wish)?;
        done.ok_or_else(|| fault("42804", at, "array subscript must have type integer"))
    }

    fn json_subscript(&mut self, value: Expression) -> Result<Expression> {
        let (source, at) = (value.type_oid, value.location);
        let can = |this: &Self, target| this.can_coerce(source, target, CastContext::Implicit);
        let target = match source {
            oid::UNKNOWN => oid::TEXT,
            _ => match (can(self, oid::INT4), can(self, oid::TEXT)) {
                (true, false) => oid::INT4,
                (false, true) => oid::TEXT,
                _ => {
                    let words = self.type_words(source);
                    let message = format!("subscript type {words} is not supported");
                    return Err(fault("42804", at, message)
                        .hint("jsonb subscript must be coercible to either integer or text."));
                }
            },
        };
        self.coerce(value, target, -1, Wish::IMPLICIT)
    }
}
