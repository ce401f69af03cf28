//! What a table, an index, a constraint and a sequence are.

use std::sync::Arc;

use super::{ColumnId, DataType, IndexId, SequenceId, TableId, Value};

/// A table's definition. A changed definition is a new value; storage keeps the newest.
#[derive(Clone, Debug, PartialEq)]
pub struct TableSchema {
    /// The id, for the table's whole life.
    pub id: TableId,
    /// Schema and name as stored (folded to lower case unless quoted). User tables live in `public`.
    pub schema: Arc<str>,
    /// The name inside the schema.
    pub name: Arc<str>,
    /// All columns ever added, by [`ColumnId`]; dropped ones stay as tombstones.
    pub columns: Vec<ColumnSchema>,
    /// Indexes, also those that carry PRIMARY KEY and UNIQUE.
    pub indexes: Vec<IndexSchema>,
    /// CHECK constraints.
    pub checks: Vec<CheckConstraint>,
    /// FOREIGN KEY constraints of this table on others.
    pub foreign_keys: Vec<ForeignKey>,
}

impl TableSchema {
    /// A column of that name that is not dropped.
    pub fn column(&self, name: &str) -> Option<(ColumnId, &ColumnSchema)> {
        self.live_columns().find(|(_, column)| &*column.name == name)
    }

    /// The generated columns, and their expressions in SQL.
    pub fn generated_columns(&self) -> impl Iterator<Item = (ColumnId, &Arc<str>)> {
        self.live_columns().filter_map(|(id, column)| match &column.default {
            ColumnDefault::Generated(expression) => Some((id, expression)),
            _ => None,
        })
    }

    /// The columns that are not dropped, in order.
    pub fn live_columns(&self) -> impl Iterator<Item = (ColumnId, &ColumnSchema)> {
        let numbered = self.columns.iter().enumerate();
        numbered.filter(|(_, c)| !c.dropped).map(|(i, c)| (ColumnId(i as u32), c))
    }

    /// Whether rows that met all demands of `other`, another definition of this table, meet those of this one.
    pub fn demands_the_same(&self, other: &TableSchema) -> bool {
        let columns = self.columns.iter().zip(&other.columns);
        self.columns.len() == other.columns.len()
            && columns.into_iter().all(|(own, other)| own.not_null == other.not_null)
            && self.checks == other.checks
            && self.generated_columns().eq(other.generated_columns())
    }

    /// Whether a plan that was made when the table was `planned` still holds: columns were added behind those it knows, may
    /// have become NULL that it takes for never NULL, or it uses an index that nobody keeps any more.
    pub fn serves(&self, planned: &TableSchema) -> bool {
        let columns = self.columns.iter().zip(&planned.columns);
        let indexes = planned.indexes.iter().map(|index| index.id);
        self.columns.len() == planned.columns.len()
            && columns.into_iter().all(|(own, planned)| own.not_null == planned.not_null)
            && self.indexes.iter().map(|index| index.id).eq(indexes)
    }

    /// Makes foreign keys on one table foreign keys on another; whether there were any.
    pub fn repoint_keys(&mut self, from: TableId, to: TableId) -> bool {
        let mut keys = self.foreign_keys.iter_mut().filter(|key| key.parent == from).peekable();
        let found = keys.peek().is_some();
        keys.for_each(|key| key.parent = to);
        found
    }

    /// The index behind PRIMARY KEY.
    pub fn primary_key(&self) -> Option<&IndexSchema> {
        self.indexes.iter().find(|index| index.primary)
    }
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSchema {
    /// The name as stored.
    pub name: Arc<str>,
    /// The SQL type.
    pub data_type: DataType,
    /// NOT NULL, also by PRIMARY KEY.
    pub not_null: bool,
    /// What INSERT puts where no value is given.
    pub default: ColumnDefault,
    /// ALTER TABLE DROP COLUMN leaves a tombstone, so that column ids stay put.
    pub dropped: bool,
    /// The value that rows stored before ALTER TABLE ADD COLUMN have.
    pub missing: Value,
}

/// What INSERT puts where no value is given.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnDefault {
    /// NULL
    None,
    /// A constant, coerced to the column's type.
    Constant(Value),
    /// An expression in SQL, evaluated by the `sql` crate per statement (`now()`, `1 + 1`).
    Expression(Arc<str>),
    /// GENERATED ALWAYS AS (expression) STORED: the expression in SQL, over the row's other columns.
    Generated(Arc<str>),
    /// The next value of a sequence; `always` refuses explicit values (GENERATED ALWAYS AS IDENTITY).
    Sequence {
        /// The sequence.
        id: SequenceId,
        /// GENERATED ALWAYS rather than BY DEFAULT or `nextval(...)`.
        always: bool,
        /// Declared as identity column (serial columns and plain `nextval` defaults are not).
        identity: bool,
    },
}

/// How an index finds its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexKind {
    /// Equality only.
    Hash,
    /// Equality, prefixes and ranges (what SQL calls `btree`).
    Ordered,
}

/// An index on one or several columns.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexSchema {
    /// The id, for the index's whole life.
    pub id: IndexId,
    /// The name, also of the constraint that it carries.
    pub name: Arc<str>,
    /// Key columns, most significant first.
    pub columns: Vec<ColumnId>,
    /// Hash or ordered.
    pub kind: IndexKind,
    /// UNIQUE or PRIMARY KEY: no two visible rows with equal, wholly non-NULL keys.
    pub unique: bool,
    /// PRIMARY KEY.
    pub primary: bool,
    /// Declared as a table constraint rather than by CREATE UNIQUE INDEX.
    pub constraint: bool,
}

/// CHECK (expression).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckConstraint {
    /// The constraint's name.
    pub name: Arc<str>,
    /// The expression in SQL; compiled by the `sql` crate.
    pub expression: Arc<str>,
}

/// What happens to referencing rows when the referenced row goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ForeignKeyAction {
    /// Refuse (23503), unless another row has the key by the end of the statement.
    NoAction,
    /// Refuse (23503), also if another row has the key by then.
    Restrict,
    /// Delete or update the referencing rows too.
    Cascade,
    /// Set the referencing columns to NULL.
    SetNull,
    /// Set the referencing columns to their defaults.
    SetDefault,
}

/// FOREIGN KEY (columns) REFERENCES parent (parent_columns).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The constraint's name.
    pub name: Arc<str>,
    /// Columns of the referencing table.
    pub columns: Vec<ColumnId>,
    /// The referenced table.
    pub parent: TableId,
    /// The columns of a primary key or unique constraint of the parent, each beside one of `columns`.
    pub parent_columns: Vec<ColumnId>,
    /// MATCH FULL: all columns are NULL or none is. Else (MATCH SIMPLE) a row with some NULL needs no parent.
    pub is_full: bool,
    /// On DELETE of the parent row.
    pub on_delete: ForeignKeyAction,
    /// On UPDATE of the parent's key.
    pub on_update: ForeignKeyAction,
}

/// A sequence. Values once handed out are never handed out again, also after ROLLBACK and restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceSchema {
    /// The id, for the sequence's whole life.
    pub id: SequenceId,
    /// The name, in `public`.
    pub name: Arc<str>,
    /// First value.
    pub start: i64,
    /// Step, never 0.
    pub increment: i64,
    /// Smallest value.
    pub min: i64,
    /// Largest value.
    pub max: i64,
    /// Start over at the other end instead of failing with 2200H.
    pub cycle: bool,
    /// The column that owns it (serial, identity): dropped together.
    pub owner: Option<(TableId, ColumnId)>,
}
