//! The typed query tree: what analysis gives out.
//!
//! Every expression has its type, typmod and collation; casts are explicit; functions, operators and aggregates are rows of `facts`; columns
//! are (levels up, range table entry, column). Places in the text stay for faults of later rooms. Two expressions are equal where they mean
//! the same, wherever they stand in the text.

mod expression;
mod print;
mod query;
mod volatility;
mod walk;

pub use expression::*;
pub use query::*;
pub(crate) use walk::Part;
