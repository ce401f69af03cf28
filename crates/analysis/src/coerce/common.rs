//! The common type of values that become one column: CASE, COALESCE, VALUES, ARRAY, UNION, ...

use super::value::Wish;
use crate::analyzer::Analyzer;
use crate::error::{Result, fault};
use crate::facts::{CastContext, Oid, oid};
use crate::tree::Expression;

impl Analyzer<'_, '_> {
    /// The common type of values.
    ///
    /// # Errors
    /// 42804 where they have none, in words that name the clause.
    pub(crate) fn common_type<'a>(
        &self,
        values: impl Iterator<Item = &'a Expression> + Clone,
        clause: &str,
    ) -> Result<Oid> {
        let types = values.clone().map(|value| value.type_oid);
        self.common(types).map_err(|(place, first, second)| {
            let (first, second) = (self.type_words(first), self.type_words(second));
            let at = values.clone().nth(place).map_or(-1, |value| value.location);
            let message = format!("{clause} types {first} and {second} cannot be matched");
            fault("42804", at, message)
        })
    }

    /// The common type of types to which each of them can be cast.
    pub(crate) fn common_of_types(&self, types: &[Oid]) -> Option<Oid> {
        let common = self.common(types.iter().copied()).ok()?;
        let can = |source: &Oid| self.can_coerce(*source, common, CastContext::Implicit);
        types.iter().all(can).then_some(common)
    }

    /// The common type; or the place of the value that does not fit, with the type before it and its own.
    fn common(
        &self,
        types: impl Iterator<Item = Oid> + Clone,
    ) -> std::result::Result<Oid, (usize, Oid, Oid)> {
        let mut all = types.clone();
        let first = all.next().unwrap_or(oid::UNKNOWN);
        if first != oid::UNKNOWN && all.all(|other| other == first) {
            return Ok(first);
        }
        let mut common = self.base_type(first);
        let (mut category, mut is_preferred) = self.standing(common);
        for (place, next) in types.enumerate().skip(1) {
            let next = self.base_type(next);
            if next == oid::UNKNOWN || next == common {
                continue;
            }
            let (next_category, next_preferred) = self.standing(next);
            let can = |a, b| self.can_coerce(a, b, CastContext::Implicit);
            if common != oid::UNKNOWN {
                if next_category != category {
                    return Err((place, common, next));
                }
                if is_preferred || !can(common, next) || can(next, common) {
                    continue;
                }
            }
            (common, category, is_preferred) = (next, next_category, next_preferred);
        }
        Ok(if common == oid::UNKNOWN { oid::TEXT } else { common })
    }

    fn standing(&self, oid: Oid) -> (char, bool) {
        let row = self.type_of(oid);
        (row.category, row.is_preferred)
    }

    /// A value as one of the common type.
    ///
    /// # Errors
    /// 42846 where there is no way; 22P02 and the like for literals.
    pub(crate) fn coerce_to_common(
        &mut self,
        value: Expression,
        common: Oid,
        clause: &str,
    ) -> Result<Expression> {
        if value.type_oid == common {
            return Ok(value);
        }
        if !self.can_coerce(value.type_oid, common, CastContext::Implicit) {
            let (from, to) = (self.type_words(value.type_oid), self.type_words(common));
            let message = format!("{clause} could not convert type {from} to {to}");
            return Err(fault("42846", value.location, message));
        }
        self.coerce(value, common, -1, Wish::IMPLICIT)
    }

    /// All values as ones of their common type.
    pub(crate) fn coerce_all_to_common(
        &mut self,
        values: Vec<Expression>,
        clause: &str,
    ) -> Result<(Vec<Expression>, Oid)> {
        let common = self.common_type(values.iter(), clause)?;
        let coerce_to_common = |value| self.coerce_to_common(value, common, clause);
        Ok((values.into_iter().map(coerce_to_common).collect::<Result<_>>()?, common))
    }

    /// The typmod that all values of the common type share; -1 where they do not.
    pub(crate) fn common_typmod<'a>(
        &self,
        mut values: impl Iterator<Item = &'a Expression>,
        common: Oid,
    ) -> i32 {
        let Some(first) = values.next() else { return -1 };
        let is_same = |value: &Expression| value.type_oid == common && value.typmod == first.typmod;
        if is_same(first) && values.all(is_same) { first.typmod } else { -1 }
    }
}
