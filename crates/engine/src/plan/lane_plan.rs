//! One lane's part of the global plan: shared nodes in an order in which inputs come first.
//!
//! Immutable once built; a changed set of templates makes a new one. Each template that uses a node adds one
//! variant to it: its predicates, its residual conditions, its cut.

use std::collections::HashMap;
use std::sync::Arc;

use super::catalog::Catalog;
use super::column_comparison::opaque;
use super::compiled::{CompiledTemplate, Operation, Operator};
use super::cost::{self, Decision};
use super::signature::Signatures;
use super::{Access, Aggregate, IndexAccess, JoinKind, SortKey};
use crate::types::{DataType, IndexId, NodeId, Predicate, Scalar, TableId, TemplateId};

/// A template in a lane.
#[derive(Clone, Debug)]
pub struct Member {
    /// The template.
    pub template: TemplateId,
    /// Its plan.
    pub compiled: Arc<CompiledTemplate>,
    /// The nodes that it uses and its variant in each; inputs first, the last one gives its answer.
    pub uses: Vec<NodeUse>,
}

/// One template's use of one node.
#[derive(Clone, Copy, Debug)]
pub struct NodeUse {
    /// Position in [`LanePlan::nodes`].
    pub node: usize,
    /// Position among the node's variants.
    pub variant: usize,
}

/// A shared operator.
#[derive(Clone, Debug)]
pub struct LaneNode {
    /// Its number in the global plan.
    pub id: NodeId,
    /// What it is, without predicates.
    pub signature: Arc<str>,
    /// What it does.
    pub operation: SharedOperation,
    /// Positions of its inputs in [`LanePlan::nodes`].
    pub inputs: Vec<usize>,
    /// Nodes that read it; one that reads it on both sides is there twice.
    pub consumers: Vec<usize>,
    /// Types of its output columns.
    pub types: Vec<DataType>,
    /// One activation's operator of each variant, for costs.
    pub estimates: Vec<Operator>,
    /// Members that use it.
    pub members: Vec<usize>,
}

/// A shared operator's work, with what its variants do not share.
#[derive(Clone, Debug)]
pub enum SharedOperation {
    /// A table's rows.
    Scan {
        /// The table.
        table: TableId,
        /// One conjunction per variant.
        variants: Vec<Vec<Predicate>>,
    },
    /// The first or last rows of an ordered index.
    Walk {
        /// The table.
        table: TableId,
        /// The index and where to stop.
        access: IndexAccess,
    },
    /// Rows given in the statement.
    Values {
        /// Row after row.
        rows: Vec<Vec<Scalar>>,
    },
    /// Rows that meet the predicates.
    Filter {
        /// One conjunction per variant.
        variants: Vec<Vec<Predicate>>,
    },
    /// New columns.
    Project {
        /// One per output column.
        expressions: Vec<Scalar>,
    },
    /// Partners through an index.
    IndexJoin {
        /// The kind.
        kind: JoinKind,
        /// The inner table.
        table: TableId,
        /// Its index.
        index: IndexId,
        /// Outer columns per alternative.
        keys: Vec<Vec<usize>>,
        /// Conditions on inner rows, one conjunction per variant.
        inner: Vec<Vec<Predicate>>,
        /// Conditions over both, one conjunction per variant.
        residuals: Vec<Vec<Predicate>>,
    },
    /// Partners through a hash table over the second input.
    HashJoin {
        /// The kind.
        kind: JoinKind,
        /// (column of the first input, column of the second).
        keys: Vec<(usize, usize)>,
        /// Conditions over both, one conjunction per variant.
        residuals: Vec<Vec<Predicate>>,
    },
    /// One row per key and slot.
    Aggregate {
        /// Grouping columns.
        keys: Vec<usize>,
        /// Those that tell groups apart.
        determinants: Vec<usize>,
        /// The aggregates.
        aggregates: Vec<Aggregate>,
    },
    /// Sorted, cut per slot.
    Sort {
        /// The keys.
        keys: Vec<SortKey>,
        /// OFFSET and LIMIT per variant.
        cuts: Vec<(Option<Scalar>, Option<Scalar>)>,
    },
    /// Cut per slot.
    Limit {
        /// OFFSET and LIMIT per variant.
        cuts: Vec<(Option<Scalar>, Option<Scalar>)>,
    },
    /// Distinct rows.
    Distinct,
    /// The rows of all inputs.
    Union,
}

