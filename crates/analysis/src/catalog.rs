//! What analysis asks of the world: which relations, types and functions are visible at one moment.
//!
//! Whoever holds the catalog implements [`Catalog`] for one moment and one `search_path`; analysis reads and never changes it.

use std::sync::Arc;

use crate::facts::{FunctionRow, Oid, TypeRow};

/// The catalog at one moment, by one search path. What PostgreSQL has by birth in `pg_catalog`, types, functions, operators and casts, is
/// known without asking.
pub trait Catalog {
    /// A relation by name; without a schema the first of the search path.
    ///
    /// # Errors
    /// That there is none.
    fn relation(&self, schema: Option<&str>, name: &str) -> Result<Arc<Relation>, Missing>;

    /// A relation by its OID: for types that are made of its columns.
    fn relation_by_oid(&self, oid: Oid) -> Option<Arc<Relation>>;

    /// A type that is not PostgreSQL's by birth: an enumerated type, a domain, a row type or an array of them.
    fn type_named(&self, schema: Option<&str>, name: &str) -> Option<&'static TypeRow>;

    /// Such a type by its OID.
    fn type_row(&self, oid: Oid) -> Option<&'static TypeRow>;

    /// Whether a label is of an enumerated type.
    fn has_label(&self, enumerated: Oid, label: &str) -> bool;

    /// Functions that are not PostgreSQL's by birth.
    fn functions_named(&self, schema: Option<&str>, name: &str) -> Vec<&'static FunctionRow> {
        let _ = (schema, name);
        Vec::new()
    }

    /// Whether there is such a schema.
    fn has_schema(&self, name: &str) -> bool;

    /// Whether one relation inherits from another, directly or not.
    fn inherits(&self, child: Oid, parent: Oid) -> bool {
        let _ = (child, parent);
        false
    }

    /// A collation that is not PostgreSQL's by birth.
    fn collation_named(&self, schema: Option<&str>, name: &str) -> Option<Oid> {
        let _ = (schema, name);
        None
    }

    /// The name of the current database.
    fn database(&self) -> &str;
}

/// Why there is no relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No relation of this name.
    Relation,
    /// No schema of this name.
    Schema,
}

/// What a relation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelationKind {
    /// A table, partitioned or foreign ones among them.
    Table,
    /// A view.
    View,
    /// A view with rows of its own.
    MaterializedView,
    /// A sequence.
    Sequence,
    /// The columns of a composite type.
    Composite,
    /// An index, which no statement reads.
    Index,
}

/// A relation.
#[derive(Clone, Debug)]
pub struct Relation {
    /// Its OID.
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// What it is.
    pub kind: RelationKind,
    /// The type of its rows.
    pub row_type: Oid,
    /// Its columns by number; `None` stands where one was dropped.
    pub columns: Vec<Option<RelationColumn>>,
    /// Columns of its primary key by number from 1; empty where it has none or where it is deferred.
    pub primary_key: Vec<u16>,
    /// Its unique indexes.
    pub unique_indexes: Vec<UniqueIndex>,
}

/// A column of a relation.
#[derive(Clone, Debug)]
pub struct RelationColumn {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub type_oid: Oid,
    /// Its type's modifier, -1 for none.
    pub typmod: i32,
    /// Its collation; 0 for none.
    pub collation: Oid,
    /// Whether it is NOT NULL.
    pub is_not_null: bool,
    /// Whether it is computed from others or always an identity.
    pub generated: Generated,
}

/// Who gives a column its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generated {
    /// The statement.
    No,
    /// An expression over other columns.
    Stored,
    /// A sequence, unless OVERRIDING says otherwise.
    Identity,
}

/// A unique index or constraint, as ON CONFLICT asks for it.
#[derive(Clone, Debug)]
pub struct UniqueIndex {
    /// The name of the constraint, where there is one.
    pub constraint: Option<Arc<str>>,
    /// Its columns by number from 1; 0 stands for an expression.
    pub columns: Vec<u16>,
    /// Whether it holds of some rows alone.
    pub is_partial: bool,
}
