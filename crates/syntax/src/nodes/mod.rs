//! PostgreSQL's nodes, one file for a family of statements or expressions.
//!
//! Names are PostgreSQL's, in Rust's case; what a field means is told by `parsenodes.h` and `primnodes.h`.

mod call;
mod command_choices;
mod expression;
mod maintenance;
mod object;
mod object_choices;
mod query_choices;
mod relation;
mod rights;
mod select;
mod session;
pub(crate) mod table;
mod table_definition;
mod value;
mod write;

pub use call::*;
pub use command_choices::*;
pub use expression::*;
pub use maintenance::*;
pub use object::*;
pub use object_choices::*;
pub use query_choices::*;
pub use relation::*;
pub use rights::*;
pub use select::*;
pub use session::*;
pub use table_definition::*;
pub use value::*;
pub use write::*;
