//! Faults of names that mean nothing, with what may have been meant.

use crate::analyzer::Analyzer;
use crate::error::{AnalysisError, Location, fault};
use crate::tree::{Entry, EntryKind};

impl Analyzer<'_, '_> {
    /// 42P01 for a qualifier that names nothing here.
    pub(crate) fn no_relation_in_from(
        &self,
        schema: Option<&str>,
        name: &str,
        at: Location,
    ) -> Box<AnalysisError> {
        let Some(entry) = self.hidden_entry(schema, name) else {
            let message = format!("missing FROM-clause entry for table \"{name}\"");
            return fault("42P01", at, message);
        };
        let message = format!("invalid reference to FROM-clause entry for table \"{name}\"");
        let alias = &entry.name;
        let hint = if **alias == *name {
            format!(
                "There is an entry for table \"{name}\", but it cannot be referenced from this part of the query."
            )
        } else {
            format!("Perhaps you meant to reference the table alias \"{alias}\".")
        };
        fault("42P01", at, message).hint(hint)
    }

    /// The entry that a qualifier would name if it were visible, or had no alias.
    fn hidden_entry(&self, schema: Option<&str>, name: &str) -> Option<&Entry> {
        let cte = if schema.is_none() { self.cte_named(name) } else { None };
        let relation = match cte {
            Some(_) => None,
            None => self.catalog.relation(schema, name).ok().map(|relation| relation.oid),
        };
        for level in 0..self.levels.len() {
            let is_meant = |entry: &&Entry| match &entry.kind {
                EntryKind::Relation(other) if Some(other.0.oid) == relation => true,
                EntryKind::Cte(cte_name, levels) | EntryKind::Recursive(cte_name, levels) => {
                    let is_cte = |(up, _)| level + levels == up && **cte_name == *name;
                    *entry.name == *name || cte.is_some_and(is_cte)
                }
                _ => *entry.name == *name,
            };
            let found = self.outer(level).range_table.iter().find(is_meant);
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// 42703 for a column that nothing here has.
    pub(crate) fn no_column(
        &self,
        relation: Option<&str>,
        name: &str,
        at: Location,
    ) -> Box<AnalysisError> {
        let message = match relation {
            Some(relation) => format!("column {relation}.{name} does not exist"),
            None => format!("column \"{name}\" does not exist"),
        };
        let error = fault("42703", at, message);
        match self.like_column(relation, name) {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    /// What may have been meant: a column of the same name that is not visible.
    fn like_column(&self, relation: Option<&str>, name: &str) -> Option<String> {
        for level in 0..self.levels.len() {
            for entry in &self.outer(level).range_table {
                let is_meant = relation.is_none_or(|relation| *entry.name == *relation);
                let is_join = matches!(entry.kind, EntryKind::Join(_));
                if is_meant && !is_join && entry.columns.iter().any(|column| &*column.name == name)
                {
                    let table = &entry.name;
                    return Some(format!(
                        "There is a column named \"{name}\" in table \"{table}\", but it cannot be referenced from this part of the query."
                    ));
                }
            }
        }
        None
    }
}
