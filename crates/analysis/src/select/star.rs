//! `*`, `t.*` and `(row).*`.

use syntax::{AIndirection, ColumnRef, Node};

use crate::analyzer::Analyzer;
use crate::error::{Location, Result, fault, location};
use crate::facts::oid;
use crate::names::NameItem;
use crate::names::reference::field;
use crate::tree::{Expression, ExpressionKind, Target};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn star(&mut self, column: ColumnRef<'t>) -> Result<Vec<Target>> {
        let at = location(column.location());
        let names: Vec<&str> = column.fields().iter().filter_map(field).collect();
        let (schema, relation) = match names[..] {
            [] => return self.all_columns(at),
            [relation] => (None, relation),
            [schema, relation] => (Some(schema), relation),
            [database, schema, relation] if database == self.catalog.database() => {
                (Some(schema), relation)
            }
            [_, _, _] => {
                let names = names.join(".");
                let message = format!("cross-database references are not implemented: {names}.*");
                return Err(fault("0A000", at, message));
            }
            _ => {
                let names = names.join(".");
                let message = format!("improper qualified name (too many dotted names): {names}.*");
                return Err(fault("42601", at, message));
            }
        };
        match self.item_named(schema, relation, at)? {
            Some((item, levels)) => Ok(self.item_columns(&item, levels, at)),
            None => Err(self.no_relation_in_from(schema, relation, at)),
        }
    }

    fn all_columns(&self, at: Location) -> Result<Vec<Target>> {
        let visible: Vec<&NameItem> =
            self.here().namespace.iter().filter(|item| item.are_columns_visible).collect();
        if visible.is_empty() {
            let message = "SELECT * with no tables specified is not valid";
            return Err(fault("42601", at, message));
        }
        Ok(visible.into_iter().flat_map(|item| self.item_columns(item, 0, at)).collect())
    }

    /// All columns of an item.
    pub(crate) fn item_columns(&self, item: &NameItem, levels: usize, at: Location) -> Vec<Target> {
        let entry = &self.outer(levels).range_table[item.entry];
        let there = entry.columns.iter().enumerate().filter(|(_, column)| column.type_oid != 0);
        let target = |(place, column): (usize, &crate::tree::EntryColumn)| Target {
            expression: self.item_column(item, levels, place, at),
            name: column.name.clone(),
            is_junk: false,
            column: 0,
        };
        there.map(target).collect()
    }

    pub(super) fn row_star(&mut self, node: AIndirection<'t>) -> Result<Vec<Target>> {
        let row = self.without_star(node)?;
        let at = row.location;
        if let ExpressionKind::Column(column) = row.kind
            && column.number == 0
            && let Some(item) = self.item_of_entry(column.levels, column.entry)
        {
            return Ok(self.item_columns(&item, column.levels, at));
        }
        let Some(columns) = self.row_columns(&row) else {
            if row.type_oid == oid::RECORD {
                return Err(fault("42809", at, "record type has not been registered"));
            }
            let words = self.type_words(row.type_oid);
            let message = format!("type {words} is not composite");
            return Err(fault("42809", -1, message));
        };
        let there = columns.iter().enumerate().filter(|(_, column)| column.type_oid != 0);
        let target = |(place, column): (usize, &crate::tree::EntryColumn)| Target {
            expression: self.field(row.clone(), place, column),
            name: column.name.clone(),
            is_junk: false,
            column: 0,
        };
        Ok(there.map(target).collect())
    }

    /// The row that `.*` is of.
    fn without_star(&mut self, node: AIndirection<'t>) -> Result<Expression> {
        let mut value = self.expression(node.arg().expect("it is of an expression"))?;
        let at = value.location;
        let steps: Vec<Node<'t>> = node.indirection().iter().collect();
        for step in &steps[..steps.len() - 1] {
            value = match step {
                Node::StringValue(name) => {
                    let name = name.value().unwrap_or_default();
                    match self.column_or_function(name, value.clone(), at)? {
                        Some(found) => found,
                        None => return Err(self.no_attribute(&value, name, at)),
                    }
                }
                Node::AIndices(subscript) => self.subscript(value, &[*subscript], None)?,
                other => panic!("{} is no step of an indirection", other.name()),
            };
        }
        Ok(value)
    }
}
