//! The kernels below the operators: keys to dense numbers, rows taken and put together, order, set algebra.
//!
//! In come Arrow arrays, slices and Tuples; out go numbers and Tuples. Called by the operators beside this
//! folder only; nothing here knows a node.

mod codes;
mod dense;
mod evaluate;
mod key_table;
mod order;
mod partitioned_keys;
mod ranked_keys;
mod ranked_pairs;
mod rows;
mod whole_columns;
mod whole_numbers;

pub(super) use codes::{
    Codes, Strings, bytes_of, float_number, number_float, rescale, value_hashes,
};
pub(super) use dense::{DenseIds, NO_ID};
pub(super) use evaluate::{
    agree, constant_array, evaluate, evaluate_constant, evaluate_expression, one_value_per_row,
    parameter_type, parameters_read, reads_columns, reads_parameters, try_evaluate_expression,
};
pub(super) use key_table::KeyTable;
pub(super) use order::{Bounds, Keyed, Order};
pub(super) use partitioned_keys::{PartitionedKeys, partition_numbers};
pub(super) use ranked_keys::{KeyRange, RankedKeys};
pub(super) use ranked_pairs::RankedPairs;
pub(super) use rows::{
    NO_ROW, bucket, bucket_all, concat, no_rows, of_arrays, prune, runs, scale_of, take_or_null,
};
pub(super) use whole_columns::WholeColumns;
pub(super) use whole_numbers::{
    WholeColumn, WholeInputs, concat_arguments, narrow_array, whole_numbers,
};
