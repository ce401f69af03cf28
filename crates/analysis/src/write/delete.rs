//! DELETE.

use syntax::DeleteStmt;

use crate::analyzer::Analyzer;
use crate::error::Result;
use crate::place::Place;
use crate::tree::{Command, FromItem, Query};

impl<'t> Analyzer<'t, '_> {
    pub(crate) fn delete(&mut self, node: DeleteStmt<'t>) -> Result<Query> {
        let mut query = Query { command: Command::Delete, ..Query::default() };
        self.with_clause(node.with_clause())?;
        let written = self.written(node.relation().expect("DELETE has a table"))?;
        query.from.push(FromItem::Entry(written.item.entry));
        // USING sees the table only to say that it must not.
        let mut item = written.item;
        item.is_lateral_only = true;
        item.is_lateral_possible = false;
        self.level().namespace.push(item);
        query.from.extend(self.analyze_from(node.using_clause())?);
        self.show_target();
        query.condition = self.condition_or_cursor(node.where_clause(), Place::Where)?;
        self.returning(node.returning_clause(), &mut query)?;
        self.finish(&mut query);
        Ok(query)
    }

    /// From here on the table that is written is like any other.
    pub(super) fn show_target(&mut self) {
        for item in &mut self.level().namespace {
            item.is_lateral_only = false;
            item.is_lateral_possible = true;
        }
    }
}
