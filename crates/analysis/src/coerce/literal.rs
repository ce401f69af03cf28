//! Literals are read by their types' input functions while a statement is analysed.

use values::form::form;
use values::{date, interval, time, timestamp, timestamptz, timetz};

use crate::analyzer::Analyzer;
use crate::error::{Location, Result, fault, of_value};
use crate::facts::{Oid, TypeKind, oid};
use crate::types::format::quoted;

impl Analyzer<'_, '_> {
    /// Whether a text is one of a type's values.
    ///
    /// # Errors
    /// What the type's input function says: 22P02, 22007, 22008, 22003 and others. Types whose input is not ours yet take any text.
    pub(super) fn check_literal(
        &self,
        text: &str,
        type_oid: Oid,
        typmod: i32,
        at: Location,
    ) -> Result<()> {
        let context = self.context;
        let checked = match type_oid {
            oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME => Ok(()),
            oid::DATE => date::from_text(context, text).map(drop),
            oid::TIME => time::from_text(context, text, typmod).map(drop),
            oid::TIMETZ => timetz::from_text(context, text, typmod).map(drop),
            oid::TIMESTAMP => timestamp::from_text(context, text, typmod).map(drop),
            oid::TIMESTAMPTZ => timestamptz::from_text(context, text, typmod).map(drop),
            oid::INTERVAL => interval::from_text(context, text, typmod).map(drop),
            _ => {
                let row = self.type_of(type_oid);
                if row.kind == TypeKind::Enum {
                    return self.check_label(text, type_oid, at);
                }
                form(row.name).map_or(Ok(()), |form| (form.parse)(text).map(drop))
            }
        };
        checked.map_err(|error| of_value(error, at))
    }

    fn check_label(&self, text: &str, enumerated: Oid, at: Location) -> Result<()> {
        if self.catalog.has_label(enumerated, text) {
            return Ok(());
        }
        let name = quoted(self.type_of(enumerated).name);
        Err(fault("22P02", at, format!("invalid input value for enum {name}: \"{text}\"")))
    }
}
