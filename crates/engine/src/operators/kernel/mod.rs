//! The kernels below the operators: keys to dense numbers, rows taken and put together, order, set algebra.
//!
//! In come Arrow arrays, slices and Tuples; out go numbers and Tuples. Called by the operators beside this
//! folder only; nothing here knows a node.

mod arrays;
mod codes;
mod dense;
mod evaluate;
mod key_table;
mod rows;

pub(super) use arrays::{constant_array, values_array};
pub(super) use codes::{Codes, Strings, bytes_of};
pub(super) use dense::{DenseIds, NO_ID};
pub(super) use evaluate::{
    evaluate, evaluate_constant, evaluate_expression, one_slot_per_row, reads_parameters, take_rows,
};
pub(super) use key_table::KeyTable;
pub(super) use rows::{concat, materialise, of_arrays, prune};