/// Shared nodes and the templates over them.
#[derive(Clone, Debug, Default)]
pub struct LanePlan {
    /// Inputs come before their consumers.
    pub nodes: Vec<LaneNode>,
    /// The templates.
    pub members: Vec<Member>,
    by_signature: HashMap<Arc<str>, usize>,
    by_template: HashMap<TemplateId, usize>,
}

impl LanePlan {
    /// What the cost model says for a batch of activations of these templates.
    pub fn predict(&self, activations: &[TemplateId]) -> std::time::Duration {
        let members: Vec<usize> = activations.iter().filter_map(|t| self.member(*t)).collect();
        let decisions = self.decide(&members).into_iter().flatten();
        let work: f64 = decisions.map(|decision| decision.shared.min(decision.alone)).sum();
        let rows = |member: &usize| self.members[*member].compiled.root.estimate.rows;
        let routed: f64 = members.iter().map(rows).sum::<f64>() * cost::ROUTE_ROW;
        std::time::Duration::from_nanos((work + routed) as u64)
    }

    /// Per node: shared or alone, for activations of these members; `None` where none of them uses it.
    pub fn decide(&self, activations: &[usize]) -> Vec<Option<Decision>> {
        let mut counts = vec![0; self.members.len()];
        activations.iter().for_each(|member| counts[*member] += 1);
        let mut users: Vec<Vec<(&Operator, usize)>> = vec![Vec::new(); self.nodes.len()];
        for (member, count) in self.members.iter().zip(counts).filter(|(_, count)| *count > 0) {
            for NodeUse { node, variant } in &member.uses {
                users[*node].push((&self.nodes[*node].estimates[*variant], count));
            }
        }
        users.iter().map(|users| cost::decide(users)).collect()
    }

    /// The position of a template among the members.
    pub fn member(&self, template: TemplateId) -> Option<usize> {
        self.by_template.get(&template).copied()
    }

    /// The position of the node with this signature.
    pub fn node(&self, signature: &str) -> Option<usize> {
        self.by_signature.get(signature).copied()
    }

    /// Merges a template in. `number` numbers nodes across lanes.
    pub fn add(
        &mut self,
        template: TemplateId,
        compiled: Arc<CompiledTemplate>,
        catalog: &Catalog,
        number: &mut dyn FnMut(&str) -> NodeId,
    ) {
        let position = self.members.len();
        let mut merge = Merge {
            plan: self,
            member: position,
            signatures: Signatures::new(catalog),
            number,
            uses: Vec::new(),
        };
        merge.operator(&compiled.root);
        let uses = merge.uses;
        self.members.push(Member { template, compiled, uses });
        self.by_template.insert(template, position);
    }
}

struct Merge<'a, 'c> {
    plan: &'a mut LanePlan,
    member: usize,
    signatures: Signatures<'c>,
    number: &'a mut dyn FnMut(&str) -> NodeId,
    uses: Vec<NodeUse>,
}

impl Merge<'_, '_> {
    /// Finds or makes the operator's node and adds this template's variant; returns the node's position.
    fn operator(&mut self, operator: &Operator) -> usize {
        if let Operation::Reused { first, .. } = operator.operation {
            return self.uses[first].node;
        }
        let inputs: Vec<usize> = operator.inputs.iter().map(|i| self.operator(i)).collect();
        let below: Vec<Arc<str>> =
            inputs.iter().map(|i| self.plan.nodes[*i].signature.clone()).collect();
        let below: Vec<&str> = below.iter().map(|s| &**s).collect();
        let signature = self.signatures.sign(operator, &below);
        let signature = self.of_own_width(signature, operator);
        let position = match self.plan.node(&signature) {
            Some(position) => position,
            None => self.new_node(operator, signature.into(), inputs),
        };
        let node = &mut self.plan.nodes[position];
        let variant = node.estimates.len();
        node.operation.add_variant(&operator.operation);
        node.estimates.push(Operator { inputs: shallow(&operator.inputs), ..operator.clone() });
        node.members.push(self.member);
        self.uses.push(NodeUse { node: position, variant });
        position
    }

    /// Templates that were planned before a table got a column share nothing with those that were planned after.
    fn of_own_width(&self, signature: String, operator: &Operator) -> String {
        let columns = operator.types.len();
        let known = self.plan.node(&signature).map(|node| self.plan.nodes[node].types.len());
        match known.is_none_or(|known| known == columns) {
            true => signature,
            false => format!("{signature} of {columns} columns"),
        }
    }

