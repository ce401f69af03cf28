//! Operators and functions: which of those with a name is meant, and the call of it.
//!
//! **In**: a name and analysed arguments. **Out**: a typed call with its arguments cast; aggregates and window functions with their clauses.
//! `expression` calls it.

mod aggregate;
mod arguments;
mod candidate;
mod detail;
mod function;
mod operator;
pub(crate) mod projection;
mod set;
mod window;

pub(crate) use operator::OperatorName;
pub(crate) use set::returns_set;
