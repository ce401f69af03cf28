//! `shareddb serve`: opens the database, listens, and goes down in order.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::sql::session::response_time;
use ::sql::verification::{Share, VerificationOptions};
use ::sql::{Database, DatabaseOptions};
use clap::{Args, ValueEnum};
use engine::env::STACK_BYTES;
use engine::env::memory::{Account, Share as MemoryShare};
use engine::env::stalls::Watcher;
use engine::heartbeat::{EngineOptions, Packing, Sharing};
use server::{HostRules, Server, ServerOptions, TlsFiles};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{Failure, demo, memory};

/// Activations that may wait in one lane.
const QUEUE_LIMIT: usize = 100_000;

/// Templates in the cache: an application has dozens, and generated SQL must not push them out at once.
const TEMPLATE_LIMIT: usize = 8_192;

/// Files that are open beside connections.
const OTHER_FILES: u64 = 256;

/// For --help.
const EXAMPLES: &str = "\
Examples:
  shareddb serve --demo bookstore
  shareddb serve --data /var/lib/shareddb --memory 16GiB
  shareddb serve --listen 0.0.0.0:5432 --data db --password-file password --tls-certificate server.pem --tls-key server.key

Without --data everything is gone when the server stops. SIGTERM and SIGINT stop it in order, SIGHUP has it read the rules of
--hba again. Clients on this machine need no password unless --require-password or --hba says so.";

/// How to serve.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeOptions {
    /// Address and port; port 0 takes a free one, 0.0.0.0 listens on all addresses
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7432")]
    listen: String,
    /// Folder for log and checkpoints, made where it is not there; without it nothing is kept
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Which batches share operators; all but `automatic` is for comparison
    #[arg(long, value_enum, value_name = "WHEN", default_value = "automatic")]
    sharing: SharingChoice,
    /// The same as `--sharing never`
    #[arg(long, conflicts_with = "sharing")]
    no_sharing: bool,
    /// Which star queries are aggregated in packs whose tables fit a core's cache; all but `automatic` is for comparison
    #[arg(long, value_enum, value_name = "WHEN", default_value = "automatic")]
    packing: PackingChoice,
    /// Worker threads for heavy lanes [default: one per core]
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
    /// Clients at once; more are refused (53300)
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    max_connections: usize,
    /// What the process may take, tables included (512MiB, 16GiB; a number alone counts MiB); beyond it statements fail with
    /// 53200 [default: four fifths of the machine's memory]
    #[arg(long, value_name = "SIZE", value_parser = memory::size)]
    memory: Option<usize>,
    /// What tables, loads, writes, cursors, messages and plans may take of it at most, in percent of what is not kept free; what
    /// they have is in the table shareddb.memory [default: tables=86,loads=50,writes=25,cursors=25,messages=12,plans=12]
    #[arg(long, value_name = "SHARE=PERCENT,..", value_parser = memory::split)]
    memory_split: Option<MemorySplit>,
    /// What of it the intermediate results of one batch may take (as --memory) [default: five eighths by workers, at least a quarter or 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = memory::size)]
    batch_memory: Option<usize>,
    /// Share of all activations, from 0 to 1, whose answers are run again by another path and compared (see the tables
    /// shareddb.verification and shareddb.differences)
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0")]
    verify: Share,
    /// Answer XX001 in place of rows that another path does not give; verified answers wait until that is known
    #[arg(long)]
    verify_strict: bool,
    /// What --verify draws is the same with the same number [default: another draw each time]
    #[arg(long, value_name = "SEED")]
    verify_seed: Option<u64>,
    /// In what time answers are wanted where a session, its role or the database does not say otherwise, as shareddb.response_time
    /// (50ms, 1500us, 2s; a number alone counts milliseconds); 0: in whatever they take
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "0")]
    response_time: Duration,
    /// File with the password of the role `shareddb` (or: environment variable SHAREDDB_PASSWORD)
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Ask clients on this machine for a password, too
    #[arg(long)]
    require_password: bool,
    /// File of rules that say who comes in from where and how, like pg_hba.conf; read again at SIGHUP
    #[arg(long, value_name = "FILE", conflicts_with = "require_password")]
    hba: Option<PathBuf>,
    /// PEM file with the certificate for clients that ask for TLS, and those that lead to its authority
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// PEM file with the certificate's private key
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Load a demo after the start
    #[arg(long, value_name = "NAME")]
    demo: Option<Demo>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SharingChoice {
    /// Those that are predicted to cost less together than one by one
    Automatic,
    /// All
    Always,
    /// None: every query runs alone
    Never,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PackingChoice {
    /// Those that are predicted to cost less in packs than all together
    Automatic,
    /// All that a batch has several of
    Always,
    /// None: full sharing
    Never,
}

/// Percentages of shares; named, since the derive takes a bare `Vec` for an option that is given many times.
type MemorySplit = Vec<(MemoryShare, usize)>;

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Demo {
    /// Ten thousand books and what belongs to them
    Bookstore,
}

/// Serves until SIGTERM or SIGINT.
pub fn run(options: ServeOptions) -> Result<(), Failure> {
    crate::allocator::return_pages();
    make_room_for_connections(options.max_connections);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let account = engine::env::memory::process();
    account.set_limit(memory_limit(&options));
    for (share, percent) in options.memory_split.iter().flatten() {
        account.set_percent(*share, *percent);
    }
    let database = Database::open(database_options(&options, cores)).map_err(with_hint)?;
    refuse_larger_tables(account)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores)
        .thread_stack_size(STACK_BYTES)
        .thread_name("connections")
        .enable_all()
        .build()?;
    if let Err(error) = Watcher::start(database.engine().environment()) {
        tracing::warn!(%error, "nobody keeps watch over the threads' stalls");
    }
    let result = runtime.block_on(serve(&options, database.clone()));
    // Statements that did not finish in time end here: a commit still waits for the engine, nobody for a client.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    result?;
    if options.data.is_some() {
        checkpoint(&database)?;
    }
    println!("stopped");
    Ok(())
}

