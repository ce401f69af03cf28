//! A batch's predicates on one table in, its rows with their query sets out.
//!
//! Once per template [`TableAccess`] finds the index that its predicates could use. Per batch and table
//! [`TableBatch`] binds the activations' parameters and decides who probes an index (point statements always do)
//! and who rides the one Clock Scan of the batch; `heartbeat` runs both in morsels on its workers. The scan joins
//! rows with queries (Crescando, sections 4 and 5): predicates become indexes over *constants*, probed with
//! values, chosen by a greedy optimizer. [`update_join`] does the same for updates and deletes in arrival order.
//! Called by `heartbeat` and `plan` (for decisions).
//! Absent here: joins, grouping, sorting (`operators`); applying writes (`heartbeat`).

mod access;
mod batch;
mod blocks;
mod clock_scan;
mod column_kernel;
mod column_pair;
mod conjunction;
mod decision;
mod expression;
mod filter;
mod index;
mod key_filter;
mod key_set;
mod optimizer;
mod pattern;
mod probe;
mod residual;
mod row_test;
mod rows;
mod selectivity;
mod update_join;

#[cfg(test)]
mod reference;

pub use access::{Estimate, TableAccess};
pub use batch::{Request, ScanOutput, TableBatch, ValueFilter};
pub use clock_scan::ChunkRows;
pub use conjunction::Conjunction;
pub use decision::Decision;
pub use filter::{ColumnFilter, constant};
pub use key_filter::{KeyFilter, Keys};
pub use pattern::Pattern;
pub use selectivity::filter_selectivity;
pub use update_join::{
    Change, RowUpdates, Statement, UpdateJoinOutput, matching_rows, update_join,
};
