//! The data-query model: rows carry the set of activations that want them.
//!
//! In come slots of a batch and the decisions of scans and operators about which slot wants which row; out go
//! [`QuerySets`], the `query_id` column of the SharedDB paper (section 3.1), beside the rows in [`Tuples`].
//! Called by `scan`, `operators` and `heartbeat`. It knows nothing of predicates or plans.

mod sets;
mod table;
mod tuples;

pub use sets::QuerySets;
pub use table::{SetId, SetTable};
pub use tuples::{ColumnOrigin, Source, Tuples};
