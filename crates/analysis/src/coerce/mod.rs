//! Casts: whether a value of a type can become one of another, and the expression that does it.
//!
//! **In**: expressions and the types that a context wants. **Out**: expressions of these types, with every cast written out; literals are read
//! by their types' input functions here. All clauses call it.

mod boolean;
mod common;
mod domain;
mod literal;
mod pathway;
mod row;
mod target;
mod typmod;
mod value;

pub(crate) use value::Wish;