    fn new_node(&mut self, operator: &Operator, signature: Arc<str>, inputs: Vec<usize>) -> usize {
        let position = self.plan.nodes.len();
        inputs.iter().for_each(|i| self.plan.nodes[*i].consumers.push(position));
        self.plan.by_signature.insert(signature.clone(), position);
        self.plan.nodes.push(LaneNode {
            id: (self.number)(&signature),
            signature,
            operation: SharedOperation::of(&operator.operation),
            inputs,
            consumers: Vec::new(),
            types: operator.types.clone(),
            estimates: Vec::new(),
            members: Vec::new(),
        });
        position
    }
}

/// The inputs' estimates without what lies below them.
fn shallow(inputs: &[Operator]) -> Vec<Operator> {
    let without = |input: &Operator| Operator {
        operation: Operation::Union,
        inputs: Vec::new(),
        types: Vec::new(),
        ..input.clone()
    };
    inputs.iter().map(without).collect()
}

fn conditions(predicates: &[Predicate]) -> Vec<Predicate> {
    predicates.iter().cloned().map(opaque).collect()
}

impl SharedOperation {
    /// The table that it reads itself.
    pub fn table(&self) -> Option<TableId> {
        match self {
            SharedOperation::Scan { table, .. }
            | SharedOperation::Walk { table, .. }
            | SharedOperation::IndexJoin { table, .. } => Some(*table),
            _ => None,
        }
    }

    /// The operation without variants.
    fn of(operation: &Operation) -> SharedOperation {
        match operation {
            Operation::Scan { table, access: Access::Index(access), .. }
                if access.first.is_some() =>
            {
                SharedOperation::Walk { table: *table, access: access.clone() }
            }
            Operation::Scan { table, .. } => {
                SharedOperation::Scan { table: *table, variants: Vec::new() }
            }
            Operation::Values { rows, .. } => SharedOperation::Values { rows: rows.clone() },
            Operation::Filter { .. } => SharedOperation::Filter { variants: Vec::new() },
            Operation::Project { expressions, .. } => {
                SharedOperation::Project { expressions: expressions.clone() }
            }
            Operation::IndexJoin { kind, table, index, keys, .. } => SharedOperation::IndexJoin {
                kind: *kind,
                table: *table,
                index: *index,
                keys: keys.clone(),
                inner: Vec::new(),
                residuals: Vec::new(),
            },
            Operation::HashJoin { kind, keys, .. } => {
                SharedOperation::HashJoin { kind: *kind, keys: keys.clone(), residuals: Vec::new() }
            }
            Operation::Aggregate { keys, determinants, aggregates } => SharedOperation::Aggregate {
                keys: keys.clone(),
                determinants: determinants.clone(),
                aggregates: aggregates.clone(),
            },
            Operation::Sort { keys, .. } => {
                SharedOperation::Sort { keys: keys.clone(), cuts: Vec::new() }
            }
            Operation::Limit { .. } => SharedOperation::Limit { cuts: Vec::new() },
            Operation::Distinct => SharedOperation::Distinct,
            Operation::Union => SharedOperation::Union,
            Operation::Reused { .. } => unreachable!("it has the node of another operator"),
        }
    }

    fn add_variant(&mut self, operation: &Operation) {
        match (self, operation) {
            (SharedOperation::Scan { variants, .. }, Operation::Scan { predicates, .. }) => {
                variants.push(predicates.clone());
            }
            (SharedOperation::Filter { variants }, Operation::Filter { predicates }) => {
                variants.push(conditions(predicates));
            }
            (
                SharedOperation::IndexJoin { inner, residuals, .. },
                Operation::IndexJoin { predicates, residual, .. },
            ) => {
                inner.push(conditions(predicates));
                residuals.push(conditions(residual));
            }
            (SharedOperation::HashJoin { residuals, .. }, Operation::HashJoin { residual, .. }) => {
                residuals.push(conditions(residual));
            }
            (SharedOperation::Sort { cuts, .. }, Operation::Sort { skip, fetch, .. })
            | (SharedOperation::Limit { cuts }, Operation::Limit { skip, fetch }) => {
                cuts.push((skip.clone(), fetch.clone()));
            }
            _ => {}
        }
    }
}
