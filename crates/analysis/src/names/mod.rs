//! Names and scopes: which relation or column a name means.
//!
//! **In**: names of the raw tree, and the items that FROM has added to each level's namespace. **Out**: columns as (levels up, entry, column),
//! and PostgreSQL's faults for names that mean nothing or too much. `expression`, `from`, `select` and `write` call it.

mod column;
pub(crate) mod fault;
mod item;
pub(crate) mod reference;
pub(crate) mod system;

pub(crate) use item::NameItem;
