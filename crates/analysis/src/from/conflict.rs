//! The same name twice in FROM.

use crate::analyzer::Analyzer;
use crate::error::{NOWHERE, Result, fault};
use crate::names::NameItem;
use crate::tree::EntryKind;

impl Analyzer<'_, '_> {
    /// # Errors
    /// 42712 where a name is there already. The same name of relations of two schemas is none.
    pub(crate) fn no_conflict(&self, known: &[NameItem], new: &[NameItem]) -> Result<()> {
        let is_visible = |item: &&NameItem| item.is_relation_visible;
        for item in new.iter().filter(is_visible) {
            for other in known.iter().filter(is_visible) {
                if item.name == other.name && !self.are_of_two_schemas(item, other) {
                    let name = &item.name;
                    let message = format!("table name \"{name}\" specified more than once");
                    return Err(fault("42712", NOWHERE, message));
                }
            }
        }
        Ok(())
    }

    fn are_of_two_schemas(&self, item: &NameItem, other: &NameItem) -> bool {
        let oid = |item: &NameItem| match &self.here().range_table[item.entry].kind {
            EntryKind::Relation(relation) if item.is_without_alias => Some(relation.0.oid),
            _ => None,
        };
        matches!((oid(item), oid(other)), (Some(a), Some(b)) if a != b)
    }
}
