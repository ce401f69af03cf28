//! COLLATE.

use syntax::{CollateClause, List, StringValue};

use crate::analyzer::Analyzer;
use crate::error::{Location, Result, fault, leftmost, location};
use crate::facts::{Oid, oid};
use crate::tree::{Expression, ExpressionKind};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn collate(
        &mut self,
        node: CollateClause<'t>,
        value: Expression,
    ) -> Result<Expression> {
        let at = location(node.location());
        if self.collation_of(value.type_oid) == 0 && value.type_oid != oid::UNKNOWN {
            let words = self.type_words(value.type_oid);
            let message = format!("collations are not supported by type {words}");
            return Err(fault("42804", at, message));
        }
        let collation = self.collation_named(node.collname(), at)?;
        let (type_oid, typmod) = (value.type_oid, value.typmod);
        let at = leftmost(at, value.location);
        let kind = ExpressionKind::Collate(Box::new(value));
        Ok(Expression::new(kind, type_oid, at).typmod(typmod).collation(collation))
    }

    /// A collation by its name.
    ///
    /// # Errors
    /// 42704 where there is none.
    fn collation_named(&self, names: List<'t, StringValue<'t>>, at: Location) -> Result<Oid> {
        let names: Vec<&str> = names.iter().filter_map(StringValue::value).collect();
        let (schema, name) = match names[..] {
            [name] => (None, name),
            [schema, name] => (Some(schema), name),
            _ => (None, ""),
        };
        let by_birth = match name {
            _ if !matches!(schema, None | Some("pg_catalog")) => None,
            "default" => Some(oid::DEFAULT_COLLATION),
            "C" => Some(oid::C_COLLATION),
            "POSIX" => Some(oid::POSIX_COLLATION),
            _ => None,
        };
        by_birth.or_else(|| self.catalog.collation_named(schema, name)).ok_or_else(|| {
            let names = names.join(".");
            let message = format!("collation \"{names}\" for encoding \"UTF8\" does not exist");
            fault("42704", at, message)
        })
    }
}
