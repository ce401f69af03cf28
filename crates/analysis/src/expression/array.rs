//! ARRAY[..].

use syntax::{AArrayExpr, Node};

use crate::analyzer::Analyzer;
use crate::coerce::Wish;
use crate::error::{Result, fault, location};
use crate::facts::{CastContext, Oid, oid};
use crate::tree::{CastForm, Expression, ExpressionKind};

/// What a cast around an array asks for: the array, its elements and their typmod.
pub(super) type Wanted = (Oid, Oid, i32);

impl<'t> Analyzer<'t, '_> {
    pub(super) fn array(
        &mut self,
        node: AArrayExpr<'t>,
        wanted: Option<Wanted>,
    ) -> Result<Expression> {
        let at = location(node.location());
        let mut is_nested = false;
        let mut elements = Vec::with_capacity(node.elements().len());
        for element in node.elements().iter() {
            let value = match element {
                Node::AArrayExpr(inner) => {
                    is_nested = true;
                    self.within(|this| this.array(inner, wanted))?
                }
                other => {
                    let value = self.expression(other)?;
                    is_nested = is_nested || self.is_sub_array(value.type_oid);
                    value
                }
            };
            elements.push(value);
        }
        let (array, elements) = match wanted {
            Some((array, element, typmod)) => {
                let each = if is_nested { array } else { element };
                (array, self.cast_elements(elements, each, typmod)?)
            }
            None => self.common_elements(elements, is_nested, at)?,
        };
        let typmod = match elements.first() {
            Some(first) => self.common_typmod(elements.iter(), first.type_oid),
            None => -1,
        };
        let kind = ExpressionKind::Array { elements, is_nested };
        let collation = self.collation_of(array);
        Ok(Expression::new(kind, array, at).typmod(typmod).collation(collation))
    }

    /// Whether a value is an array within another. The vectors of the catalogs are elements.
    fn is_sub_array(&self, type_oid: Oid) -> bool {
        !matches!(type_oid, oid::INT2VECTOR | oid::OIDVECTOR) && self.element(type_oid).is_some()
    }

    fn cast_elements(
        &mut self,
        elements: Vec<Expression>,
        target: Oid,
        typmod: i32,
    ) -> Result<Vec<Expression>> {
        let wish = Wish { context: CastContext::Explicit, form: CastForm::Explicit, at: -1 };
        let cast = |element: Expression| {
            let (source, at) = (element.type_oid, element.location);
            let done = self.coerce_to(element, target, typmod, wish)?;
            done.ok_or_else(|| self.cannot_cast(source, target, at))
        };
        elements.into_iter().map(cast).collect()
    }

    fn common_elements(
        &mut self,
        elements: Vec<Expression>,
        is_nested: bool,
        at: i32,
    ) -> Result<(Oid, Vec<Expression>)> {
        if elements.is_empty() {
            return Err(fault("42P18", at, "cannot determine type of empty array")
                .hint("Explicitly cast to the desired type, for example ARRAY[]::integer[]."));
        }
        let common = self.common_type(elements.iter(), "ARRAY")?;
        let words = |this: &Self| this.type_words(common);
        let array = if is_nested {
            if self.element(common).is_none() {
                let message = format!("could not find element type for data type {}", words(self));
                return Err(fault("42704", at, message));
            }
            common
        } else {
            self.array_of(common)
        };
        if array == 0 {
            let message = format!("could not find array type for data type {}", words(self));
            return Err(fault("42704", at, message));
        }
        let elements = elements
            .into_iter()
            .map(|element| self.coerce_to_common(element, common, "ARRAY"))
            .collect::<Result<Vec<_>>>()?;
        Ok((array, elements))
    }
}
