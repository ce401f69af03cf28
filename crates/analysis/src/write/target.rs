//! The table that is written.

use std::sync::Arc;

use syntax::RangeVar;

use crate::analyzer::Analyzer;
use crate::catalog::Relation;
use crate::error::{Result, fault, location};
use crate::from::relation::relation_entry;
use crate::names::NameItem;

/// The table that is written, and what names see of it.
pub(super) struct Written {
    pub relation: Arc<Relation>,
    pub item: NameItem,
}

impl<'t> Analyzer<'t, '_> {
    /// Opens the table that is written.
    ///
    /// # Errors
    /// 42P01 where there is none; 42809 where it cannot be written.
    pub(super) fn written(&mut self, node: RangeVar<'t>) -> Result<Written> {
        let name = node.relname().unwrap_or_default();
        if node.schemaname().is_none() && self.cte_named(name).is_some() {
            let message =
                format!("relation \"{name}\" cannot be the target of a modifying statement");
            return Err(fault("42P01", location(node.location()), message));
        }
        let relation = self.open_relation(node)?;
        let entry = relation_entry(relation.clone(), node)?;
        let alias = entry.name.clone();
        let place = self.add_entry(entry);
        self.level().target = Some(place);
        let is_without_alias = node.alias().is_none();
        let item = NameItem { is_without_alias, ..NameItem::of(place, alias) };
        Ok(Written { relation, item })
    }

    /// The number of a column of the table that is written.
    ///
    /// # Errors
    /// 42703 where it has none of the name; 0A000 for system columns.
    pub(super) fn written_column(&self, relation: &Relation, name: &str, at: i32) -> Result<i16> {
        let is_named = |column: &Option<crate::catalog::RelationColumn>| {
            column.as_ref().is_some_and(|column| *column.name == *name)
        };
        if let Some(place) = relation.columns.iter().position(is_named) {
            return Ok(i16::try_from(place + 1).expect("a table has at most 1,600 columns"));
        }
        if crate::names::system::system_column(name).is_some() {
            let message = format!("cannot assign to system column \"{name}\"");
            return Err(fault("0A000", at, message));
        }
        let table = &relation.name;
        let message = format!("column \"{name}\" of relation \"{table}\" does not exist");
        Err(fault("42703", at, message))
    }
}
