//! Rows in, versions in segments and chunks out.
//!
//! Columnar main-memory tables. A table is a growing list of chunks of at most [`CHUNK_ROWS`] row versions;
//! chunk `i` belongs to segment `i mod segments`, one segment per worker core. A chunk is append-only: once
//! written, a row version's values never change; only its `end` does. An update ends the old version and
//! appends a new one with the same [`RowId`]; chunks whose versions are dead to every snapshot are dropped
//! whole (live rows among mostly dead ones are moved first), and readers that still hold them keep them alive.
//!
//! One writer per store (the write heartbeat), any number of readers that take no lock: the writer fills rows
//! beyond what is published, readers pin a [`Snapshot`] and see `begin <= version < end`.
//! Called by `log` (recovery, checkpoints), `transaction` (apply), `scan` and `operators` (read).
//! Absent here: constraints across rows (`transaction` checks them), durability (`log`), SQL.

mod append_buffer;
mod arrays;
mod chunk;
mod chunk_list;
mod chunk_writer;
mod coerce;
mod column;
mod column_store;
mod dense;
mod dictionary;
mod gather;
mod index;
mod key;
mod reclaim;
mod row_directory;
mod sequence;
mod snapshot;
mod statistics;
mod store;
mod string_views;
mod table;
mod table_changes;
mod table_definition;
mod table_writer;
mod tree;
#[cfg(test)]
mod twin;
mod view;
mod zone;

pub use chunk::{CHUNK_ROWS, Chunk};
pub use column::{ColumnSlice, Nulls, Strings, Zone};
pub use dictionary::Dictionary;
pub use index::{Bound, Index};
pub use sequence::Sequence;
pub use snapshot::Snapshot;
pub use statistics::{ColumnStatistics, TableStatistics};
pub use store::Store;
pub use table::Table;
pub use view::TableView;
