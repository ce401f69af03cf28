//! Relations by name: of the catalog, or of WITH.

use std::sync::Arc;

use syntax::RangeVar;

use super::Added;
use super::alias::{name_of, rename};
use crate::analyzer::Analyzer;
use crate::call::projection::dropped;
use crate::catalog::{Relation, RelationKind};
use crate::error::{NOWHERE, Result, fault, location};
use crate::tree::{Entry, EntryColumn, EntryKind, RelationRef};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn named_relation(&mut self, node: RangeVar<'t>) -> Result<Added> {
        if node.schemaname().is_none()
            && let Some((levels, place)) = self.cte_named(node.relname().unwrap_or_default())
        {
            return self.cte_in_from(node, levels, place);
        }
        let relation = self.open_relation(node)?;
        let entry = relation_entry(relation, node)?;
        Ok(self.added(entry, node.alias().is_none()))
    }

    /// How many levels out a query of WITH is, and its place there.
    pub(crate) fn cte_named(&self, name: &str) -> Option<(usize, usize)> {
        (0..self.levels.len()).find_map(|levels| {
            let ctes = &self.outer(levels).ctes;
            let place = ctes.iter().position(|cte| *cte.name == *name);
            place.map(|place| (levels, place))
        })
    }

    fn cte_in_from(&mut self, node: RangeVar<'t>, levels: usize, place: usize) -> Result<Added> {
        let at = location(node.location());
        let state = &mut self.outer_mut(levels).ctes[place];
        let name = state.name.clone();
        let is_known = state.cte.is_some();
        if !is_known {
            state.self_references += 1;
        }
        if !state.gives_rows {
            let message = format!("WITH query \"{name}\" does not have a RETURNING clause");
            return Err(fault("0A000", at, message));
        }
        let known = state.cte.as_ref().map(|cte| &cte.columns).or(state.columns.as_ref());
        let Some(mut columns) = known.cloned() else {
            let message = format!(
                "recursive reference to query \"{name}\" must not appear within its non-recursive term"
            );
            return Err(fault("42P19", at, message));
        };
        let alias = name_of(node.alias(), &name);
        rename(&mut columns, node.alias(), &alias)?;
        let kind = if is_known {
            EntryKind::Cte(name, levels)
        } else {
            EntryKind::Recursive(name, levels)
        };
        let entry = Entry { name: alias, columns, kind, is_lateral: false };
        Ok(self.added(entry, false))
    }

    /// The relation that a statement reads or writes.
    ///
    /// # Errors
    /// 42P01 where there is none; 42809 where it has no rows of its own.
    pub(crate) fn open_relation(&self, node: RangeVar<'t>) -> Result<Arc<Relation>> {
        let at = location(node.location());
        let (schema, name) = (node.schemaname(), node.relname().unwrap_or_default());
        if let Some(database) = node.catalogname()
            && database != self.catalog.database()
        {
            let schema = schema.unwrap_or_default();
            let message = format!(
                "cross-database references are not implemented: \"{database}.{schema}.{name}\""
            );
            return Err(fault("0A000", NOWHERE, message));
        }
        let found = self.catalog.relation(schema, name).map_err(|_| match schema {
            Some(schema) => {
                fault("42P01", at, format!("relation \"{schema}.{name}\" does not exist"))
            }
            None => self.no_relation(name, at),
        })?;
        if matches!(found.kind, RelationKind::Index | RelationKind::Composite) {
            let what =
                if found.kind == RelationKind::Index { "indexes" } else { "composite types" };
            let error = fault("42809", at, format!("cannot open relation \"{name}\""));
            return Err(error.detail(format!("This operation is not supported for {what}.")));
        }
        Ok(found)
    }

    fn no_relation(&self, name: &str, at: i32) -> Box<crate::error::AnalysisError> {
        let error = fault("42P01", at, format!("relation \"{name}\" does not exist"));
        let is_later =
            (0..self.levels.len()).any(|levels| self.outer(levels).future_ctes.contains(&name));
        if !is_later {
            return error;
        }
        error
            .detail(format!(
                "There is a WITH item named \"{name}\", but it cannot be referenced from this part of the query."
            ))
            .hint("Use WITH RECURSIVE, or re-order the WITH items to remove forward references.")
    }
}

/// The entry of a relation under its alias or its own name.
pub(crate) fn relation_entry(relation: Arc<Relation>, node: RangeVar<'_>) -> Result<Entry> {
    let name = name_of(node.alias(), &relation.name);
    let mut columns = relation_columns(&relation);
    rename(&mut columns, node.alias(), &name)?;
    Ok(Entry { name, columns, kind: EntryKind::Relation(RelationRef(relation)), is_lateral: false })
}

/// The columns of a relation, those that were dropped among them.
pub(crate) fn relation_columns(relation: &Relation) -> Vec<EntryColumn> {
    let column = |column: &Option<crate::catalog::RelationColumn>| match column {
        Some(column) => EntryColumn {
            name: column.name.clone(),
            type_oid: column.type_oid,
            typmod: column.typmod,
            collation: column.collation,
        },
        None => dropped(),
    };
    relation.columns.iter().map(column).collect()
}
