//! MariaDB from the machine's packages, tuned for data in memory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::postgres::give_to;
use super::process::{Server, command, free_port, on_cores, run};
use super::{PeerOptions, System};
use crate::bookstore::schema::{Dialect, TABLES};
use crate::client::{Client, MysqlClient, PostgresClient, Result};

/// Everything in the buffer pool, one sync per commit, no binary log, PostgreSQL's isolation level.
const SETTINGS: [&str; 11] = [
    "--innodb-buffer-pool-size=8G",
    "--innodb-log-file-size=4G",
    "--innodb-flush-log-at-trx-commit=1",
    "--skip-log-bin",
    "--max-connections=1200",
    "--thread-handling=pool-of-threads",
    "--transaction-isolation=READ-COMMITTED",
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_bin",
    "--query-cache-type=0",
    "--secure-file-priv=",
];

/// A running MariaDB.
pub struct Mariadb {
    server: Server,
    port: u16,
    version: String,
    patience: Duration,
    // Where the data lie until the run ends.
    _folder: PathBuf,
}

impl Mariadb {
    /// Initialises a data directory under `folder` and starts a server on it.
    pub fn start(folder: &Path, options: PeerOptions<'_>) -> Result<Mariadb> {
        let data = folder.join("mariadb");
        // An earlier run may have left one.
        let _ = std::fs::remove_dir_all(&data);
        std::fs::create_dir_all(&data)?;
        give_to(&data, "mysql")?;
        let directory = format!("--datadir={}", data.display());
        let mut install = command("mariadb-install-db", Some("mysql"));
        run(install.args(["--no-defaults", "--skip-test-db", &directory]))?;
        let users = data.join("users.sql");
        let grant = "CREATE OR REPLACE USER bench@'127.0.0.1';\n\
            GRANT ALL ON *.* TO bench@'127.0.0.1';\nCREATE DATABASE IF NOT EXISTS bookstore;\n";
        std::fs::write(&users, grant)?;
        let port = free_port()?;
        let mut server = command("mariadbd", Some("mysql"));
        server.args(["--no-defaults", &directory]).args(SETTINGS);
        server.arg(format!("--port={port}")).arg("--bind-address=127.0.0.1");
        server.arg(format!("--socket={}", data.join("socket").display()));
        server.arg(format!("--init-file={}", users.display()));
        let server =
            Server::start(&mut on_cores(server, options.cores), &folder.join("mariadb.log"))?;
        server.wait_for(|| connect(port, options.patience))?;
        let version = run(Command::new("mariadbd").arg("--version"))?.trim().to_owned();
        Ok(Mariadb { server, port, version, patience: options.patience, _folder: data })
    }

    fn open(&self) -> Result<MysqlClient> {
        connect(self.port, self.patience)
    }
}

fn connect(port: u16, patience: Duration) -> Result<MysqlClient> {
    MysqlClient::connect("127.0.0.1", port, "bench", "bookstore", patience)
}

impl System for Mariadb {
    fn name(&self) -> &str {
        "MariaDB"
    }

    fn dialect(&self) -> Dialect {
        Dialect::Mariadb
    }

    fn describe(&self) -> String {
        format!("{}: {}", self.version, SETTINGS.join(" "))
    }

    fn connect(&self) -> Result<Box<dyn Client>> {
        Ok(Box::new(self.open()?))
    }

    fn connect_postgres(&self) -> Option<Result<PostgresClient>> {
        None
    }

    fn server(&self) -> &Server {
        &self.server
    }

    fn load(&self, table: &str, file: &Path) -> Result<u64> {
        let mut client = self.open()?;
        client.run(&format!("LOAD DATA INFILE '{}' INTO TABLE {table}", file.display()))?;
        let count = client.prepare(&format!("SELECT COUNT(*) FROM {table}"))?;
        Ok(client.execute(count, &[])?.integer(0, 0) as u64)
    }

    fn finish_load(&self) -> Result<()> {
        self.open()?.run(&format!("ANALYZE TABLE {}", TABLES.join(", ")))
    }
}
