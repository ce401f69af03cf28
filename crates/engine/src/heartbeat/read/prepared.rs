//! A lane's plan with everything made ready that batches can share: operators' nodes, index handles.

use std::sync::Arc;

use super::probe_chain::ProbeChain;
use super::star::{self, Stars};
use crate::operators::{
    FilterNode, GroupNode, HashJoinNode, IndexJoinNode, ProjectNode, SortNode, ValuesNode,
};
use crate::plan::{LaneNode, LanePlan, SharedOperation};
use crate::scan::{KeyFilter, TableAccess};
use crate::storage::Store;
use crate::types::{DataType, Error, Predicate, Result, Scalar, SqlState, TableId};

/// A lane's plan, ready to run.
#[derive(Debug, Default)]
pub struct PreparedLane {
    /// The plan.
    pub plan: Arc<LanePlan>,
    /// One per node of the plan.
    pub nodes: Vec<PreparedNode>,
    /// Groupings over joins by unique keys that can run as one pass.
    pub stars: Stars,
}

/// OFFSET and LIMIT per variant.
pub type Cuts = Vec<(Option<Scalar>, Option<Scalar>)>;

/// A node, ready to run.
#[derive(Debug)]
pub enum PreparedNode {
    /// Index probes, from here down to the scan.
    Chain(Box<ProbeChain>),
    /// A table, with one access per variant.
    Scan { table: TableId, variants: Vec<TableAccess> },
    /// Given rows.
    Values(ValuesNode),
    /// Predicates.
    Filter(FilterNode),
    /// New columns.
    Project(ProjectNode),
    /// Partners by index, with each variant's way to the inner rows that it wants, and the same join by hash table where
    /// its keys are integers or dates.
    IndexJoin {
        table: TableId,
        node: IndexJoinNode,
        inner: Vec<TableAccess>,
        hash: Option<Box<HashJoinNode>>,
    },
    /// Partners by hash table.
    HashJoin(Box<HashJoinNode>),
    /// Groups, and DISTINCT.
    Group(GroupNode),
    /// An order.
    Sort(SortNode, Cuts),
    /// A cut.
    Limit(Cuts),
    /// All rows of all inputs.
    Union,
}

impl PreparedNode {
    /// A join by hash table, or an index join as one.
    pub fn hash_join(&self) -> &HashJoinNode {
        match self {
            PreparedNode::HashJoin(node) | PreparedNode::IndexJoin { hash: Some(node), .. } => node,
            other => unreachable!("{other:?} is no hash join"),
        }
    }
}

impl PreparedLane {
    /// Prepares a plan. Where `probes` is set, index accesses and index joins run as probe chains: what light
    /// templates are made of.
    pub fn new(plan: Arc<LanePlan>, store: &Store, probes: bool) -> Result<PreparedLane> {
        let nodes = (0..plan.nodes.len()).map(|n| prepare(&plan, n, store, probes));
        let nodes = nodes.collect::<Result<Vec<_>>>()?;
        let stars = star::find(&plan, &nodes, store)?;
        Ok(PreparedLane { nodes, plan, stars })
    }

    /// How often a node and those that it reads from read a table.
    pub fn reads_below(&self, n: usize, table: TableId) -> usize {
        let node = &self.plan.nodes[n];
        let own = node.operation.table() == Some(table);
        let below = node.inputs.iter().map(|&input| self.reads_below(input, table));
        usize::from(own) + below.sum::<usize>()
    }
}

