//! Semi joins on keys alone become inner joins with the distinct keys: then they take part in join ordering.
//!
//! `o_c_id IN (SELECT ...)` over a join of orders and order lines restricts the orders before their lines are
//! looked up. Where the key is unique on the right side, nothing is left to make distinct: both orders are open. Where
//! the right side is a table with another index on the key, the semi join stays: probing is cheaper.

use super::catalog::Catalog;
use super::push_filters::width;
use super::{JoinKind, PlanNode};
use crate::types::{DataType, Result, Scalar};

/// Pairs of a left and a right column.
type Keys = Vec<(usize, usize)>;

/// The tree with its semi joins turned where that helps.
pub fn turn_semi_joins(node: PlanNode, catalog: &Catalog) -> Result<PlanNode> {
    let node = node.map_inputs(&mut |input| turn_semi_joins(input, catalog))?;
    let PlanNode::Join { kind: JoinKind::Semi, left, right, keys, residual } = node else {
        return Ok(node);
    };
    let is_unique = is_unique(&right, &keys, catalog)?;
    let stays = !is_unique && probes(&right, &keys, catalog)?;
    if keys.is_empty() || !residual.is_empty() || stays {
        return Ok(PlanNode::Join { kind: JoinKind::Semi, left, right, keys, residual });
    }
    let left_types = types(&left, catalog)?;
    let width = width(&left, catalog)?;
    let (right, keys) = match is_unique {
        true => (right, keys),
        false => distinct_keys(*right, keys, catalog)?,
    };
    let kind = JoinKind::Inner;
    let joined = PlanNode::Join { kind, left, right, keys, residual };
    Ok(pick(joined, &(0..width).collect::<Vec<_>>(), &left_types))
}

/// The distinct keys of a right side, and the keys as pairs with their columns.
fn distinct_keys(right: PlanNode, keys: Keys, catalog: &Catalog) -> Result<(Box<PlanNode>, Keys)> {
    let types = types(&right, catalog)?;
    let columns: Vec<usize> = keys.iter().map(|key| key.1).collect();
    let distinct = PlanNode::Distinct { input: Box::new(pick(right, &columns, &types)) };
    let keys = keys.iter().enumerate().map(|(i, key)| (key.0, i)).collect();
    Ok((Box::new(distinct), keys))
}

/// Only these columns of `node`; their types come from `types`.
fn pick(node: PlanNode, columns: &[usize], types: &[DataType]) -> PlanNode {
    PlanNode::Project {
        input: Box::new(node),
        expressions: columns.iter().map(|c| Scalar::Column(*c)).collect(),
        types: columns.iter().map(|c| types[*c]).collect(),
    }
}

/// Whether at most one row of the right side has a key.
fn is_unique(right: &PlanNode, keys: &[(usize, usize)], catalog: &Catalog) -> Result<bool> {
    let PlanNode::Scan { table, .. } = right else { return Ok(false) };
    let columns: Vec<usize> = keys.iter().map(|key| key.1).collect();
    Ok(catalog.table(*table)?.is_unique(&columns))
}

fn probes(right: &PlanNode, keys: &[(usize, usize)], catalog: &Catalog) -> Result<bool> {
    let PlanNode::Scan { table, .. } = right else { return Ok(false) };
    let indexes = &catalog.table(*table)?.schema.indexes;
    let reached = |c: &crate::types::ColumnId| keys.iter().any(|key| key.1 == c.index());
    Ok(indexes.iter().any(|index| index.columns.iter().all(reached)))
}

/// Types of a node's output columns.
pub fn types(node: &PlanNode, catalog: &Catalog) -> Result<Vec<DataType>> {
    Ok(match node {
        PlanNode::Scan { table, .. } => {
            catalog.table(*table)?.schema.columns.iter().map(|c| c.data_type).collect()
        }
        PlanNode::Values { types, .. } | PlanNode::Project { types, .. } => types.clone(),
        PlanNode::Filter { input, .. }
        | PlanNode::Sort { input, .. }
        | PlanNode::Limit { input, .. }
        | PlanNode::Distinct { input } => types(input, catalog)?,
        PlanNode::Join { kind: JoinKind::Semi | JoinKind::Anti, left, .. } => types(left, catalog)?,
        PlanNode::Join { left, right, .. } => {
            let mut all = types(left, catalog)?;
            all.extend(types(right, catalog)?);
            all
        }
        PlanNode::Aggregate { input, keys, aggregates } => {
            let input = types(input, catalog)?;
            let keys = keys.iter().map(|key| input[*key]);
            keys.chain(aggregates.iter().map(|a| a.data_type)).collect()
        }
        PlanNode::Union { inputs } => match inputs.first() {
            Some(first) => types(first, catalog)?,
            None => Vec::new(),
        },
    })
}
