//! Typed expressions, computed one value at a time by the kernels of `values`.
//!
//! In comes an expression of PostgreSQL's parse analysis (the crate `analysis`); out goes a [`Computation`], or nothing where it needs
//! what has no kernel: then its statement is planned like all others. Nothing here knows a table, a session or a plan.
//! Called by `statement::constant` and `dialect::kernels`, and by `text` for the binary forms of what is carried as text.

mod compile;
mod computation;
mod cost;
mod facts;
mod form;

pub use compile::compile;
pub use computation::Computation;
pub use cost::Cost;
pub use facts::{computed, type_of};
pub use form::{Binary, Input, Output};
