//! A server in this process, on a free port; in memory, if not told otherwise.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::env::STACK_BYTES;
use engine::heartbeat::{EngineOptions, HeldBack, Packing, Sharing};
use server::{Server, ServerOptions};
use sql::{Database, DatabaseOptions};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::raw::{Messages, Raw};
use crate::waiting::{HANG, eventually, joined};

/// A running server; stops when dropped.
pub struct Fixture {
    /// Where it listens.
    pub address: SocketAddr,
    /// As long as the server runs.
    database: Weak<Database>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Fixture {
    /// With the usual options.
    pub fn new() -> Fixture {
        Fixture::with(ServerOptions::default())
    }

    /// With others; `listen` is always a free local port.
    pub fn with(options: ServerOptions) -> Fixture {
        Fixture::start(options, None, Duration::ZERO)
    }

    /// With a response time for sessions that ask for no other.
    pub fn answering_within(response_time: Duration) -> Fixture {
        Fixture::start(ServerOptions::default(), None, response_time)
    }

    /// Over a folder that keeps what is committed.
    pub fn stored(folder: &Path) -> Fixture {
        Fixture::start(ServerOptions::default(), Some(folder.to_owned()), Duration::ZERO)
    }

    fn start(options: ServerOptions, data: Option<PathBuf>, response_time: Duration) -> Fixture {
        let (stop, stopped) = oneshot::channel::<()>();
        let (told, begun) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            runtime().block_on(async move {
                let options = ServerOptions { listen: "127.0.0.1:0".to_string(), ..options };
                let database = open(data, response_time);
                let known = Arc::downgrade(&database);
                let server = Server::bind(options, database).await.expect("binds");
                told.send((server.local_address(), known)).expect("the test waits");
                server.run(async { drop(stopped.await) }).await;
            });
        });
        let (address, database) = begun.recv_timeout(HANG).expect("the server starts");
        Fixture { address, database, stop: Some(stop), thread: Some(thread) }
    }

    /// A connection that was let in.
    pub fn connect(&self) -> Raw {
        Raw::connect(self.address)
    }

    /// A connection with a table `t (i integer PRIMARY KEY, s text)` of that many rows.
    pub fn with_rows(&self, rows: usize) -> Raw {
        let mut raw = self.connect();
        raw.run("CREATE TABLE t (i integer PRIMARY KEY, s text)");
        let lines: String = (0..rows).map(|i| format!("{i}\trow {i}\n")).collect();
        raw.query("COPY t FROM STDIN");
        assert_eq!(raw.read().tag, b'G');
        raw.message(b'd', lines.as_bytes());
        raw.message(b'c', b"");
        assert_eq!(raw.until_ready().tags(), "CZ");
        raw
    }

    /// Lets `ask` send so many statements, which then wait together: they run as one heartbeat when what this gives is dropped.
    /// Lanes that they make anew are not held.
    pub fn held_back(&self, waiting: usize, ask: impl FnOnce()) -> HeldBack {
        let held = self.database.upgrade().expect("it runs").engine().hold_back();
        ask();
        eventually("all wait in their lane", || (held.waiting() == waiting).then_some(()));
        held
    }

    /// How many wait for locks now.
    pub fn waiting_for_locks(&self) -> usize {
        self.database.upgrade().expect("it runs").engine().waiting_for_locks()
    }

    /// Begins to stop the server.
    pub fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until it has stopped.
    pub fn wait(&mut self) {
        if let Some(thread) = self.thread.take() {
            joined("the server ends in order", thread);
        }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.stop();
        if !std::thread::panicking() {
            self.wait();
        }
    }
}

fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder
        .worker_threads(2)
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// A database that keeps nothing.
pub fn database() -> Arc<Database> {
    open(None, Duration::ZERO)
}

fn open(data: Option<PathBuf>, response_time: Duration) -> Arc<Database> {
    let engine = EngineOptions {
        workers: 2,
        data,
        sharing: Sharing::Automatic,
        packing: Packing::Automatic,
        boarding: true,
        queue_limit: 10_000,
        memory_limit: 256 << 20,
    };
    let password_verifier = Some(server::password_verifier as fn(&str) -> String);
    let verification = sql::verification::VerificationOptions::default();
    let options = DatabaseOptions {
        engine,
        template_limit: 100,
        password_verifier,
        verification,
        response_time,
    };
    Database::open(options).expect("opens")
}
