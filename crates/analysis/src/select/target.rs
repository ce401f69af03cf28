//! The select list.

use std::sync::Arc;

use syntax::{List, Node, Nodes, ResTarget};

use super::naming::figured;
use crate::analyzer::Analyzer;
use crate::error::Result;
use crate::tree::{Expression, Target};

impl<'t> Analyzer<'t, '_> {
    /// A select list, or RETURNING.
    pub(crate) fn targets(&mut self, list: List<'t, ResTarget<'t>>) -> Result<Vec<Target>> {
        let mut targets = Vec::with_capacity(list.len());
        for target in list.iter() {
            let Some(node) = target.val() else { continue };
            if let Some(expanded) = self.starred(node)? {
                targets.extend(expanded);
                continue;
            }
            let value = self.expression(node)?;
            let name: Arc<str> = match target.name() {
                Some(name) => name.into(),
                None => figured(node, &value).into(),
            };
            targets.push(Target { expression: value, name, is_junk: false, column: 0 });
        }
        Ok(targets)
    }

    /// Expressions of ROW, with `t.*` as its columns.
    pub(crate) fn expression_list(&mut self, nodes: Nodes<'t>) -> Result<Vec<Expression>> {
        let mut values = Vec::with_capacity(nodes.len());
        for node in nodes.iter() {
            values.extend(self.one_or_starred(node)?);
        }
        Ok(values)
    }

    /// An expression, or the columns that a `*` stands for.
    pub(crate) fn one_or_starred(&mut self, node: Node<'t>) -> Result<Vec<Expression>> {
        match self.starred(node)? {
            Some(expanded) => Ok(expanded.into_iter().map(|target| target.expression).collect()),
            None => Ok(vec![self.expression(node)?]),
        }
    }

    /// The columns that a `*` stands for; `None` where there is none.
    fn starred(&mut self, node: Node<'t>) -> Result<Option<Vec<Target>>> {
        let is_star = |node: Option<Node<'t>>| matches!(node, Some(Node::AStar(_)));
        match node {
            Node::ColumnRef(column) if is_star(column.fields().iter().last()) => {
                self.star(column).map(Some)
            }
            Node::AIndirection(row) if is_star(row.indirection().iter().last()) => {
                self.row_star(row).map(Some)
            }
            _ => Ok(None),
        }
    }
}
