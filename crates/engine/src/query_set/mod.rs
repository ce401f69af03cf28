//! The data-query model: rows carry the set of activations that want them.
//!
//! In come slots of a batch and the decisions of scans and operators about which slot wants which row; out go
//! [`QuerySets`], the `query_id` column of the SharedDB paper (section 3.1), beside the rows in [`Tuples`].
//! Called by `scan`, `operators` and `heartbeat`. It knows nothing of predicates or plans.
//!
//! Lists of query ids win where few of many activations want a row, bitmaps where many do, and most rows of a
//! batch share few distinct sets: hence several encodings of one logical column, and [`SetTable`], which gives
//! each distinct set a number and remembers what two of them have in common.

mod algebra;
mod encode;
mod expand;
mod one_word;
mod sets;
mod table;
mod tuples;
pub mod words;

#[cfg(test)]
mod reference;

pub use encode::Renumbering;
pub use expand::SlotBuckets;
pub use one_word::{Recall, drop_unwanted, intersect_ids};
pub use sets::{QuerySets, RowSet};
pub use table::{SetId, SetTable};
pub use tuples::{ColumnOrigin, Source, Tuples};
