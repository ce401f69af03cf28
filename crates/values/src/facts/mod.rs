//! PostgreSQL 15's types, operators, functions, casts and aggregates, as far as they are about the types that this crate is about: what
//! analysis looks names up in, and what says which kernel computes a row.
//!
//! The tables lie beside this file, each with the query over PostgreSQL's catalogs that gives it; a test compares them with a server.
//! They are read once, when somebody first asks. A row whose source has no kernel is refused by name.

mod aggregate;
mod cast;
mod function;
mod keyword;
mod operator;
mod row;
mod type_row;

pub use aggregate::{AggregateRow, aggregates};
pub use cast::{CastContext, CastMethod, CastRow, casts};
pub use function::{FunctionRow, Volatility, functions};
pub(crate) use keyword::is_reserved_in_some_place;
pub use operator::{OperatorRow, operators};
pub use type_row::{TypeRow, types};

/// Tables by name: the query over PostgreSQL's catalogs, and its rows as COPY writes them. The first one is the view `core` of the others.
pub const TABLES: [(&str, &str, &str); 6] = [
    ("types", include_str!("types.sql"), include_str!("types.tsv")),
    ("functions", include_str!("functions.sql"), include_str!("functions.tsv")),
    ("operators", include_str!("operators.sql"), include_str!("operators.tsv")),
    ("casts", include_str!("casts.sql"), include_str!("casts.tsv")),
    ("aggregates", include_str!("aggregates.sql"), include_str!("aggregates.tsv")),
    ("keywords", include_str!("keywords.sql"), include_str!("keywords.tsv")),
];
