//! SELECT, VALUES and set operations, one clause a file.
//!
//! **In**: a statement's node, with a level pushed for it. **Out**: its query. The crate's door, subqueries and WITH call it.

mod distinct;
mod group;
mod grouped;
mod grouping_sets;
mod key;
mod limit;
mod lock;
pub(crate) mod naming;
mod plain;
mod recursion;
mod set;
mod sort;
mod star;
mod target;
mod values;
mod window;
mod with;

use syntax::{Node, SelectStmt, SetOperation};

use crate::analyzer::Analyzer;
use crate::error::{NOWHERE, Result, fault};
use crate::tree::Query;

impl<'t> Analyzer<'t, '_> {
    /// A query, or a statement of WITH that writes, of the innermost level.
    pub(crate) fn query(&mut self, node: Node<'t>) -> Result<Query> {
        match node {
            Node::SelectStmt(select) => self.select(select),
            Node::InsertStmt(insert) => self.insert(insert),
            Node::UpdateStmt(update) => self.update(update),
            Node::DeleteStmt(delete) => self.delete(delete),
            other => {
                let name = other.name();
                Err(fault("0A000", NOWHERE, format!("{name} is no query")))
            }
        }
    }

    fn select(&mut self, select: SelectStmt<'t>) -> Result<Query> {
        if !select.values_lists().is_empty() {
            self.values(select)
        } else if select.op() == SetOperation::None {
            self.plain_select(select)
        } else {
            self.set_operation(select)
        }
    }
}
