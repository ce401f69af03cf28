//! Commits in, durable bytes out; after a crash, durable bytes in and the acknowledged commits out.
//!
//! One record per write heartbeat, one write and one sync per record; the caller acknowledges and publishes
//! afterwards. A checkpoint is a snapshot of all tables, rows that have not changed in the files of earlier ones, named by a
//! manifest that appears atomically; the last two of them are kept with the log behind the older one. Recovery loads the newest
//! intact checkpoint and replays the log behind it, tables in parallel.
//!
//! | file | what it is |
//! |---|---|
//! | `lock` | held by the running server |
//! | `format` | format version and the database's id |
//! | `acknowledged` | how far the log was acknowledged, known apart from it |
//! | `log-<number>` | a segment of the log |
//! | `data-<record>-<table>-<part>` | rows that a checkpoint wrote, for later ones too |
//! | `manifest-<record>` | a checkpoint: everything up to that record |
//! | `*.tmp` | not finished, removed by recovery |
//!
//! Called by `heartbeat`. Absent here: the order of commits, validation, when to take a checkpoint.

mod acknowledged;
mod checkpoint;
mod codec;
mod column_type;
mod data_file;
mod directory;
mod entries;
mod fault;
mod manifest;
mod operation;
mod reader;
mod recovery;
mod replay;
mod row_block;
mod schema;
mod segment;
mod writer;
mod written;

pub(crate) use checkpoint::{CheckpointSource, TableSource, write_checkpoint};
pub use codec::{Decoder, Encoder, Malformed};
pub(crate) use directory::DataDirectory;
pub(crate) use entries::Entries;
pub use operation::Operation;
pub(crate) use recovery::{Recovered, recover};
pub(crate) use replay::apply_definition;
pub(crate) use writer::{LogWriter, Spare, WriteFault, stopped};
pub(crate) use written::Written;
