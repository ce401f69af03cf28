//! A template after planning: physical operators with their estimates, before it meets other templates.

use std::sync::Arc;

use super::access::Access;
use super::{Aggregate, JoinKind, SortKey};
use crate::types::{DataType, Expression, IndexId, NodeId, Predicate, Scalar, TableId};

/// A template's physical plan.
#[derive(Clone, Debug)]
pub struct CompiledTemplate {
    /// The tree; its output columns are the answer's.
    pub root: Operator,
    /// Values computed once per activation, appended to its parameters in this order.
    pub derived: Vec<DerivedParameter>,
    /// Scalar subqueries in the order in which they run.
    pub subqueries: Vec<CompiledSubquery>,
    /// Which kind of lane it belongs to.
    pub weight: Weight,
    /// Parameters that an activation brings, those of subqueries included; derived ones follow.
    pub parameters: usize,
    /// Those at the end of these that scalar subqueries give; nobody reads what a subquery gives that was joined.
    pub of_subqueries: usize,
    /// Types of all parameters, derived ones at the end.
    pub parameter_types: Vec<DataType>,
    /// Nanoseconds of one activation on the query-at-a-time path.
    pub query_at_a_time: f64,
}

impl CompiledTemplate {
    /// Nanoseconds of one activation by itself: its operators, subqueries included, and handing its rows over.
    pub fn one(&self) -> f64 {
        let subqueries: f64 = self.subqueries.iter().map(|own| own.root.total_cost()).sum();
        subqueries + self.root.total_cost() + self.root.estimate.rows * super::cost::ROUTE_ROW
    }
}

/// A scalar subquery after planning.
#[derive(Clone, Debug)]
pub struct CompiledSubquery {
    /// The parameter that receives the value.
    pub parameter: usize,
    /// A tree with one output column.
    pub root: Operator,
    /// Whether index probes alone answer it.
    pub weight: Weight,
}

/// An expression over parameters only.
#[derive(Clone, Debug)]
pub struct DerivedParameter {
    /// What to evaluate.
    pub expression: Arc<dyn Expression>,
    /// Subqueries (by position) that must have run before: the first `stage` of them.
    pub stage: usize,
}

/// How much work one activation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// A few index probes with a small bounded fan-out.
    Light,
    /// Anything else.
    Heavy,
}

/// One physical operator of one template.
#[derive(Clone, Debug)]
pub struct Operator {
    /// What it does.
    pub operation: Operation,
    /// Where its rows come from.
    pub inputs: Vec<Operator>,
    /// Types of the output columns.
    pub types: Vec<DataType>,
    /// What it will cost.
    pub estimate: Estimate,
    /// Rows that a source looks at: the table's for a scan, those fetched for an index access. A dimension's for an
    /// index join, else 0 there.
    pub looked_at: f64,
    /// Its node in the global plan; given when the template is merged.
    pub node: NodeId,
}

/// Output rows and the work of this operator alone, inputs not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Rows for one activation.
    pub rows: f64,
    /// Rows that somebody wants, however many activations there are.
    pub limit: f64,
    /// Nanoseconds for one activation.
    pub cost: f64,
}

impl Estimate {
    /// Rows that at least one of `activations` wants, if they choose independently.
    pub fn union(&self, activations: f64) -> f64 {
        if self.limit <= self.rows || activations <= 1.0 {
            return self.rows;
        }
        self.limit * (1.0 - (1.0 - self.rows / self.limit).powf(activations))
    }
}

/// What an operator does. Columns are positions in the concatenated output of the inputs.
#[derive(Clone, Debug)]
pub enum Operation {
    /// A table's rows.
    Scan {
        /// The table.
        table: TableId,
        /// A conjunction.
        predicates: Vec<Predicate>,
        /// The way to one activation's rows.
        access: Access,
    },
    /// Rows given in the statement.
    Values {
        /// Row after row.
        rows: Vec<Vec<Scalar>>,
        /// The columns' types.
        types: Vec<DataType>,
    },
    /// Rows that meet all predicates.
    Filter {
        /// A conjunction.
        predicates: Vec<Predicate>,
    },
    /// New columns.
    Project {
        /// One per output column.
        expressions: Vec<Scalar>,
        /// Their types.
        types: Vec<DataType>,
    },
    /// Each outer row looks its partners up in an index of the inner table.
    IndexJoin {
        /// Inner, left, semi or anti.
        kind: JoinKind,
        /// The inner table.
        table: TableId,
        /// The index.
        index: IndexId,
        /// Its name, for EXPLAIN.
        index_name: Arc<str>,
        /// Whether a key names at most one inner row.
        unique: bool,
        /// Alternatives (IN over outer columns); each gives the first key columns as outer positions.
        keys: Vec<Vec<usize>>,
        /// Conditions on the inner row, by its own columns.
        predicates: Vec<Predicate>,
        /// Further conditions over outer ++ inner.
        residual: Vec<Predicate>,
    },
    /// Partners through a hash table over the second input.
    HashJoin {
        /// The kind.
        kind: JoinKind,
        /// Pairs of (column of the first input, column of the second).
        keys: Vec<(usize, usize)>,
        /// Further conditions over first ++ second.
        residual: Vec<Predicate>,
    },
    /// One row per distinct key: puts out keys ++ aggregates.
    Aggregate {
        /// Grouping columns.
        keys: Vec<usize>,
        /// The fewest of them that tell groups apart; the others are read from any row of the group.
        determinants: Vec<usize>,
        /// The aggregates.
        aggregates: Vec<Aggregate>,
    },
    /// Sorted, cut per activation.
    Sort {
        /// Most significant first.
        keys: Vec<SortKey>,
        /// Rows to skip.
        skip: Option<Scalar>,
        /// Rows to keep.
        fetch: Option<Scalar>,
    },
    /// Cut per activation.
    Limit {
        /// Rows to skip.
        skip: Option<Scalar>,
        /// Rows to keep.
        fetch: Option<Scalar>,
    },
    /// Each distinct row once.
    Distinct,
    /// The rows of all inputs.
    Union,
    /// The rows of an equal sub-plan of the same tree, whose node it reads.
    Reused {
        /// That sub-plan's root: its position among those operators of the tree that have nodes, inputs first.
        first: usize,
        /// What it stands for.
        operator: Arc<Operator>,
    },
}

impl Operator {
    /// All operators of the tree, inputs before their consumers.
    pub fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a Operator)) {
        self.inputs.iter().for_each(|input| input.visit(visitor));
        visitor(self);
    }

    /// Nanoseconds of the whole tree for one activation.
    pub fn total_cost(&self) -> f64 {
        let mut total = 0.0;
        self.visit(&mut |operator| total += operator.estimate.cost);
        total
    }

    /// The operators of the tree that have a node when it is merged, in the order in which they get it.
    pub fn with_nodes(&self) -> Vec<&Operator> {
        let mut found = Vec::new();
        self.visit(&mut |operator| found.push(operator));
        found.retain(|operator| !matches!(operator.operation, Operation::Reused { .. }));
        found
    }

    /// Whether every row of the tree is reached through an index or given in the statement.
    pub fn only_probes(&self) -> bool {
        let mut probes = true;
        self.visit(&mut |operator| {
            probes &= !matches!(
                operator.operation,
                Operation::Scan { access: Access::Scan, .. } | Operation::HashJoin { .. }
            );
        });
        probes
    }
}
