//! SharedDB itself, as a separate process over the wire like everybody else.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::System;
use super::cpu::{tree_cpu_seconds, tree_resident_bytes};
use super::postgres::copy_file;
use super::process::{Server, free_port, on_cores};
use crate::bookstore::schema::Dialect;
use crate::client::{Client, PostgresClient, Result};

/// How to start it.
#[derive(Clone, Debug)]
pub struct SharedDbOptions {
    /// Whether queries run together (else `--no-sharing`).
    pub sharing: bool,
    /// Whether it logs to disk.
    pub durable: bool,
    /// The program; `None` for the usual one.
    pub program: Option<PathBuf>,
    /// Further arguments of `serve`.
    pub arguments: Vec<String>,
    /// What every connection sets first: `name = value`.
    pub settings: Vec<String>,
    /// Cores that it may use; `None` for all.
    pub cores: Option<usize>,
}

impl Default for SharedDbOptions {
    fn default() -> SharedDbOptions {
        SharedDbOptions {
            sharing: true,
            durable: true,
            program: None,
            arguments: Vec::new(),
            settings: Vec::new(),
            cores: None,
        }
    }
}

impl SharedDbOptions {
    /// The folder of its data below the one for all.
    pub fn folder_name(&self) -> &'static str {
        if self.sharing { "shareddb" } else { "shareddb-no-sharing" }
    }
}

/// A running SharedDB.
pub struct SharedDb {
    server: Server,
    address: SocketAddr,
    options: SharedDbOptions,
}

impl SharedDb {
    /// Starts the program as a durable server with its data under `folder`.
    pub fn start(folder: &Path, sharing: bool) -> Result<SharedDb> {
        SharedDb::start_with(folder, SharedDbOptions { sharing, ..SharedDbOptions::default() })
    }

    /// Starts the program; its data, if it keeps any, are under `folder`.
    pub fn start_with(folder: &Path, options: SharedDbOptions) -> Result<SharedDb> {
        let name = options.folder_name();
        let port = free_port()?;
        let mut command = match &options.program {
            Some(program) => Command::new(program),
            None => Command::new(program()?),
        };
        command.arg("serve");
        if options.durable {
            let data = folder.join(name);
            std::fs::create_dir_all(&data)?;
            command.arg("--data").arg(&data);
        }
        command.args(["--max-connections", "2200"]);
        command.args(["--listen", &format!("127.0.0.1:{port}")]);
        if !options.sharing {
            command.arg("--no-sharing");
        }
        command.args(&options.arguments);
        let mut command = on_cores(command, options.cores);
        let mut server = Server::start(&mut command, &folder.join(format!("{name}.log")))?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        server.wait_for(address)?;
        Ok(SharedDb { server, address, options })
    }

    fn open(&self) -> Result<PostgresClient> {
        let mut client = PostgresClient::connect(self.address, "shareddb", "shareddb")?;
        for setting in &self.options.settings {
            client.run(&format!("SET {setting}"))?;
        }
        Ok(client)
    }
}

/// The program to measure: `$SHAREDDB`, else this very program, or the one beside the driver.
fn program() -> Result<PathBuf> {
    if let Some(program) = std::env::var_os("SHAREDDB") {
        return Ok(program.into());
    }
    let own = std::env::current_exe()?;
    let is_driver = own.file_stem().is_some_and(|name| name == "shareddb-bench");
    Ok(if is_driver { own.with_file_name("shareddb") } else { own })
}

impl System for SharedDb {
    fn name(&self) -> &str {
        if self.options.sharing { "SharedDB" } else { "SharedDB, query at a time" }
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn describe(&self) -> String {
        let data = if self.options.durable { "--data" } else { "no log" };
        let sharing = if self.options.sharing { "shared" } else { "--no-sharing" };
        let more = self.options.arguments.join(" ");
        format!("SharedDB {}: {data}, {sharing} {more}", env!("CARGO_PKG_VERSION"))
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
        self.open()?.run("ANALYZE")
    }
}
