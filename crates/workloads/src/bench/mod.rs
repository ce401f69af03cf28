//! The command `shareddb bench`.
//!
//! Options in; peers started, loaded, driven in turns, checked; tables printed, figures and JSON written.

mod bookstore;
mod load;

use clap::{Args, Subcommand};

pub use self::bookstore::BookstoreOptions;
pub use self::load::{LoadTimes, Population, load_bookstore};

/// What to measure.
#[derive(Debug, Args)]
pub struct BenchOptions {
    #[command(subcommand)]
    workload: Workload,
}

/// The workloads.
#[derive(Debug, Subcommand)]
enum Workload {
    /// The TPC-W-derived bookstore: interactions, bursts, interference.
    Bookstore(BookstoreOptions),
}

/// Why a benchmark could not run to its end.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Runs it.
pub fn run(options: &BenchOptions) -> Result<(), Failure> {
    match &options.workload {
        Workload::Bookstore(options) => bookstore::run(options),
    }
}
