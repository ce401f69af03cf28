//! MariaDB from the machine's packages, tuned for data in memory.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::System;
use super::cpu::{tree_cpu_seconds, tree_resident_bytes};
use super::postgres::give_to;
use super::process::{Server, as_user, free_port, run};
use crate::bookstore::Scale;
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
    // Where the data lie until the run ends.
    _folder: PathBuf,
}

impl Mariadb {
    /// Initialises a data directory under `folder` and starts a server on it.
    pub fn start(folder: &Path, _scale: Scale) -> Result<Mariadb> {
        let data = folder.join("mariadb");
        std::fs::create_dir_all(&data)?;
        give_to(&data, "mysql")?;
        let directory = format!("--datadir={}", data.display());
        let mut install = as_user("mysql", "mariadb-install-db");
        run(install.args(["--no-defaults", "--skip-test-db", &directory]))?;
        let users = data.join("users.sql");
        let grant = "CREATE OR REPLACE USER bench@'127.0.0.1';\n\
            GRANT ALL ON *.* TO bench@'127.0.0.1';\nCREATE DATABASE IF NOT EXISTS bookstore;\n";
        std::fs::write(&users, grant)?;
        let port = free_port()?;
        let mut command = as_user("mysql", "mariadbd");
        command.args(["--no-defaults", &directory]).args(SETTINGS);
        command.arg(format!("--port={port}")).arg("--bind-address=127.0.0.1");
        command.arg(format!("--socket={}", data.join("socket").display()));
        command.arg(format!("--init-file={}", users.display()));
        let mut server = Server::start(&mut command, &folder.join("mariadb.log"))?;
        server.wait_for(SocketAddr::from(([127, 0, 0, 1], port)))?;
        let version = run(Command::new("mariadbd").arg("--version"))?.trim().to_owned();
        Ok(Mariadb { server, port, version, _folder: data })
    }

    fn open(&self) -> Result<MysqlClient> {
        MysqlClient::connect("127.0.0.1", self.port, "bench", "bookstore")
    }
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

    fn cpu_seconds(&self) -> f64 {
        tree_cpu_seconds(self.server.pid())
    }

    fn resident_bytes(&self) -> u64 {
        tree_resident_bytes(self.server.pid())
    }

    fn load(&self, table: &str, file: &Path) -> Result<u64> {
        let mut client = self.open()?;
        client.run(&format!("LOAD DATA INFILE '{}' INTO TABLE {table}", file.display()))?;
        let count = client.prepare(&format!("SELECT COUNT(*) FROM {table}"))?;
        Ok(client.execute(count, &[])?.integer(0, 0) as u64)
    }

    fn analyze(&self) -> Result<()> {
        self.open()?.run(&format!("ANALYZE TABLE {}", TABLES.join(", ")))
    }
}