fn prepare(plan: &LanePlan, n: usize, store: &Store, probes: bool) -> Result<PreparedNode> {
    let node = &plan.nodes[n];
    let walk = matches!(node.operation, SharedOperation::Walk { .. });
    if (probes || walk)
        && let Some(chain) = chain(plan, node, store)
    {
        return Ok(PreparedNode::Chain(Box::new(chain)));
    }
    Ok(match &node.operation {
        SharedOperation::Scan { table, variants } => {
            let variants = access(plan, n, *table, variants, store)?;
            PreparedNode::Scan { table: *table, variants }
        }
        SharedOperation::Walk { .. } => {
            return Err(Error::new(SqlState::UndefinedObject, "index does not exist"));
        }
        SharedOperation::Values { rows } => {
            PreparedNode::Values(ValuesNode { rows: rows.clone(), types: node.types.clone() })
        }
        SharedOperation::Filter { variants } => {
            PreparedNode::Filter(FilterNode { variants: variants.clone() })
        }
        SharedOperation::Project { expressions } => PreparedNode::Project(ProjectNode {
            expressions: expressions.clone(),
            types: node.types.clone(),
        }),
        SharedOperation::IndexJoin { kind, table, index, keys, inner, residuals } => {
            PreparedNode::IndexJoin {
                table: *table,
                node: IndexJoinNode {
                    kind: *kind,
                    index: *index,
                    keys: keys.clone(),
                    inner: inner.clone(),
                    residuals: residuals.clone(),
                },
                inner: access(plan, n, *table, inner, store)?,
                hash: as_hash_join(plan, n, store).map(Box::new),
            }
        }
        SharedOperation::HashJoin { kind, keys, residuals } => {
            let types = |i: usize| -> Vec<DataType> { plan.nodes[node.inputs[i]].types.clone() };
            PreparedNode::HashJoin(Box::new(HashJoinNode {
                kind: *kind,
                keys: keys.clone(),
                residuals: residuals.clone(),
                left_types: types(0),
                right_types: types(1),
            }))
        }
        SharedOperation::Aggregate { keys, determinants, aggregates } => {
            PreparedNode::Group(GroupNode {
                keys: keys.clone(),
                determinants: determinants.clone(),
                aggregates: aggregates.clone(),
            })
        }
        SharedOperation::Sort { keys, cuts } => {
            PreparedNode::Sort(SortNode { keys: keys.clone() }, cuts.clone())
        }
        SharedOperation::Limit { cuts } => PreparedNode::Limit(cuts.clone()),
        SharedOperation::Distinct => PreparedNode::Group(GroupNode::distinct(node.types.len())),
        SharedOperation::Union => PreparedNode::Union,
    })
}

/// An index join as a hash join over all rows of its inner table.
fn as_hash_join(plan: &LanePlan, n: usize, store: &Store) -> Option<HashJoinNode> {
    let node = &plan.nodes[n];
    let SharedOperation::IndexJoin { kind, table, index, keys, residuals, .. } = &node.operation
    else {
        return None;
    };
    let [key] = &keys[..] else { return None };
    let schema = store.table(*table)?.schema();
    let index = schema.indexes.iter().find(|own| own.id == *index)?;
    let left_types = plan.nodes[node.inputs[0]].types.clone();
    let right_types: Vec<DataType> = schema.columns.iter().map(|own| own.data_type).collect();
    let inner = index.columns.iter().map(|column| column.index());
    let keys: Vec<(usize, usize)> = key.iter().copied().zip(inner).collect();
    let fit = |&(a, b): &(usize, usize)| KeyFilter::is_for(left_types[a], right_types[b]);
    keys.iter().all(fit).then(|| HashJoinNode {
        kind: *kind,
        keys,
        residuals: residuals.clone(),
        left_types,
        right_types,
    })
}

/// How the variants of a node reach their rows of a table.
pub(super) fn access(
    plan: &LanePlan,
    node: usize,
    table: TableId,
    variants: &[Vec<Predicate>],
    store: &Store,
) -> Result<Vec<TableAccess>> {
    let missing = || Error::new(SqlState::UndefinedTable, "relation does not exist");
    let stored = store.table(table).ok_or_else(missing)?;
    let (schema, statistics) = (stored.schema(), stored.statistics());
    let access = |(predicates, member): (&Vec<_>, &usize)| {
        let types = plan.members[*member].compiled.parameter_types.as_slice().into();
        TableAccess::new(&schema, &statistics, predicates.clone().into(), types)
    };
    Ok(variants.iter().zip(&plan.nodes[node].members).map(access).collect())
}

/// The node's own part of its only template's tree as a probe chain, if it is one.
fn chain(plan: &LanePlan, node: &LaneNode, store: &Store) -> Option<ProbeChain> {
    let [member] = node.members[..] else {
        // A walk has no predicates: the first member's serves all.
        let first = *node.members.first()?;
        let walk = matches!(node.operation, SharedOperation::Walk { .. });
        return walk.then(|| operator_chain(plan, node, first, store)).flatten();
    };
    operator_chain(plan, node, member, store)
}

fn operator_chain(
    plan: &LanePlan,
    node: &LaneNode,
    member: usize,
    store: &Store,
) -> Option<ProbeChain> {
    let member = &plan.members[member];
    let position = member.uses.iter().position(|u| std::ptr::eq(&plan.nodes[u.node], node))?;
    let operators = member.compiled.root.with_nodes();
    ProbeChain::of(operators[position], store, &member.compiled.parameter_types)
}
