//! Queries and statements that write.

use std::sync::Arc;

use crate::catalog::Relation;
use crate::facts::Oid;

use super::{Expression, FunctionRef};

/// What a statement does with rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Command {
    /// Reads.
    #[default]
    Select,
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
}

/// A statement, or a query within one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// What it does.
    pub command: Command,
    /// WITH.
    pub ctes: Vec<Cte>,
    /// What FROM names, subqueries and joins among them; expressions name entries by their place.
    pub range_table: Vec<Entry>,
    /// FROM: joined with each other, then narrowed by `condition`.
    pub from: Vec<FromItem>,
    /// WHERE.
    pub condition: Option<Expression>,
    /// The select list, or the columns that are assigned.
    pub targets: Vec<Target>,
    /// RETURNING.
    pub returning: Vec<Target>,
    /// Whether there is a RETURNING.
    pub has_returning: bool,
    /// GROUP BY, as places in `targets`.
    pub groups: Vec<SortKey>,
    /// Grouping sets, as places in `groups`; empty where GROUP BY is one set.
    pub grouping_sets: Vec<Vec<usize>>,
    /// GROUP BY DISTINCT.
    pub is_group_distinct: bool,
    /// HAVING.
    pub having: Option<Expression>,
    /// Windows.
    pub windows: Vec<Window>,
    /// DISTINCT.
    pub distinct: Vec<SortKey>,
    /// Whether DISTINCT has ON.
    pub is_distinct_on: bool,
    /// ORDER BY.
    pub order: Vec<SortKey>,
    /// LIMIT.
    pub limit: Option<Expression>,
    /// OFFSET.
    pub offset: Option<Expression>,
    /// WITH TIES.
    pub with_ties: bool,
    /// FOR UPDATE and the like.
    pub locks: Vec<Lock>,
    /// Of UNION and the like.
    pub set_operation: Option<Box<SetTree>>,
    /// The entry that is written.
    pub target: Option<usize>,
    /// ON CONFLICT.
    pub conflict: Option<Box<Conflict>>,
    /// Subqueries whose columns are assigned together.
    pub assigned: Vec<Query>,
    /// Whether aggregates belong to it.
    pub has_aggregates: bool,
    /// Whether its select list gives many rows per row.
    pub has_sets: bool,
}

/// A query of WITH.
#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    /// Its name.
    pub name: Arc<str>,
    /// The query.
    pub query: Query,
    /// Its columns.
    pub columns: Vec<EntryColumn>,
    /// Whether it names itself.
    pub is_recursive: bool,
}

/// An entry of the range table.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The name by which columns are qualified.
    pub name: Arc<str>,
    /// Its columns.
    pub columns: Vec<EntryColumn>,
    /// What it is.
    pub kind: EntryKind,
    /// Whether it sees what stands before it in FROM.
    pub is_lateral: bool,
}

/// A column of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryColumn {
    /// Its name; empty where it was dropped.
    pub name: Arc<str>,
    /// Its type; 0 where it was dropped.
    pub type_oid: Oid,
    /// Its type's modifier.
    pub typmod: i32,
    /// Its collation.
    pub collation: Oid,
}

/// A relation; equal where the OIDs are.
#[derive(Clone, Debug)]
pub struct RelationRef(pub Arc<Relation>);

impl PartialEq for RelationRef {
    fn eq(&self, other: &Self) -> bool {
        self.0.oid == other.0.oid
    }
}

/// What an entry of the range table is.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryKind {
    /// A relation of the catalog.
    Relation(RelationRef),
    /// A query in FROM.
    Subquery(Box<Query>),
    /// A join: what each of its columns is.
    Join(Vec<Expression>),
    /// Functions in FROM, side by side, each with the number of its columns.
    Functions {
        /// The calls.
        calls: Vec<(Expression, usize)>,
        /// WITH ORDINALITY.
        has_ordinality: bool,
    },
    /// Rows of VALUES.
    Values(Vec<Vec<Expression>>),
    /// A query of WITH: its name, and how many queries out it is.
    Cte(Arc<str>, usize),
    /// What ON CONFLICT's `excluded` is.
    Excluded,
    /// The same, by itself.
    Recursive(Arc<str>, usize),
    /// XMLTABLE.
    XmlTable(Vec<Expression>),
}

/// How rows are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// Pairs.
    Inner,
    /// And left rows without any.
    Left,
    /// And right rows without any.
    Right,
    /// And both.
    Full,
}

