//! Filters go down to the scans; what compares both sides of a join becomes part of the join.

use super::columns::{move_predicate, reads_only};
use super::{Catalog, JoinKind, PlanNode};
use crate::types::{Comparison, Predicate, Result, Scalar};

/// Number of output columns of a node.
pub fn width(node: &PlanNode, catalog: &Catalog) -> Result<usize> {
    Ok(match node {
        PlanNode::Scan { table, .. } => catalog.table(*table)?.schema.columns.len(),
        PlanNode::Values { types, .. } | PlanNode::Project { types, .. } => types.len(),
        PlanNode::Filter { input, .. }
        | PlanNode::Sort { input, .. }
        | PlanNode::Limit { input, .. }
        | PlanNode::Distinct { input } => width(input, catalog)?,
        PlanNode::Join { kind: JoinKind::Semi | JoinKind::Anti, left, .. } => width(left, catalog)?,
        PlanNode::Join { left, right, .. } => width(left, catalog)? + width(right, catalog)?,
        PlanNode::Aggregate { keys, aggregates, .. } => keys.len() + aggregates.len(),
        PlanNode::Union { inputs } => match inputs.first() {
            Some(first) => width(first, catalog)?,
            None => 0,
        },
    })
}

/// The same tree with every predicate as deep as it may go.
pub fn push_filters(node: PlanNode, catalog: &Catalog) -> Result<PlanNode> {
    push(node, Vec::new(), catalog)
}

/// `node` with a filter, where there is something to ask.
pub fn filtered(node: PlanNode, predicates: Vec<Predicate>) -> PlanNode {
    match predicates.is_empty() {
        true => node,
        false => PlanNode::Filter { input: Box::new(node), predicates },
    }
}

/// `node` with `predicates` (over its output) applied.
fn push(node: PlanNode, mut predicates: Vec<Predicate>, catalog: &Catalog) -> Result<PlanNode> {
    Ok(match node {
        PlanNode::Scan { table, predicates: mut own } => {
            own.append(&mut predicates);
            PlanNode::Scan { table, predicates: own }
        }
        PlanNode::Values { .. } => filtered(node, predicates),
        PlanNode::Filter { input, predicates: mut own } => {
            own.append(&mut predicates);
            push(*input, own, catalog)?
        }
        PlanNode::Project { input, expressions, types } => {
            push_project(*input, expressions, types, predicates, catalog)?
        }
        PlanNode::Join { kind, left, right, keys, residual } => {
            let join = Join { kind, left: *left, right: *right, keys, residual };
            push_join(join, predicates, catalog)?
        }
        PlanNode::Aggregate { input, keys, aggregates } => {
            let deep = |p: &Predicate| reads_only(p, |c| c < keys.len()) && !keys.is_empty();
            let (down, stay): (Vec<_>, Vec<_>) = predicates.into_iter().partition(deep);
            let down = down.iter().map(|p| move_predicate(p, &|c| keys[c])).collect();
            let input = Box::new(push(*input, down, catalog)?);
            filtered(PlanNode::Aggregate { input, keys, aggregates }, stay)
        }
        PlanNode::Sort { input, keys, skip: None, fetch: None } => {
            let input = Box::new(push(*input, predicates, catalog)?);
            PlanNode::Sort { input, keys, skip: None, fetch: None }
        }
        PlanNode::Sort { input, keys, skip, fetch } => {
            let input = Box::new(push(*input, Vec::new(), catalog)?);
            filtered(PlanNode::Sort { input, keys, skip, fetch }, predicates)
        }
        PlanNode::Limit { input, skip, fetch } => {
            let input = Box::new(push(*input, Vec::new(), catalog)?);
            filtered(PlanNode::Limit { input, skip, fetch }, predicates)
        }
        PlanNode::Distinct { input } => {
            PlanNode::Distinct { input: Box::new(push(*input, predicates, catalog)?) }
        }
        PlanNode::Union { inputs } => {
            let pushed = |input| push(input, predicates.clone(), catalog);
            PlanNode::Union { inputs: inputs.into_iter().map(pushed).collect::<Result<_>>()? }
        }
    })
}

