//! The systems that are compared: started, loaded and stopped by us, on this machine only.
//!
//! A [`System`] is a running server with the bookstore loaded. Every peer keeps its data in memory (buffers
//! larger than the data) and syncs its log at commit. Called by `bench`.

mod cpu;
mod embedded;
#[cfg(feature = "mariadb")]
mod mariadb;
mod postgres;
mod process;
mod shareddb;

use std::path::Path;
use std::time::Duration;

use crate::bookstore::schema::Dialect;
use crate::client::{Client, Result};
use crate::dataset::TableDefinition;

pub use self::cpu::own_cpu_seconds;
pub use self::embedded::{Embedded, Library};
#[cfg(feature = "mariadb")]
pub use self::mariadb::Mariadb;
pub use self::postgres::Postgres;
pub use self::process::Server;
pub use self::shareddb::{Packing, SharedDb, SharedDbOptions, Sharing};

/// A running server.
pub trait System: Send + Sync {
    /// How reports call it.
    fn name(&self) -> &str;
    /// Whose SQL it speaks.
    fn dialect(&self) -> Dialect;
    /// Name, version and settings that matter, for the record.
    fn describe(&self) -> String;
    /// A new connection.
    fn connect(&self) -> Result<Box<dyn Client>>;
    /// A new connection that can be sent to without waiting, where the protocol is PostgreSQL's.
    fn connect_postgres(&self) -> Option<Result<crate::client::PostgresClient>>;
    /// Its process.
    fn server(&self) -> &Server;
    /// Creates a table, where the system does not speak PostgreSQL's protocol.
    fn create(&self, table: &TableDefinition) -> Result<()> {
        self.connect()?.run(&table.create_statement())
    }
    /// Loads one table from a file in COPY text format; returns the number of rows.
    fn load(&self, table: &str, file: &Path) -> Result<u64>;
    /// After loading: statistics, and whatever the system would otherwise go on writing beside what is measured.
    fn finish_load(&self) -> Result<()>;
    /// Answers that the system itself has found to be wrong, where it looks.
    fn differences(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}

/// Which system to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Peer {
    /// PostgreSQL from the machine's packages.
    Postgres,
    /// MariaDB from the machine's packages.
    #[cfg(feature = "mariadb")]
    Mariadb,
}

/// Which system to run analytical workloads on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum AnalyticPeer {
    /// DuckDB from the Python registry.
    Duckdb,
    /// Hyper (`tableauhyperapi`) from the Python registry.
    Hyper,
    /// ClickHouse (`chdb`) from the Python registry.
    Clickhouse,
    /// DataFusion from the Python registry.
    Datafusion,
    /// PostgreSQL from the machine's packages.
    Postgres,
}

/// How to start a peer.
#[derive(Clone, Copy, Debug)]
pub struct PeerOptions<'a> {
    /// The Python that has the libraries; `None` for the usual one.
    pub python: Option<&'a Path>,
    /// How many cores it may use; `None` for all.
    pub cores: Option<usize>,
    /// How long an answer may take before the peer is given up.
    pub patience: Duration,
}

impl AnalyticPeer {
    /// Starts it with nothing in it under `folder`.
    pub fn start(self, folder: &Path, options: PeerOptions<'_>) -> Result<Box<dyn System>> {
        let library = match self {
            AnalyticPeer::Duckdb => Library::Duckdb,
            AnalyticPeer::Hyper => Library::Hyper,
            AnalyticPeer::Clickhouse => Library::Clickhouse,
            AnalyticPeer::Datafusion => Library::Datafusion,
            AnalyticPeer::Postgres => return Ok(Box::new(Postgres::start(folder, options)?)),
        };
        Ok(Box::new(Embedded::start(folder, library, options)?))
    }
}

impl Peer {
    /// Starts it with an empty data directory under `folder`.
    pub fn start(self, folder: &Path, options: PeerOptions<'_>) -> Result<Box<dyn System>> {
        Ok(match self {
            Peer::Postgres => Box::new(Postgres::start(folder, options)?),
            #[cfg(feature = "mariadb")]
            Peer::Mariadb => Box::new(Mariadb::start(folder, options)?),
        })
    }
}