/// What stands in FROM.
#[derive(Clone, Debug, PartialEq)]
pub enum FromItem {
    /// An entry of the range table.
    Entry(usize),
    /// Some rows of an entry: TABLESAMPLE's function and its arguments.
    Sample {
        /// The entry.
        entry: usize,
        /// The method.
        method: FunctionRef,
        /// Its arguments.
        arguments: Vec<Expression>,
        /// REPEATABLE.
        seed: Option<Expression>,
    },
    /// A join.
    Join {
        /// How.
        kind: JoinKind,
        /// The left side.
        left: Box<FromItem>,
        /// The right side.
        right: Box<FromItem>,
        /// ON, or what USING means.
        condition: Option<Expression>,
        /// The entry of the join itself.
        entry: usize,
    },
}

/// An expression of a select list, or a column that is assigned.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// What it computes.
    pub expression: Expression,
    /// The output column's name.
    pub name: Arc<str>,
    /// Whether it is there for ORDER BY or GROUP BY alone.
    pub is_junk: bool,
    /// In a write, the column of the table from 1; 0 in reads.
    pub column: i16,
}

/// An expression that is sorted or grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// Its place among the targets, or among an aggregate's arguments.
    pub target: usize,
    /// `<` or `>`, by OID; 0 where it is grouped by alone.
    pub order: Oid,
    /// `=`, by OID.
    pub equal: Oid,
    /// NULLS FIRST.
    pub nulls_first: bool,
}

/// How far a window's frame reaches.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// PostgreSQL's bits: mode, bounds, exclusion.
    pub options: i32,
    /// The first bound's distance.
    pub start: Option<Expression>,
    /// The second bound's distance.
    pub end: Option<Expression>,
}

/// A window.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Its name in WINDOW.
    pub name: Option<Arc<str>>,
    /// PARTITION BY, as places in the targets.
    pub partition: Vec<SortKey>,
    /// ORDER BY.
    pub order: Vec<SortKey>,
    /// The frame.
    pub frame: Frame,
}

/// FOR UPDATE and the like.
#[derive(Clone, Debug, PartialEq)]
pub struct Lock {
    /// The entry whose rows are locked.
    pub entry: usize,
    /// How: 1 KEY SHARE, 2 SHARE, 3 NO KEY UPDATE, 4 UPDATE.
    pub strength: u8,
    /// NOWAIT, SKIP LOCKED.
    pub wait: LockWait,
}

/// What happens where a row is locked already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    /// Waits.
    Block,
    /// Leaves the row out.
    Skip,
    /// Fails.
    Fail,
}

/// Which set operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetKind {
    /// UNION.
    Union,
    /// INTERSECT.
    Intersect,
    /// EXCEPT.
    Except,
}

/// UNION and the like of many members. The left side of each operation is the row of the operations before it, in order: a chain of any
/// length is a list.
#[derive(Clone, Debug, PartialEq)]
pub enum SetTree {
    /// A member: the entry of its subquery.
    Member(usize),
    /// The first operand and what is done with it, one after another.
    Chain {
        /// The first operand.
        first: Box<SetTree>,
        /// Operations, from the left to the right.
        steps: Vec<SetStep>,
    },
}

/// A set operation and its right operand.
#[derive(Clone, Debug, PartialEq)]
pub struct SetStep {
    /// Which.
    pub kind: SetKind,
    /// ALL.
    pub is_all: bool,
    /// The right operand.
    pub right: SetTree,
    /// Columns of the result.
    pub columns: Vec<EntryColumn>,
    /// How columns are compared; empty of UNION ALL.
    pub keys: Vec<SortKey>,
}

/// ON CONFLICT.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// The columns of the index that is meant, or expressions; empty for any.
    pub arbiter: Vec<Expression>,
    /// WHERE of a partial index.
    pub arbiter_condition: Option<Expression>,
    /// ON CONSTRAINT.
    pub constraint: Option<Arc<str>>,
    /// Columns that are assigned; `None` for DO NOTHING.
    pub update: Option<Vec<Target>>,
    /// WHERE of the update.
    pub condition: Option<Expression>,
    /// The entry `excluded`.
    pub excluded: Option<usize>,
}

impl Query {
    /// The columns that the client sees.
    pub fn columns(&self) -> impl Iterator<Item = &Target> {
        let targets = if self.command == Command::Select { &self.targets } else { &self.returning };
        targets.iter().filter(|target| !target.is_junk)
    }
}
