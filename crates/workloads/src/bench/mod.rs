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

/// For --help.
const EXAMPLES: &str = "\
Examples:
  shareddb bench bookstore --seconds 5
  shareddb bench star --scale-factor 0.1 --concurrency 1,64 --against duckdb
  shareddb bench tpch --scale-factor 0.1 --json tpch.json

Servers are started for the measurement and end with it; what --against names must be installed on this machine.";

/// For --help.
const BOOKSTORE_EXAMPLES: &str = "\
Examples:
  shareddb bench bookstore --seconds 5 --connections 16
  shareddb bench bookstore --mix browsing --no-sharing --json bookstore.json";

/// For --help.
const STAR_EXAMPLES: &str = "\
Examples:
  shareddb bench star --scale-factor 0.1 --concurrency 1,64
  shareddb bench star --template Q2.1,Q3.2 --no-sharing --json star.json";

/// For --help.
const TPCH_EXAMPLES: &str = "\
Examples:
  shareddb bench tpch --scale-factor 0.1 --concurrency 1,16
  shareddb bench tpch --template Q1,Q6 --json tpch.json";

/// For --help.
const OVERLOAD_EXAMPLES: &str = "\
Examples:
  shareddb bench overload --scale-factor 0.1 --promise-ms 200 --times 1,2,5
  shareddb bench overload --workload shopping --promised-only --json shopping.json";

/// What to measure.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchOptions {
    #[command(subcommand)]
    workload: Workload,
}

/// The workloads.
#[derive(Debug, Subcommand)]
enum Workload {
    /// The TPC-W-derived bookstore: interactions, bursts, interference
    #[command(after_help = BOOKSTORE_EXAMPLES)]
    Bookstore(BookstoreOptions),
    /// The Star Schema Benchmark: one to thousands of analytical queries at once
    #[command(after_help = STAR_EXAMPLES)]
    Star(StarOptions),
    /// A workload derived from TPC-H: 22 templates
    #[command(after_help = TPCH_EXAMPLES)]
    Tpch(TpchOptions),
    /// Multiples of what can be answered, with and without a promised response time
    #[command(after_help = OVERLOAD_EXAMPLES)]
    Overload(OverloadOptions),
    /// Measure nothing: load a workload or files into a running server
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
