//! Recursive queries of WITH: the order in which they name each other, and the form that one must have.

use syntax::{CommonTableExpr, Node, RangeVar, SetOperation};

use crate::analyzer::Analyzer;
use crate::error::{Result, fault, location};

/// The queries in an order in which each names only those before it and itself, and whether it names itself.
///
/// # Errors
/// 0A000 where two name each other.
pub(super) fn order(items: &[CommonTableExpr<'_>]) -> Result<Vec<(usize, bool)>> {
    let names: Vec<&str> = items.iter().map(|item| item.ctename().unwrap_or_default()).collect();
    let named: Vec<Vec<usize>> = items.iter().map(|item| named_by(*item, &names)).collect();
    let mut done: Vec<(usize, bool)> = Vec::new();
    while done.len() < items.len() {
        let is_done = |place: usize| done.iter().any(|(other, _)| *other == place);
        let is_ready = |place: &usize| {
            !is_done(*place) && named[*place].iter().all(|other| other == place || is_done(*other))
        };
        let Some(next) = (0..items.len()).find(is_ready) else {
            let first = (0..items.len()).find(|place| !is_done(*place)).expect("one is left");
            let at = location(items[first].location());
            let message = "mutual recursion between WITH items is not implemented";
            return Err(fault("0A000", at, message));
        };
        done.push((next, named[next].contains(&next)));
    }
    Ok(done)
}

/// Which queries a query names.
fn named_by(item: CommonTableExpr<'_>, names: &[&str]) -> Vec<usize> {
    let Some(query) = item.ctequery() else { return Vec::new() };
    let place = |node: Node<'_>| match node {
        Node::RangeVar(relation) if relation.schemaname().is_none() => {
            names.iter().position(|name| Some(*name) == relation.relname())
        }
        _ => None,
    };
    query.descendants().filter_map(place).collect()
}

/// The places where a node names a relation.
fn references<'t>(node: Option<Node<'t>>, name: &str) -> Vec<RangeVar<'t>> {
    let Some(node) = node else { return Vec::new() };
    let named = |node: Node<'t>| match node {
        Node::RangeVar(relation)
            if relation.schemaname().is_none() && relation.relname() == Some(name) =>
        {
            Some(relation)
        }
        _ => None,
    };
    node.descendants().filter_map(named).collect()
}

impl<'t> Analyzer<'t, '_> {
    /// # Errors
    /// 42P19 where a query that names itself is no UNION of what does not and what does; 0A000 for what such a query must not have.
    pub(super) fn check_recursive(&mut self, item: CommonTableExpr<'t>) -> Result<()> {
        let name = item.ctename().unwrap_or_default();
        let at = location(item.location());
        let form = || {
            let message = format!(
                "recursive query \"{name}\" does not have the form non-recursive-term UNION [ALL] recursive-term"
            );
            fault("42P19", at, message)
        };
        let select = match item.ctequery() {
            Some(Node::SelectStmt(select)) => select,
            _ => {
                let message = format!(
                    "recursive query \"{name}\" must not contain data-modifying statements"
                );
                return Err(fault("42P19", at, message));
            }
        };
        if select.op() != SetOperation::Union {
            return Err(form());
        }
        let left = references(select.larg().map(Node::from), name);
        let right = references(select.rarg().map(Node::from), name);
        if let Some(first) = left.first() {
            if right.is_empty() {
                return Err(form());
            }
            let at = location(first.location());
            let message = format!(
                "recursive reference to query \"{name}\" must not appear within its non-recursive term"
            );
            return Err(fault("42P19", at, message));
        }
        if let Some(second) = right.get(1) {
            let at = location(second.location());
            let message =
                format!("recursive reference to query \"{name}\" must not appear more than once");
            return Err(fault("42P19", at, message));
        }
        refuse_clauses(select)?;
        let names = item.aliascolnames().iter().filter_map(|name| name.value().map(Into::into));
        self.level().recursive_names = names.collect();
        Ok(())
    }
}

/// # Errors
/// 0A000 for clauses that no recursive query may have.
fn refuse_clauses(select: syntax::SelectStmt<'_>) -> Result<()> {
    let clause = if !select.sort_clause().is_empty() {
        "ORDER BY"
    } else if select.limit_offset().is_some() {
        "OFFSET"
    } else if select.limit_count().is_some() {
        "LIMIT"
    } else if !select.locking_clause().is_empty() {
        "FOR UPDATE/SHARE"
    } else {
        return Ok(());
    };
    Err(fault("0A000", -1, format!("{clause} in a recursive query is not implemented")))
}
