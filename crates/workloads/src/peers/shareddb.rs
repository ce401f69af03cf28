//! SharedDB itself, as a separate process over the wire like everybody else.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::System;
use super::postgres::copy_file;
use super::process::{Server, command, on_cores};
use crate::bookstore::schema::Dialect;
use crate::client::{Client, PostgresClient, Result};

/// Which batches share operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Those for which the server predicts a gain.
    Automatic,
    /// All.
    Always,
    /// None: query at a time.
    Never,
}

impl Sharing {
    /// What `serve` is told.
    fn argument(self) -> Option<&'static str> {
        match self {
            Sharing::Automatic => None,
            Sharing::Always => Some("--sharing=always"),
            Sharing::Never => Some("--no-sharing"),
        }
    }

    /// What a session sets.
    fn setting(self) -> &'static str {
        match self {
            Sharing::Automatic => "shareddb.sharing = automatic",
            Sharing::Always => "shareddb.sharing = always",
            Sharing::Never => "shareddb.sharing = never",
        }
    }
}

/// Which star queries are aggregated in packs whose tables fit a core's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Those for which the server predicts a gain.
    Automatic,
    /// All that a batch has several of.
    Always,
    /// None: full sharing.
    Never,
}

impl Packing {
    /// What `serve` is told.
    fn argument(self) -> Option<&'static str> {
        match self {
            Packing::Automatic => None,
            Packing::Always => Some("--packing=always"),
            Packing::Never => Some("--packing=never"),
        }
    }
}

/// How to start it.
#[derive(Clone, Debug)]
pub struct SharedDbOptions {
    /// Which batches share.
    pub sharing: Sharing,
    /// Which of their queries are packed.
    pub packing: Packing,
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
            sharing: Sharing::Automatic,
            packing: Packing::Automatic,
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
        match (self.sharing, self.packing) {
            (Sharing::Never, _) => "shareddb-no-sharing",
            (_, Packing::Never) => "shareddb-no-packing",
            (_, Packing::Always) => "shareddb-always-packing",
            (Sharing::Always, _) => "shareddb-always-sharing",
            (Sharing::Automatic, _) => "shareddb",
        }
    }
}

/// A running SharedDB.
pub struct SharedDb {
    server: Arc<Server>,
    address: SocketAddr,
    options: SharedDbOptions,
}

impl SharedDb {
    /// Starts the program as a durable server with its data under `folder`.
    pub fn start(folder: &Path, sharing: Sharing) -> Result<SharedDb> {
        SharedDb::start_with(folder, SharedDbOptions { sharing, ..SharedDbOptions::default() })
    }

    /// Starts the program; its data, if it keeps any, are under `folder`.
    pub fn start_with(folder: &Path, options: SharedDbOptions) -> Result<SharedDb> {
        let name = options.folder_name();
        let program = options.program.clone().map_or_else(usual_program, Ok)?;
        let mut command = command(program, None);
        command.arg("serve");
        if options.durable {
            let data = folder.join(name);
            std::fs::create_dir_all(&data)?;
            command.arg("--data").arg(&data);
        }
        command.args(["--max-connections", "2200"]);
        command.args(["--listen", "127.0.0.1:0"]);
        command.args(options.sharing.argument()).args(options.packing.argument());
        command.args(&options.arguments);
        let log = folder.join(format!("{name}.log"));
        let server = Server::start(&mut on_cores(command, options.cores), &log)?;
        let address = server.says(listens_on)?;
        server.wait_for(|| connect(address))?;
        Ok(SharedDb { server: Arc::new(server), address, options })
    }

    /// The same server, whose connections ask it to share in this way.
    pub fn asked_to(&self, sharing: Sharing) -> SharedDb {
        let mut options = SharedDbOptions { sharing, ..self.options.clone() };
        options.settings.push(sharing.setting().to_owned());
        SharedDb { server: self.server.clone(), address: self.address, options }
    }

    fn open(&self) -> Result<PostgresClient> {
        let mut client = connect(self.address)?;
        for setting in &self.options.settings {
            client.run(&format!("SET {setting}"))?;
        }
        Ok(client)
    }
}

fn connect(address: SocketAddr) -> Result<PostgresClient> {
    PostgresClient::connect(address, "shareddb", "shareddb")
}

/// Where the server says that it listens, once the whole line is there.
fn listens_on(said: &str) -> Option<SocketAddr> {
    let (_, after) = said.split_once(" listens on ")?;
    after.split_once('\n')?.0.trim().parse().ok()
}

/// The program to measure: `$SHAREDDB`, else this very program, or the one beside the driver.
fn usual_program() -> Result<PathBuf> {
    if let Some(program) = std::env::var_os("SHAREDDB") {
        return Ok(program.into());
    }
    let own = std::env::current_exe()?;
    let is_driver = own.file_stem().is_some_and(|name| name == "shareddb-bench");
    Ok(if is_driver { own.with_file_name("shareddb") } else { own })
}

impl System for SharedDb {
    fn name(&self) -> &str {
        match (self.options.sharing, self.options.packing) {
            (Sharing::Never, _) => "SharedDB, query at a time",
            (_, Packing::Never) => "SharedDB, full sharing",
            (_, Packing::Always) => "SharedDB, always packing",
            (Sharing::Always, _) => "SharedDB, always sharing",
            (Sharing::Automatic, _) => "SharedDB",
        }
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn describe(&self) -> String {
        let data = if self.options.durable { "--data" } else { "no log" };
        let sharing = self.options.sharing.argument().unwrap_or("shared");
        let packing = self.options.packing.argument().unwrap_or_default();
        let more = self.options.arguments.join(" ");
        format!("SharedDB {}: {data}, {sharing} {packing} {more}", env!("CARGO_PKG_VERSION"))
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
        client.run("ANALYZE")?;
        client.run("CHECKPOINT")
    }

    fn differences(&self) -> Result<Vec<String>> {
        let mut client = self.open()?;
        let counted = "SELECT activations FROM shareddb.verification WHERE outcome = ";
        let mut count = |outcome: &str| -> Result<i64> {
            let statement = client.prepare(&format!("{counted}'{outcome}'"))?;
            Ok(client.execute(statement, &[])?.integer(0, 0))
        };
        while count("waiting")? > 0 {
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(match count("differed")? {
            0 => Vec::new(),
            found => vec![format!(
                "{found} answers differ from another path's: see shareddb.differences"
            )],
        })
    }
}