fn push_project(
    input: PlanNode,
    expressions: Vec<Scalar>,
    types: Vec<crate::types::DataType>,
    predicates: Vec<Predicate>,
    catalog: &Catalog,
) -> Result<PlanNode> {
    let source = |c: usize| match expressions[c] {
        Scalar::Column(column) => Some(column),
        _ => None,
    };
    let deep = |p: &Predicate| reads_only(p, |c| source(c).is_some());
    let (down, stay): (Vec<_>, Vec<_>) = predicates.into_iter().partition(deep);
    let to = |c: usize| source(c).expect("only predicates over plain columns go down");
    let down = down.iter().map(|p| move_predicate(p, &to)).collect();
    let input = Box::new(push(input, down, catalog)?);
    Ok(filtered(PlanNode::Project { input, expressions, types }, stay))
}

struct Join {
    kind: JoinKind,
    left: PlanNode,
    right: PlanNode,
    keys: Vec<(usize, usize)>,
    residual: Vec<Predicate>,
}

/// Which inputs a join kind lets a predicate of WHERE, or of the join condition, pass into. A condition on the
/// preserved side decides about partners, not about rows: it stays.
struct Passes {
    where_left: bool,
    where_right: bool,
    on_left: bool,
    on_right: bool,
}

fn passes(kind: JoinKind) -> Passes {
    let (where_left, where_right, on_left, on_right) = match kind {
        JoinKind::Inner => (true, true, true, true),
        JoinKind::Left => (true, false, false, true),
        JoinKind::Right => (false, true, true, false),
        JoinKind::Full => (false, false, false, false),
        JoinKind::Semi => (true, false, true, true),
        JoinKind::Anti => (true, false, false, true),
    };
    Passes { where_left, where_right, on_left, on_right }
}

fn push_join(mut join: Join, predicates: Vec<Predicate>, catalog: &Catalog) -> Result<PlanNode> {
    let split = width(&join.left, catalog)?;
    let passes = passes(join.kind);
    let (mut left, mut right, mut above, mut on) = (vec![], vec![], vec![], vec![]);
    let is_left = |p: &Predicate| reads_only(p, |c| c < split);
    let is_right = |p: &Predicate| reads_only(p, |c| c >= split);
    for predicate in predicates {
        if passes.where_left && is_left(&predicate) {
            left.push(predicate);
        } else if passes.where_right && is_right(&predicate) {
            right.push(move_predicate(&predicate, &|c| c - split));
        } else if join.kind == JoinKind::Inner {
            join.residual.push(predicate);
        } else {
            above.push(predicate);
        }
    }
    for predicate in join.residual {
        if passes.on_left && is_left(&predicate) {
            left.push(predicate);
        } else if passes.on_right && is_right(&predicate) {
            right.push(move_predicate(&predicate, &|c| c - split));
        } else if let Some(key) = equality_key(&predicate, split) {
            join.keys.push(key);
        } else {
            on.push(predicate);
        }
    }
    let node = PlanNode::Join {
        kind: join.kind,
        left: Box::new(push(join.left, left, catalog)?),
        right: Box::new(push(join.right, right, catalog)?),
        keys: join.keys,
        residual: on,
    };
    Ok(filtered(node, above))
}

/// `left column = right column`, either way round.
fn equality_key(predicate: &Predicate, split: usize) -> Option<(usize, usize)> {
    match predicate {
        Predicate::Compare {
            column,
            comparison: Comparison::Equal,
            value: Scalar::Column(other),
        } => match (*column < split, *other < split) {
            (true, false) => Some((*column, *other - split)),
            (false, true) => Some((*other, *column - split)),
            _ => None,
        },
        _ => None,
    }
}