/// Each connection is an open file; some are left for the log and the others.
fn make_room_for_connections(connections: usize) {
    let files = engine::env::raise_open_files();
    if files < connections as u64 + OTHER_FILES {
        tracing::warn!(
            files,
            connections,
            "this process may not have as many files open as --max-connections allows clients"
        );
    }
}

/// Tables that recovery has brought back are there: the server starts with them, and refuses writes that make them larger, unless
/// not even they alone fit.
fn refuse_larger_tables(account: &Account) -> Result<(), Failure> {
    let (tables, limit) = (account.used(MemoryShare::Tables), account.limit());
    if tables <= account.nearly_full() {
        return Ok(());
    }
    Err(format!("the tables take {tables} bytes, more than --memory ({limit}) has room for").into())
}

/// The next start reads a checkpoint instead of a log. A failure loses nothing: the log has it all.
fn checkpoint(database: &Database) -> Result<(), Failure> {
    let (sender, receiver) = std::sync::mpsc::channel();
    database.engine().checkpoint(Box::new(move |outcome| drop(sender.send(outcome))));
    receiver.recv()?.map(drop).map_err(|error| format!("no last checkpoint: {error}").into())
}

fn database_options(options: &ServeOptions, cores: usize) -> DatabaseOptions {
    let workers = options.workers.unwrap_or(cores).max(1);
    DatabaseOptions {
        engine: EngineOptions {
            workers,
            data: options.data.clone(),
            sharing: sharing(options),
            packing: packing(options),
            boarding: true,
            queue_limit: QUEUE_LIMIT,
            memory_limit: batch_memory(options, workers),
        },
        template_limit: TEMPLATE_LIMIT,
        password_verifier: Some(server::password_verifier),
        verification: VerificationOptions {
            share: options.verify,
            is_strict: options.verify_strict,
            seed: options.verify_seed,
            executor: None,
        },
        response_time: options.response_time,
    }
}

fn share(text: &str) -> Result<Share, String> {
    let share = text.parse().ok().and_then(Share::new);
    share.ok_or_else(|| "not a number from 0 to 1".to_owned())
}

