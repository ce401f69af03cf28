//! `shareddb load`: workloads and files into a running server, over the PostgreSQL wire like every client.
//!
//! A file is one COPY, so that it is loaded as a whole or not at all; several files are loaded in parallel.
//! CSV ([`csv`]) is parsed by the server; Parquet (the feature `parquet`) is decoded here.

pub mod csv;
pub mod escape;
#[cfg(feature = "parquet")]
pub mod parquet;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use clap::{Args, Subcommand};

use crate::bench::{load_bookstore, load_over_the_wire};
use crate::client::{self, Client, PostgresClient};
use crate::dataset::Dataset;
use crate::report::Progress;
use crate::{bookstore, star, tpch};

/// For --help.
const EXAMPLES: &str = "\
Examples:
  shareddb load bookstore
  shareddb load star --scale-factor 0.1
  shareddb load csv item items.csv
  shareddb load parquet --create item items.parquet

A file is loaded as a whole or not at all, several files in parallel. The role is shareddb, which the server must let in
without a password.";

/// For --help.
const BOOKSTORE_EXAMPLE: &str = "\
Example:
  shareddb load bookstore --items 1000 --browsers 1 --connect 127.0.0.1:5432";

/// For --help.
const STAR_EXAMPLE: &str = "\
Example:
  shareddb load star --scale-factor 0.1";

/// For --help.
const TPCH_EXAMPLE: &str = "\
Example:
  shareddb load tpch --scale-factor 0.1";

/// For --help.
const CSV_EXAMPLES: &str = "\
Examples:
  shareddb load csv item items.csv
  shareddb load csv --delimiter ';' --no-header item part1.csv part2.csv";

/// For --help.
#[cfg(feature = "parquet")]
const PARQUET_EXAMPLE: &str = "\
Example:
  shareddb load parquet --create item items.parquet";

/// Where to, and what.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct LoadOptions {
    /// A running server
    #[arg(long, global = true, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7432")]
    connect: SocketAddr,
    #[command(subcommand)]
    source: Source,
}

#[derive(Debug, Subcommand)]
enum Source {
    /// Books, customers, orders
    #[command(after_help = BOOKSTORE_EXAMPLE)]
    Bookstore {
        /// Books
        #[arg(long, value_name = "N", default_value_t = 10_000)]
        items: u64,
        /// Emulated browsers that the customer tables are sized for: 2,880 customers each
        #[arg(long, value_name = "N", default_value_t = 10)]
        browsers: u64,
    },
    /// The Star Schema Benchmark's five tables
    #[command(after_help = STAR_EXAMPLE)]
    Star {
        /// 1 is 6 million fact rows
        #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
        scale_factor: f64,
    },
    /// TPC-H's eight tables
    #[command(after_help = TPCH_EXAMPLE)]
    Tpch {
        /// 1 is 6 million rows in `lineitem`
        #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
        scale_factor: f64,
    },
    /// CSV files into a table
    #[command(after_help = CSV_EXAMPLES)]
    Csv {
        /// The files' options.
        #[command(flatten)]
        format: csv::Format,
        /// The table; it exists
        table: String,
        /// Files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Parquet files into a table
    #[cfg(feature = "parquet")]
    #[command(after_help = PARQUET_EXAMPLE)]
    Parquet {
        /// Create the table with the columns of the first file
        #[arg(long)]
        create: bool,
        /// The table
        table: String,
        /// Files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

/// Of the generated workloads: everybody's are the same.
const SEED: u64 = 1;

/// Why nothing, or not everything, was loaded.
#[derive(Debug)]
pub enum Failure {
    /// What the server or the connection said.
    Server(client::Failure),
    /// A file that cannot be read.
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file whose content is not what it should be.
    Content {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Server(failure) => write!(f, "{failure}"),
            Failure::File { path, error } => write!(f, "{}: {error}", path.display()),
            Failure::Content { path, message } => write!(f, "{}: {message}", path.display()),
        }
    }
}

impl std::error::Error for Failure {}

impl From<client::Failure> for Failure {
    fn from(failure: client::Failure) -> Failure {
        Failure::Server(failure)
    }
}

impl Failure {
    /// A server's complaint about a file's content names a place in it: the file belongs to it.
    fn of_copy(path: &Path, failure: client::Failure) -> Failure {
        match failure.context {
            Some(_) => Failure::Content { path: path.to_owned(), message: failure.to_string() },
            None => Failure::Server(failure),
        }
    }
}

/// The result of loading.
pub type Result<T> = std::result::Result<T, Failure>;

/// Loads.
pub fn run(options: &LoadOptions) -> Result<()> {
    let start = Instant::now();
    let open = || PostgresClient::connect(options.connect, "shareddb", "shareddb");
    let rows = options.source.load(&open)?;
    println!("loaded {rows} rows in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

impl Source {
    fn load(&self, open: &(impl Fn() -> client::Result<PostgresClient> + Sync)) -> Result<u64> {
        match self {
            Source::Bookstore { items, browsers } => {
                let scale = bookstore::Scale { items: *items, browsers: *browsers };
                Ok(load_bookstore(&mut open()?, scale, SEED)?)
            }
            Source::Star { scale_factor } => {
                let scale = star::Scale { factor: *scale_factor };
                load_dataset(open, &star::StarSchema::new(scale, SEED))
            }
            Source::Tpch { scale_factor } => load_dataset(open, &tpch::Tpch::new(*scale_factor)),
            Source::Csv { format, table, files } => {
                load_files(open, files, |client, path, progress| {
                    csv::load(client, table, path, format, progress)
                })
            }
            #[cfg(feature = "parquet")]
            Source::Parquet { create, table, files } => {
                if *create {
                    open()?.run(&parquet::create_statement(table, &files[0])?)?;
                }
                load_files(open, files, |client, path, progress| {
                    parquet::load(client, table, path, progress)
                })
            }
        }
    }
}

fn load_dataset(
    open: &(impl Fn() -> client::Result<PostgresClient> + Sync),
    dataset: &dyn Dataset,
) -> Result<u64> {
    let mut client = open()?;
    let rows = load_over_the_wire(&mut client, open, dataset)?;
    client.run("ANALYZE")?;
    Ok(rows)
}

/// Every file over one of as many connections as there are cores; progress is counted in bytes.
fn load_files(
    open: &(impl Fn() -> client::Result<PostgresClient> + Sync),
    files: &[PathBuf],
    load: impl Fn(&mut PostgresClient, &Path, &Progress) -> Result<u64> + Sync,
) -> Result<u64> {
    let mut bytes = 0;
    for path in files {
        let length = |error| Failure::File { path: path.clone(), error };
        bytes += std::fs::metadata(path).map_err(length)?.len();
    }
    let progress = Progress::of_bytes("files", bytes);
    let next = AtomicUsize::new(0);
    let work = || -> Result<u64> {
        let mut client = open()?;
        let mut rows = 0;
        while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            rows += load(&mut client, path, &progress)?;
        }
        Ok(rows)
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(files.len());
    let rows = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a worker panicked"))
            .sum::<Result<_>>()
    })?;
    progress.finish();
    Ok(rows)
}
