//! What PostgreSQL 15 has by birth: types, functions with aggregates and window functions, operators, casts.
//!
//! **In**: nothing; the tables lie beside this file, each with the query over PostgreSQL's catalogs that gives it, and a test compares
//! them with a server. **Out**: rows by OID, by name, and by the types that a cast is between. Read once, when somebody first asks; after
//! that a look-up is an index or one hash. All rooms of analysis call it. The kernels behind rows are in `values`, found by OID.

mod cast;
mod function;
mod index;
pub mod oid;
mod operator;
mod row;
mod types;

pub use cast::{CastContext, CastMethod, CastRow, cast};
pub use function::{AggregateKind, FunctionKind, FunctionRow, Volatility};
pub use operator::OperatorRow;
pub use types::{Comparisons, TypeKind, TypeRow};

pub use function::function;
pub(crate) use function::functions_named;
pub use operator::operator;
pub(crate) use operator::operators_named;
pub(crate) use types::type_named;
pub use types::type_row;

/// The number that stands for an object in PostgreSQL's catalogs.
pub type Oid = u32;

/// Tables by name: the query over PostgreSQL's catalogs, and its rows as COPY writes them.
pub const TABLES: [(&str, &str, &str); 4] = [
    ("types", include_str!("types.sql"), include_str!("types.tsv")),
    ("functions", include_str!("functions.sql"), include_str!("functions.tsv")),
    ("operators", include_str!("operators.sql"), include_str!("operators.tsv")),
    ("casts", include_str!("casts.sql"), include_str!("casts.tsv")),
];
