//! The command `shareddb bench`.
//!
//! Options in; peers started, loaded, driven in turns, checked; tables printed, figures and JSON written.

mod analytic;
mod bookstore;
mod load;
mod overload;
mod star;
mod tpch;

use clap::{Args, Subcommand};

use crate::loading::{self, LoadOptions};

pub use self::analytic::load_over_the_wire;
pub use self::bookstore::BookstoreOptions;
pub use self::load::{LoadTimes, Population, load_bookstore};
pub use self::overload::OverloadOptions;
pub use self::star::StarOptions;
pub use self::tpch::TpchOptions;

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
    /// The Star Schema Benchmark: one to thousands of analytical queries at once.
    Star(StarOptions),
    /// A workload derived from TPC-H: 22 templates.
    Tpch(TpchOptions),
    /// Star queries at multiples of the rate that can be answered, with and without a promised response time.
    Overload(OverloadOptions),
    /// Measures nothing: loads a workload or files into a running server.
    Load(LoadOptions),
}

/// Why a benchmark could not run to its end.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Database servers run as users of their own: they must be able to walk down to their data.
fn open_to_all(folder: &std::path::Path) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// Runs it.
pub fn run(options: &BenchOptions) -> Result<(), Failure> {
    match &options.workload {
        Workload::Bookstore(options) => bookstore::run(options),
        Workload::Star(options) => star::run(options),
        Workload::Tpch(options) => tpch::run(options),
        Workload::Overload(options) => overload::run(options),
        Workload::Load(options) => Ok(loading::run(options)?),
    }
}
