//! Rows in, versions in segments and chunks out.
//!
//! Columnar main-memory tables. A table is a growing list of chunks of at most [`CHUNK_ROWS`] row
//! versions; chunk `i` belongs to segment `i mod segments`, one segment per worker core. A chunk is
//! append-only: once written, a row version's values never change; only its `end` does. An update
//! ends the old version and appends a new one with the same row id; chunks whose versions are
//! dead to every snapshot are dropped whole (live rows among mostly dead ones are moved first), and
//! readers that still hold them keep them alive.
//!
//! A row's newest location is in the row directory; each version links to the one that it replaced,
//! so that an old snapshot walks back to what it sees. Indexes lead from keys to rows, not to
//! versions: an update that changes no key touches no index, and readers check the visible version.
//! Ordered indexes are B+ trees whose nodes are copied when readers may hold them, unique integers
//! that lie close together an array. Strings that repeat are codes into a dictionary of the column,
//! others lie one after the other in their chunk; which, is decided for each new chunk. A load's
//! chunk, complete before anybody sees it, holds integers and codes in as few bytes as they need.
//!
//! One writer per store (the write heartbeat), any number of readers that take no lock: the writer
//! fills rows beyond what is published, readers pin a [`Snapshot`] and see `begin <= version <
//! end`. Called by `log` (recovery, checkpoints), `transaction` (apply), `scan` and `operators`
//! (read). Absent here: constraints across rows (`transaction` checks them), durability (`log`),
//! SQL.

mod append_buffer;
mod arrays;
mod change_history;
mod chunk;
mod chunk_list;
mod chunk_writer;
mod clustering;
mod coerce;
mod column;
mod column_store;
mod dense;
mod dictionary;
mod dictionary_codes;
mod ends;
mod gather;
mod histogram;
mod index;
mod key;
mod load;
mod narrowing;
mod numbers;
mod reclaim;
mod recount;
mod row_directory;
mod run;
mod scattered;
mod sequence;
mod snapshot;
mod statistics;
mod store;
mod string_views;
mod table;
mod table_changes;
mod table_definition;
mod table_memory;
mod table_writer;
mod tree;
mod tree_run;
#[cfg(test)]
mod twin;
mod unsigned;
mod view;
mod whole_numbers;
mod zone;

pub use chunk::{CHUNK_ROWS, Chunk};
pub use clustering::Clustering;
pub use column::{ColumnSlice, Nulls, Strings, Zone};
pub use dictionary::Dictionary;
pub use histogram::{Histogram, position_of, position_of_bytes};
pub use index::{Bound, Index};
#[cfg(test)]
pub(crate) use load::load_in_chunks;
pub use load::{Load, LoadRow};
pub use recount::Recount;
pub use sequence::Sequence;
pub use snapshot::Snapshot;
pub use statistics::{ColumnStatistics, TableStatistics};
pub use store::Store;
pub use table::Table;
pub use table_memory::{MemoryPart, TableMemory};
pub use unsigned::Unsigned;
pub(crate) use unsigned::each_width;
pub use view::TableView;
