//! A column as it is written, with qualifiers.

use syntax::{ColumnRef, Node};

use crate::analyzer::Analyzer;
use crate::error::{Location, Result, fault, location};
use crate::tree::Expression;

impl<'t> Analyzer<'t, '_> {
    /// A column, or a whole row, or a function of a row by a column's notation.
    pub(crate) fn column_reference(&mut self, column: ColumnRef<'t>) -> Result<Expression> {
        let at = location(column.location());
        let is_star = matches!(column.fields().iter().last(), Some(Node::AStar(_)));
        let names: Vec<&str> = column.fields().iter().filter_map(field).collect();
        let (qualifiers, name) = if is_star {
            (&names[..], None)
        } else {
            let (name, qualifiers) = names.split_last().expect("a column has a name");
            (qualifiers, Some(*name))
        };
        let (schema, relation) = match qualifiers {
            [] => match name {
                Some(name) => return self.bare_name(name, at),
                None => return Err(fault("42601", at, "invalid use of *")),
            },
            [relation] => (None, *relation),
            [schema, relation] => (Some(*schema), *relation),
            [database, schema, relation] if *database == self.catalog.database() => {
                (Some(*schema), *relation)
            }
            [_, _, _] => {
                let names = names.join(".");
                let message = format!("cross-database references are not implemented: {names}");
                return Err(fault("0A000", at, message));
            }
            _ => {
                let names = names.join(".");
                let message = format!("improper qualified name (too many dotted names): {names}");
                return Err(fault("42601", at, message));
            }
        };
        let Some((item, levels)) = self.item_named(schema, relation, at)? else {
            return Err(self.no_relation_in_from(schema, relation, at));
        };
        let Some(name) = name else { return Ok(self.whole_row(&item, levels, at)) };
        if let Some(found) = self.column_of_item(&item, levels, name, at)? {
            return Ok(found);
        }
        let row = self.whole_row(&item, levels, at);
        match self.column_or_function(name, row, at)? {
            Some(found) => Ok(found),
            None => Err(self.no_column(Some(relation), name, at)),
        }
    }

    fn bare_name(&mut self, name: &str, at: Location) -> Result<Expression> {
        if let Some(found) = self.unqualified_column(name, false, at)? {
            return Ok(found);
        }
        if let Some((item, levels)) = self.item_named(None, name, at)? {
            return Ok(self.whole_row(&item, levels, at));
        }
        Err(self.no_column(None, name, at))
    }
}

/// A name among the fields of a column.
pub(crate) fn field(node: Node<'_>) -> Option<&str> {
    match node {
        Node::StringValue(name) => name.value(),
        _ => None,
    }
}
