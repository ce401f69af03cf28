//! A statement as the engine receives it: a tree of relational operators over parameters.
//!
//! Columns are positions among the input's output columns. A scan puts out all columns of its table by
//! [`crate::types::ColumnId`] (they are read late, so unused ones cost nothing); a join puts out left ++ right
//! (semi and anti joins: left only); an aggregate puts out keys ++ aggregates.

use std::sync::Arc;

use crate::types::{DataType, Expression, Predicate, Result, Scalar, TableId, TableSchema, Value};

/// A query, planned once for all its activations.
#[derive(Clone, Debug)]
pub struct TemplatePlan {
    /// The tree.
    pub root: PlanNode,
    /// What the client gets, one per output column of `root`.
    pub output: Arc<[OutputColumn]>,
    /// Types of the activation's parameters, those of the subqueries at the end.
    pub parameters: Vec<DataType>,
    /// Values that the first ones of these had as literals in the statement that is planned first: estimates go by them.
    pub peeked: Vec<Option<Value>>,
    /// Uncorrelated scalar subqueries: run first, on the same snapshot; their value becomes a parameter.
    pub scalar_subqueries: Vec<ScalarSubquery>,
    /// What its tables were when it was planned. It runs over no others: positions of columns are those of these.
    pub definitions: Vec<Arc<TableSchema>>,
    /// The statement with its literals lifted, for EXPLAIN and `shareddb.templates`.
    pub text: Arc<str>,
}

/// A column of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputColumn {
    /// The name that the client sees.
    pub name: Arc<str>,
    /// Its type.
    pub data_type: DataType,
}

/// `(SELECT ...)` as a value: no row gives NULL, several rows give 21000.
#[derive(Clone, Debug)]
pub struct ScalarSubquery {
    /// The parameter that receives the value.
    pub parameter: usize,
    /// A tree with one output column; it sees the same parameters.
    pub root: PlanNode,
}

/// A relational operator.
#[derive(Clone, Debug)]
pub enum PlanNode {
    /// The rows of a table that meet all predicates.
    Scan {
        /// The table.
        table: TableId,
        /// A conjunction.
        predicates: Vec<Predicate>,
    },
    /// Rows given in the statement: `VALUES`, or one row without columns where there is no FROM.
    Values {
        /// Row after row.
        rows: Vec<Vec<Scalar>>,
        /// The columns' types.
        types: Vec<DataType>,
    },
    /// Rows that meet all predicates.
    Filter {
        /// The input.
        input: Box<PlanNode>,
        /// A conjunction.
        predicates: Vec<Predicate>,
    },
    /// Computes the output columns anew.
    Project {
        /// The input.
        input: Box<PlanNode>,
        /// One per output column.
        expressions: Vec<Scalar>,
        /// Their types.
        types: Vec<DataType>,
    },
    /// Pairs of rows with equal keys; NULL equals nothing.
    Join {
        /// Inner, outer, semi or anti.
        kind: JoinKind,
        /// The left input.
        left: Box<PlanNode>,
        /// The right input.
        right: Box<PlanNode>,
        /// Pairs of (left column, right column); empty for a cross join.
        keys: Vec<(usize, usize)>,
        /// Further conditions over left ++ right columns, part of the join condition (not of WHERE).
        residual: Vec<Predicate>,
    },
    /// One row per distinct key; without keys exactly one row.
    Aggregate {
        /// The input.
        input: Box<PlanNode>,
        /// Grouping columns; NULL is a group of its own.
        keys: Vec<usize>,
        /// The aggregates.
        aggregates: Vec<Aggregate>,
    },
    /// Sorts; with `fetch` a Top-N.
    Sort {
        /// The input.
        input: Box<PlanNode>,
        /// Most significant first.
        keys: Vec<SortKey>,
        /// Rows to skip (parameter or literal, NULL is 0).
        skip: Option<Scalar>,
        /// Rows to keep at most (parameter or literal, NULL is all).
        fetch: Option<Scalar>,
    },
    /// Any `fetch` rows after any `skip` rows, in input order.
    Limit {
        /// The input.
        input: Box<PlanNode>,
        /// Rows to skip.
        skip: Option<Scalar>,
        /// Rows to keep at most.
        fetch: Option<Scalar>,
    },
    /// Each distinct row once; NULLs are equal here.
    Distinct {
        /// The input.
        input: Box<PlanNode>,
    },
    /// UNION ALL: the rows of all inputs, which have equal types.
    Union {
        /// The inputs.
        inputs: Vec<PlanNode>,
    },
}

impl PlanNode {
    /// The same operator over what `map` makes of its inputs.
    pub fn map_inputs(self, map: &mut dyn FnMut(PlanNode) -> Result<PlanNode>) -> Result<PlanNode> {
        let mut boxed = |node: Box<PlanNode>| map(*node).map(Box::new);
        Ok(match self {
            PlanNode::Scan { .. } | PlanNode::Values { .. } => self,
            PlanNode::Filter { input, predicates } => {
                PlanNode::Filter { input: boxed(input)?, predicates }
            }
            PlanNode::Project { input, expressions, types } => {
                PlanNode::Project { input: boxed(input)?, expressions, types }
            }
            PlanNode::Join { kind, left, right, keys, residual } => {
                PlanNode::Join { kind, left: boxed(left)?, right: boxed(right)?, keys, residual }
            }
            PlanNode::Aggregate { input, keys, aggregates } => {
                PlanNode::Aggregate { input: boxed(input)?, keys, aggregates }
            }
            PlanNode::Sort { input, keys, skip, fetch } => {
                PlanNode::Sort { input: boxed(input)?, keys, skip, fetch }
            }
            PlanNode::Limit { input, skip, fetch } => {
                PlanNode::Limit { input: boxed(input)?, skip, fetch }
            }
            PlanNode::Distinct { input } => PlanNode::Distinct { input: boxed(input)? },
            PlanNode::Union { inputs } => {
                PlanNode::Union { inputs: inputs.into_iter().map(map).collect::<Result<_>>()? }
            }
        })
    }
}

/// What happens to rows without a partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// Dropped.
    Inner,
    /// Left ones are kept, with NULLs.
    Left,
    /// Right ones are kept, with NULLs.
    Right,
    /// Both are kept, with NULLs.
    Full,
    /// Left rows that have a partner, once.
    Semi,
    /// Left rows that have none.
    Anti,
}

/// One aggregate of a grouping.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// The function.
    pub function: AggregateFunction,
    /// What it reads; `None` for `COUNT(*)`.
    pub argument: Option<Scalar>,
    /// DISTINCT
    pub distinct: bool,
    /// `FILTER (WHERE ...)`
    pub filter: Option<Arc<dyn Expression>>,
    /// The result's type (`SUM(integer)` is `bigint`, `SUM(bigint)` and `AVG` of integers are `numeric`).
    pub data_type: DataType,
}

/// What an aggregate computes. NULL arguments are skipped; over no rows all but COUNT give NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AggregateFunction {
    /// Rows, or non-NULL arguments.
    Count,
    /// Sum; 22003 on overflow of the result's type.
    Sum,
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// Mean.
    Average,
}

/// One key of an ORDER BY.
#[derive(Clone, Debug)]
pub struct SortKey {
    /// The input's output column.
    pub column: usize,
    /// DESC
    pub descending: bool,
    /// NULLS FIRST
    pub nulls_first: bool,
}
