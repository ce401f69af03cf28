//! Analytical libraries from the Python registry, each in one Python process, all cores, data in its own fastest
//! storage.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::process::{Server, command, free_port, on_cores};
use super::{PeerOptions, System};
use crate::bookstore::schema::Dialect;
use crate::client::{Client, EmbeddedClient, Failure, PostgresClient, Request, Result};
use crate::dataset::{ColumnType, TableDefinition};

/// The program on the other side.
const PROGRAM: &str = include_str!("embedded.py");

/// Which library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// Native tables in memory.
    Duckdb,
    /// A `.hyper` file.
    Hyper,
    /// `chdb`: MergeTree tables.
    Clickhouse,
    /// Arrow batches in memory.
    Datafusion,
}

impl Library {
    fn argument(self) -> &'static str {
        match self {
            Library::Duckdb => "duckdb",
            Library::Hyper => "hyper",
            Library::Clickhouse => "clickhouse",
            Library::Datafusion => "datafusion",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Library::Duckdb => "DuckDB",
            Library::Hyper => "Hyper",
            Library::Clickhouse => "ClickHouse",
            Library::Datafusion => "DataFusion",
        }
    }
}

/// A running library.
pub struct Embedded {
    server: Server,
    address: SocketAddr,
    library: Library,
    version: String,
    /// For answers to queries; loading may take its time.
    patience: Duration,
    tables: parking_lot::Mutex<Vec<Value>>,
}

impl Embedded {
    /// Starts it under `folder`.
    pub fn start(folder: &Path, library: Library, options: PeerOptions<'_>) -> Result<Embedded> {
        let python = python(options.python)?;
        let folder = folder.join(library.argument());
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder)?;
        let program = folder.join("embedded.py");
        std::fs::write(&program, PROGRAM)?;
        let port = free_port()?;
        let mut command = command(python, None);
        command.arg(program).arg(library.argument()).arg(port.to_string()).arg(&folder);
        // Some write logs into the current folder.
        command.current_dir(&folder);
        let server = Server::start(&mut on_cores(command, options.cores), &folder.join("log"))?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut client = server.wait_for(|| EmbeddedClient::connect(address))?;
        let version = client.ask(Request::Version, "")?.text;
        let (patience, tables) = (options.patience, parking_lot::Mutex::new(Vec::new()));
        Ok(Embedded { server, address, library, version, patience, tables })
    }

    fn open(&self) -> Result<EmbeddedClient> {
        EmbeddedClient::connect(self.address)
    }
}

fn python(named: Option<&Path>) -> Result<PathBuf> {
    let python = std::path::absolute(named.map_or_else(usual_python, Path::to_path_buf))?;
    if python.exists() {
        return Ok(python);
    }
    let (place, how) = (python.display(), "scripts/install-bench-peers.sh sets it up");
    Err(Failure::without_state(format!("no Python interpreter with the peers at {place}: {how}")))
}

/// `$SHAREDDB_PEERS_PYTHON`, else what `scripts/install-bench-peers.sh` makes.
fn usual_python() -> PathBuf {
    let named = std::env::var_os("SHAREDDB_PEERS_PYTHON");
    named.map_or_else(|| PathBuf::from("target/peers/bin/python3"), PathBuf::from)
}

fn definition(table: &TableDefinition) -> Value {
    let columns = table.columns.iter().map(|(name, column_type)| match column_type {
        ColumnType::Integer => json!({"name": name, "type": "integer"}),
        ColumnType::BigInteger => json!({"name": name, "type": "biginteger"}),
        ColumnType::Text(length) => json!({"name": name, "type": "text", "length": length}),
        ColumnType::Decimal(precision, scale) => {
            json!({"name": name, "type": "decimal", "precision": precision, "scale": scale})
        }
        ColumnType::Date => json!({"name": name, "type": "date"}),
    });
    let columns: Vec<Value> = columns.collect();
    json!({"name": table.name, "columns": columns, "primary_key": table.primary_key})
}

impl System for Embedded {
    fn name(&self) -> &str {
        self.library.name()
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn describe(&self) -> String {
        format!("{}: in one process, all cores", self.version)
    }

    fn connect(&self) -> Result<Box<dyn Client>> {
        let mut client = self.open()?;
        client.give_up_after(self.patience)?;
        Ok(Box::new(client))
    }

    fn connect_postgres(&self) -> Option<Result<PostgresClient>> {
        None
    }

    fn server(&self) -> &Server {
        &self.server
    }

    fn create(&self, table: &TableDefinition) -> Result<()> {
        let definition = definition(table);
        self.open()?.ask(Request::CreateTable, &definition.to_string())?;
        self.tables.lock().push(definition);
        Ok(())
    }

    /// From a folder of files.
    fn load(&self, table: &str, folder: &Path) -> Result<u64> {
        let tables = self.tables.lock();
        let definition = tables.iter().find(|definition| definition["name"] == table);
        let request = json!({"table": definition, "folder": folder});
        let reply = self.open()?.ask(Request::LoadTable, &request.to_string())?;
        Ok(reply.rows as u64)
    }

    fn finish_load(&self) -> Result<()> {
        self.open()?.ask(Request::Loaded, "").map(drop)
    }
}
