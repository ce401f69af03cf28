//! A batch's predicates on one table in, its rows with their query sets out.
//!
mod filter;
mod index;
mod key_set;
mod pattern;
mod rows;
