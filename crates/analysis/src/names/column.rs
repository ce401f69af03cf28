//! A column by its name alone.

use super::item::{NameItem, ambiguous};
use crate::analyzer::Analyzer;
use crate::error::{Location, Result, fault};
use crate::facts::{TypeKind, oid};
use crate::tree::{Column, EntryKind, Expression, ExpressionKind};

impl Analyzer<'_, '_> {
    /// A column by its name: of this query, or where it has none, of the next one out.
    pub(crate) fn unqualified_column(
        &self,
        name: &str,
        is_local: bool,
        at: Location,
    ) -> Result<Option<Expression>> {
        let levels = if is_local { 1 } else { self.levels.len() };
        for level in 0..levels {
            let mut found: Option<Expression> = None;
            let is_lateral = self.outer(level).is_lateral;
            for item in &self.outer(level).namespace {
                if !item.are_columns_visible || (item.is_lateral_only && !is_lateral) {
                    continue;
                }
                if let Some(column) = self.column_of_item(item, level, name, at)? {
                    if found.is_some() {
                        return Err(ambiguous(name, at));
                    }
                    found = Some(column);
                }
            }
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The item that a qualifier names, and how many levels out it is.
    ///
    /// # Errors
    /// 42P09 where two have the name; 3F000 for a schema that is none.
    pub(crate) fn item_named(
        &self,
        schema: Option<&str>,
        name: &str,
        at: Location,
    ) -> Result<Option<(NameItem, usize)>> {
        let relation = match schema {
            None => None,
            Some(schema) => match self.catalog.relation(Some(schema), name) {
                Ok(relation) => Some(relation.oid),
                Err(_) => return Ok(None),
            },
        };
        for level in 0..self.levels.len() {
            let here = self.outer(level);
            let fits = |item: &&NameItem| {
                if !item.is_relation_visible || (item.is_lateral_only && !here.is_lateral) {
                    return false;
                }
                match relation {
                    None => *item.name == *name,
                    Some(oid) => {
                        let kind = &here.range_table[item.entry].kind;
                        item.is_without_alias
                            && matches!(kind, EntryKind::Relation(other) if other.0.oid == oid)
                    }
                }
            };
            let mut items = here.namespace.iter().filter(fits);
            let Some(item) = items.next() else { continue };
            if items.next().is_some() {
                let message = format!("table reference \"{name}\" is ambiguous");
                return Err(fault("42P09", at, message));
            }
            self.check_lateral(item, level, at)?;
            return Ok(Some((item.clone(), level)));
        }
        Ok(None)
    }

    /// All of a row of an item.
    pub(crate) fn whole_row(&self, item: &NameItem, levels: usize, at: Location) -> Expression {
        let entry = &self.outer(levels).range_table[item.entry];
        let column = |number| ExpressionKind::Column(Column { levels, entry: item.entry, number });
        let type_oid = match &entry.kind {
            EntryKind::Relation(relation) => relation.0.row_type,
            EntryKind::Functions { calls, has_ordinality: false } if calls.len() == 1 => {
                let call = &calls[0].0;
                let base = self.type_of(self.base_type(call.type_oid));
                if base.kind == TypeKind::Composite {
                    call.type_oid
                } else if call.type_oid == oid::RECORD || calls[0].1 != 1 {
                    oid::RECORD
                } else {
                    return self.column(levels, item.entry, 1, at);
                }
            }
            EntryKind::Excluded => {
                let target = self.outer(levels).target;
                let target = target.map(|target| &self.outer(levels).range_table[target].kind);
                match target {
                    Some(EntryKind::Relation(relation)) => relation.0.row_type,
                    _ => oid::RECORD,
                }
            }
            _ => oid::RECORD,
        };
        Expression::new(column(0), type_oid, at)
    }
}
