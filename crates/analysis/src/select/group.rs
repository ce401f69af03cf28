//! GROUP BY.

use syntax::{Node, SelectStmt};

use super::grouping_sets::{Content, expanded};
use super::sort::Standard;
use crate::analyzer::Analyzer;
use crate::error::{Location, Result, fault, location};
use crate::place::Place;
use crate::tree::{Query, SortKey, Target};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn group_clause(
        &mut self,
        select: SelectStmt<'t>,
        targets: &mut Vec<Target>,
        query: &mut Query,
    ) -> Result<()> {
        let nodes: Vec<Node<'t>> = select.group_clause().iter().collect();
        if nodes.is_empty() {
            return Ok(());
        }
        query.is_group_distinct = select.group_distinct();
        let contents = self.in_place(Place::GroupBy, |this| {
            this.group_contents(&nodes, targets, query, Standard::Sql92)
        })?;
        if contents.iter().any(|content| !matches!(content, Content::Simple(_))) {
            query.grouping_sets = expanded(&contents, query.is_group_distinct)?;
        }
        Ok(())
    }

    /// The parts of GROUP BY; keys are added to the query's.
    fn group_contents(
        &mut self,
        nodes: &[Node<'t>],
        targets: &mut Vec<Target>,
        query: &mut Query,
        standard: Standard,
    ) -> Result<Vec<Content>> {
        let mut contents = Vec::new();
        for node in nodes {
            match *node {
                Node::GroupingSet(set) => {
                    let inner: Vec<Node<'t>> = set.content().iter().collect();
                    let at = location(set.location());
                    let within =
                        self.within(|this| this.group_contents(&inner, targets, query, standard))?;
                    contents.push(Content::of(set.kind(), within, at)?);
                }
                Node::RowExpr(row) if !self.is_row_word(location(row.location())) => {
                    let mut keys = Vec::new();
                    for field in row.args().iter() {
                        keys.push(self.group_key(field, targets, &mut query.groups, standard)?);
                    }
                    contents.push(Content::Simple(keys));
                }
                other => {
                    let key = self.group_key(other, targets, &mut query.groups, standard)?;
                    contents.push(Content::Simple(vec![key]));
                }
            }
        }
        Ok(contents)
    }

    /// Whether `ROW` is written there, not parentheses alone.
    fn is_row_word(&self, at: Location) -> bool {
        let rest = usize::try_from(at).ok().and_then(|at| self.text.get(at..));
        rest.is_some_and(|rest| !rest.starts_with('('))
    }

    fn group_key(
        &mut self,
        node: Node<'t>,
        targets: &mut Vec<Target>,
        groups: &mut Vec<SortKey>,
        standard: Standard,
    ) -> Result<usize> {
        let place = match standard {
            Standard::Sql92 => self.key_by_name(node, targets)?,
            Standard::Sql99 => self.key_by_expression(node, targets)?,
        };
        let at = targets[place].expression.location;
        self.add_group_key(place, targets, groups, at)
    }

    /// The place among the groups of a target that is grouped by.
    pub(super) fn add_group_key(
        &mut self,
        place: usize,
        targets: &mut [Target],
        groups: &mut Vec<SortKey>,
        at: Location,
    ) -> Result<usize> {
        if let Some(known) = groups.iter().position(|key| key.target == place) {
            return Ok(known);
        }
        self.known_type(&mut targets[place])?;
        let key = self.equality_key(place, targets[place].expression.type_oid, at)?;
        groups.push(key);
        Ok(groups.len() - 1)
    }

    /// A key that is compared for equality.
    ///
    /// # Errors
    /// 42883 where values of the type are not.
    pub(super) fn equality_key(
        &self,
        place: usize,
        type_oid: crate::facts::Oid,
        at: Location,
    ) -> Result<SortKey> {
        let comparisons = self.comparisons(type_oid);
        let equal = if comparisons.equal != 0 { comparisons.equal } else { comparisons.hash_equal };
        if equal == 0 {
            let words = self.type_words(type_oid);
            let message = format!("could not identify an equality operator for type {words}");
            return Err(fault("42883", at, message));
        }
        Ok(SortKey { target: place, order: comparisons.less, equal, nulls_first: false })
    }

    /// PARTITION BY.
    pub(super) fn partition_clause(
        &mut self,
        nodes: syntax::Nodes<'t>,
        targets: &mut Vec<Target>,
    ) -> Result<Vec<SortKey>> {
        let mut keys = Vec::new();
        for node in nodes.iter() {
            self.group_key(node, targets, &mut keys, Standard::Sql99)?;
        }
        Ok(keys)
    }
}
