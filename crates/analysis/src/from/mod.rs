//! FROM: relations, subqueries, functions, joins.
//!
//! **In**: nodes of FROM. **Out**: entries of the range table, the tree of joins, and the items that names see afterwards. `select` and `write`
//! call it.

mod alias;
mod conflict;
mod function;
mod join;
mod merged;
pub(crate) mod relation;
mod sample;
pub(crate) mod subquery;
mod xml_table;

use syntax::{Node, Nodes};

use crate::analyzer::Analyzer;
use crate::error::Result;
use crate::names::NameItem;
use crate::tree::{Entry, FromItem};

/// What a part of FROM adds.
pub(crate) struct Added {
    pub item: FromItem,
    /// What names see of it.
    pub names: Vec<NameItem>,
    /// The item of which all columns are the part's.
    pub whole: NameItem,
}

impl<'t> Analyzer<'t, '_> {
    /// FROM, or USING of DELETE: added to what names see.
    pub(crate) fn analyze_from(&mut self, nodes: Nodes<'t>) -> Result<Vec<FromItem>> {
        let mut from = Vec::with_capacity(nodes.len());
        for node in nodes.iter() {
            let mut added = self.add_item(node)?;
            self.no_conflict(&self.here().namespace, &added.names)?;
            // What comes later sees it by LATERAL.
            set_lateral(&mut added.names, true, true);
            from.push(added.item);
            self.level().namespace.append(&mut added.names);
        }
        set_lateral(&mut self.level().namespace, false, true);
        Ok(from)
    }

    pub(crate) fn add_item(&mut self, node: Node<'t>) -> Result<Added> {
        match node {
            Node::RangeVar(relation) => self.named_relation(relation),
            Node::RangeSubselect(subquery) => self.subquery_in_from(subquery),
            Node::RangeFunction(function) => self.functions_in_from(function),
            Node::RangeTableSample(sample) => self.sample(sample),
            Node::JoinExpr(join) => self.join_chain(join),
            Node::RangeTableFunc(table) => self.xml_table(table),
            other => panic!("{} in FROM", other.name()),
        }
    }

    /// Adds an entry to the range table.
    pub(crate) fn add_entry(&mut self, entry: Entry) -> usize {
        let table = &mut self.level().range_table;
        table.push(entry);
        table.len() - 1
    }

    /// An entry that stands in FROM by itself.
    fn added(&mut self, entry: Entry, is_without_alias: bool) -> Added {
        let name = entry.name.clone();
        let place = self.add_entry(entry);
        let whole = NameItem { is_without_alias, ..NameItem::of(place, name) };
        Added { item: FromItem::Entry(place), names: vec![whole.clone()], whole }
    }
}

/// Who sees items by LATERAL.
fn set_lateral(items: &mut [NameItem], is_only: bool, is_possible: bool) {
    for item in items {
        item.is_lateral_only = is_only;
        item.is_lateral_possible = is_possible;
    }
}