fn time(text: &str) -> Result<Duration, String> {
    response_time(text).ok_or_else(|| "not a time, as 50ms or 2s".to_owned())
}

/// Bytes that the process may take.
fn memory_limit(options: &ServeOptions) -> usize {
    options.memory.unwrap_or_else(memory::of_process)
}

/// Bytes that a batch may take.
fn batch_memory(options: &ServeOptions, workers: usize) -> usize {
    options.batch_memory.unwrap_or_else(|| memory::of_batch(memory_limit(options), workers))
}

fn sharing(options: &ServeOptions) -> Sharing {
    match options.sharing {
        _ if options.no_sharing => Sharing::Never,
        SharingChoice::Automatic => Sharing::Automatic,
        SharingChoice::Always => Sharing::Always,
        SharingChoice::Never => Sharing::Never,
    }
}

fn packing(options: &ServeOptions) -> Packing {
    match options.packing {
        PackingChoice::Automatic => Packing::Automatic,
        PackingChoice::Always => Packing::Always,
        PackingChoice::Never => Packing::Never,
    }
}

/// What to do about it on a line of its own.
fn with_hint(error: engine::types::Error) -> Failure {
    match &error.hint {
        Some(hint) => format!("{error}\n{hint}").into(),
        None => error.into(),
    }
}

async fn serve(options: &ServeOptions, database: Arc<Database>) -> Result<(), Failure> {
    let stop = Stop::new()?;
    let server = Server::bind(server_options(options)?, database).await.map_err(with_hint)?;
    memory::watch(server.pressure());
    let address = server.local_address();
    announce(options, address);
    if options.demo.is_some() {
        std::thread::spawn(move || demo::load(address));
    }
    let rules = server.host_rules();
    let reloading = tokio::spawn(reload_at_hangup(signal(SignalKind::hangup())?, rules));
    server.run(stop.wait()).await;
    reloading.abort();
    Ok(())
}

/// A file that is wrong changes nothing, and says so.
async fn reload_at_hangup(mut hangup: Signal, rules: Arc<HostRules>) {
    while hangup.recv().await.is_some() {
        match rules.reload() {
            Ok(()) => println!("rules for hosts: read again"),
            Err(error) => eprintln!("rules for hosts: {error}; those from before hold on"),
        }
    }
}

fn server_options(options: &ServeOptions) -> Result<ServerOptions, Failure> {
    Ok(ServerOptions {
        listen: options.listen.clone(),
        max_connections: options.max_connections,
        trust_loopback: !options.require_password,
        hba: options.hba.clone(),
        password: password(options)?,
        tls: tls_files(options),
        ..ServerOptions::default()
    })
}

/// Where the certificate and its key lie; the parser has seen to it that both are given or neither.
fn tls_files(options: &ServeOptions) -> Option<TlsFiles> {
    let (certificate, key) = options.tls_certificate.clone().zip(options.tls_key.clone())?;
    Some(TlsFiles { certificate, key })
}

/// The password, without the end of line that editors leave behind it.
fn password(options: &ServeOptions) -> Result<Option<String>, Failure> {
    let Some(file) = &options.password_file else {
        return Ok(std::env::var("SHAREDDB_PASSWORD").ok().filter(|text| !text.is_empty()));
    };
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        return Err(format!("{} holds no password", file.display()).into());
    }
    Ok(Some(password.to_string()))
}

fn announce(options: &ServeOptions, address: SocketAddr) {
    println!("SharedDB {} listens on {address}", env!("CARGO_PKG_VERSION"));
    match &options.data {
        Some(data) => println!("data: {}", data.display()),
        None => println!("data: none is kept; give --data DIR to keep it"),
    }
    let host = match address.ip() {
        ip if ip.is_unspecified() => "127.0.0.1".to_string(),
        ip => ip.to_string(),
    };
    println!("connect: psql -h {host} -p {} -U shareddb shareddb", address.port());
}

/// The signals that end the server.
struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    fn new() -> std::io::Result<Stop> {
        let terminate = signal(SignalKind::terminate())?;
        Ok(Stop { terminate, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn wait(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
