//! PostgreSQL from the machine's packages, tuned for data in memory.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::System;
use super::cpu::{tree_cpu_seconds, tree_resident_bytes};
use super::process::{Server, as_user, failure, free_port, on_cores, run};
use crate::bookstore::schema::Dialect;
use crate::client::{Client, PostgresClient, Result};

/// Everything in shared buffers, plans without JIT (it loses on queries of milliseconds), checkpoints out of
/// the way, one sync per commit (`synchronous_commit` stays on).
const SETTINGS: [(&str, &str); 14] = [
    ("shared_buffers", "8GB"),
    ("effective_cache_size", "16GB"),
    ("work_mem", "64MB"),
    ("maintenance_work_mem", "512MB"),
    ("max_connections", "1200"),
    ("max_wal_size", "16GB"),
    ("checkpoint_timeout", "30min"),
    ("random_page_cost", "1.1"),
    ("jit", "off"),
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
    ("max_parallel_workers_per_gather", "2"),
    ("fsync", "on"),
    ("synchronous_commit", "on"),
];

/// A running PostgreSQL.
pub struct Postgres {
    server: Server,
    address: SocketAddr,
    version: String,
    // Where the data lie until the run ends; declared last, so that the server ends first.
    _folder: PathBuf,
}

impl Postgres {
    /// Like [`Postgres::start`], after removing what an earlier run left, on so many cores (`None` for all).
    pub fn start_anew(folder: &Path, cores: Option<usize>) -> Result<Postgres> {
        let _ = std::fs::remove_dir_all(folder.join("postgres"));
        Postgres::start_on(folder, cores)
    }

    /// Initialises a cluster under `folder` and starts it.
    pub fn start(folder: &Path) -> Result<Postgres> {
        Postgres::start_on(folder, None)
    }

    fn start_on(folder: &Path, cores: Option<usize>) -> Result<Postgres> {
        let programs = programs()?;
        let data = folder.join("postgres");
        std::fs::create_dir_all(&data)?;
        give_to(&data, "postgres")?;
        let program = |name: &str| programs.join(name).to_string_lossy().into_owned();
        let mut initdb = as_user("postgres", &program("initdb"));
        let locale = ["--locale=C", "--encoding=UTF8", "--auth=trust", "--username=postgres"];
        run(initdb.arg("-D").arg(&data).args(locale))?;
        let port = free_port()?;
        let mut command = as_user("postgres", &program("postgres"));
        command.arg("-D").arg(&data).args(["-p", &port.to_string(), "-k", "", "-h", "127.0.0.1"]);
        for (name, value) in SETTINGS {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        let mut command = on_cores(command, cores);
        let mut server = Server::start(&mut command, &folder.join("postgres.log"))?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        server.wait_for(address)?;
        let version = run(Command::new(program("postgres")).arg("--version"))?.trim().to_owned();
        Ok(Postgres { server, address, version, _folder: data })
    }

    fn open(&self) -> Result<PostgresClient> {
        PostgresClient::connect(self.address, "postgres", "postgres")
    }
}

/// The newest installed PostgreSQL's programs.
fn programs() -> Result<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    folders.sort();
    let missing = || failure("PostgreSQL is not installed (apt-get install postgresql)".to_owned());
    folders.pop().ok_or_else(missing)
}

/// Makes `user` own a folder, where we may.
pub(super) fn give_to(folder: &Path, user: &str) -> Result<()> {
    let root = run(Command::new("id").arg("-u"))?.trim() == "0";
    if root {
        run(Command::new("chown").arg("-R").arg(user).arg(folder))?;
    }
    Ok(())
}

impl System for Postgres {
    fn name(&self) -> &str {
        "PostgreSQL"
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn describe(&self) -> String {
        let settings = SETTINGS.map(|(name, value)| format!("{name}={value}")).join(" ");
        format!("{}: {settings}", self.version)
    }

    fn connect(&self) -> Result<Box<dyn Client>> {
        Ok(Box::new(self.open()?))
    }

    fn connect_postgres(&self) -> Option<Result<PostgresClient>> {
        Some(self.open())
    }

    fn cpu_seconds(&self) -> f64 {
        tree_cpu_seconds(self.server.pid())
    }

    fn resident_bytes(&self) -> u64 {
        tree_resident_bytes(self.server.pid())
    }

    fn load(&self, table: &str, file: &Path) -> Result<u64> {
        copy_file(&mut self.open()?, table, file)
    }

    fn analyze(&self) -> Result<()> {
        self.open()?.run("VACUUM ANALYZE")
    }
}

/// `COPY table FROM STDIN` with the lines of a file.
pub(super) fn copy_file(client: &mut PostgresClient, table: &str, file: &Path) -> Result<u64> {
    use std::io::BufRead;
    let mut lines = std::io::BufReader::with_capacity(1 << 20, std::fs::File::open(file)?);
    client.copy_in(&format!("COPY {table} FROM STDIN"), |out| {
        matches!(lines.read_until(b'\n', out), Ok(1..))
    })
}
