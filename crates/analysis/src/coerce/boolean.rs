//! Conditions must be boolean.

use super::value::Wish;
use crate::analyzer::Analyzer;
use crate::error::{Result, fault};
use crate::facts::{CastContext, Oid, oid};
use crate::tree::Expression;

impl Analyzer<'_, '_> {
    /// A condition of a clause, by assignment.
    ///
    /// # Errors
    /// 42804 where it is of another type, or gives many rows.
    pub(crate) fn boolean(&mut self, value: Expression, clause: &str) -> Result<Expression> {
        if value.type_oid == oid::BOOL {
            return self.no_set(value, clause);
        }
        let (source, at) = (value.type_oid, value.location);
        let wish = Wish { context: CastContext::Assignment, ..Wish::IMPLICIT };
        let Some(done) = self.coerce_to(value, oid::BOOL, -1, wish)? else {
            let words = self.type_words(source);
            let message = format!("argument of {clause} must be type boolean, not type {words}");
            return Err(fault("42804", at, message));
        };
        self.no_set(done, clause)
    }

    /// A value of a type that a clause wants.
    ///
    /// # Errors
    /// 42804, as above.
    pub(crate) fn of_type(
        &mut self,
        value: Expression,
        target: Oid,
        clause: &str,
    ) -> Result<Expression> {
        if value.type_oid == target {
            return self.no_set(value, clause);
        }
        let (source, at) = (value.type_oid, value.location);
        let wish = Wish { context: CastContext::Assignment, ..Wish::IMPLICIT };
        let Some(done) = self.coerce_to(value, target, -1, wish)? else {
            let (source, target) = (self.type_words(source), self.type_words(target));
            let message = format!("argument of {clause} must be type {target}, not type {source}");
            return Err(fault("42804", at, message));
        };
        self.no_set(done, clause)
    }

    fn no_set(&mut self, value: Expression, clause: &str) -> Result<Expression> {
        if crate::call::returns_set(&value) {
            let message = format!("argument of {clause} must not return a set");
            return Err(fault("42804", value.location, message));
        }
        Ok(value)
    }
}
