//! A batch's predicates on one table in, its rows with their query sets out.
//!
mod access;
mod clock_scan;
mod column_kernel;
mod conjunction;
mod expression;
mod filter;
mod index;
mod key_set;
mod optimizer;
mod pattern;
mod row_test;
mod rows;
mod selectivity;
