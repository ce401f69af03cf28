//! PostgreSQL from the machine's packages, tuned for data in memory.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::process::{Server, command, free_port, is_root, on_cores, run};
use super::{PeerOptions, System};
use crate::bookstore::schema::Dialect;
use crate::client::{Client, Failure, PostgresClient, Result};

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
    /// For answers, those to COPY and VACUUM as well.
    patience: Duration,
    // Where the data lie until the run ends; declared last, so that the server ends first.
    _folder: PathBuf,
}

impl Postgres {
    /// Initialises a cluster under `folder` and starts it.
    pub fn start(folder: &Path, options: PeerOptions<'_>) -> Result<Postgres> {
        let programs = programs()?;
        let data = folder.join("postgres");
        // An earlier run may have left one.
        let _ = std::fs::remove_dir_all(&data);
        std::fs::create_dir_all(&data)?;
        give_to(&data, "postgres")?;
        let program = |name: &str| programs.join(name).to_string_lossy().into_owned();
        let mut initdb = command(program("initdb"), Some("postgres"));
        let locale = ["--locale=C", "--encoding=UTF8", "--auth=trust", "--username=postgres"];
        run(initdb.arg("-D").arg(&data).args(locale))?;
        let port = free_port()?;
        let mut server = command(program("postgres"), Some("postgres"));
        server.arg("-D").arg(&data).args(["-p", &port.to_string(), "-k", "", "-h", "127.0.0.1"]);
        for (name, value) in SETTINGS {
            server.arg("-c").arg(format!("{name}={value}"));
        }
        let server =
            Server::start(&mut on_cores(server, options.cores), &folder.join("postgres.log"))?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        server.wait_for(|| connect(address))?;
        let version = run(Command::new(program("postgres")).arg("--version"))?.trim().to_owned();
        let patience = options.patience;
        Ok(Postgres { server, address, version, patience, _folder: data })
    }

    fn open(&self) -> Result<PostgresClient> {
        let mut client = connect(self.address)?;
        client.give_up_after(self.patience)?;
        Ok(client)
    }
}

fn connect(address: SocketAddr) -> Result<PostgresClient> {
    PostgresClient::connect(address, "postgres", "postgres")
}

/// The newest installed PostgreSQL's programs.
fn programs() -> Result<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    folders.sort();
    let missing = || {
        Failure::without_state(
            "PostgreSQL is not installed (apt-get install postgresql)".to_owned(),
        )
    };
    folders.pop().ok_or_else(missing)
}

/// Makes `user` own a folder, where we may.
pub(super) fn give_to(folder: &Path, user: &str) -> Result<()> {
    if is_root() {
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

    fn server(&self) -> &Server {
        &self.server
    }

    fn load(&self, table: &str, file: &Path) -> Result<u64> {
        copy_file(&mut self.open()?, table, file)
    }

    fn finish_load(&self) -> Result<()> {
        let mut client = self.open()?;
        client.run("VACUUM ANALYZE")?;
        client.run("CHECKPOINT")
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
