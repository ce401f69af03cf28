//! The door: listens, accepts, and at the end sees everybody out.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::types::{Error, Result, SqlState};
use sql::Database;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::authentication::{Attempts, HostRules, Passwords};
use crate::clients::{Clients, StopLevel};
use crate::connection::{self, is_loopback};
use crate::door::Door;
use crate::tls::{Tls, TlsFiles};
use crate::turns::Asking;

/// How the server is set up.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// `host:port`; port 0 takes a free one.
    pub listen: String,
    /// Clients at once; one more gets 53300.
    pub max_connections: usize,
    /// Whether clients on this machine need no password.
    pub trust_loopback: bool,
    /// Rules that say who comes in from where and how, in the place of `trust_loopback`.
    pub hba: Option<PathBuf>,
    /// The password of the role `shareddb`; `None` leaves it as it is.
    pub password: Option<String>,
    /// The certificate for clients that ask for encryption; `None`: there is none.
    pub tls: Option<TlsFiles>,
    /// How long statements that are cancelled when the server stops may take to end: a commit or a definition that a write
    /// heartbeat has taken goes on.
    pub grace: Duration,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            listen: "127.0.0.1:7432".to_string(),
            max_connections: 2_000,
            trust_loopback: true,
            hba: None,
            password: None,
            tls: None,
            grace: Duration::from_secs(1),
        }
    }
}

/// Who may be at the door beyond the connection limit: to ask for a cancel, or to hear that there is no room.
const SPARE_GUESTS: usize = 128;

/// The pause after a failed accept: the process is out of file descriptors until somebody leaves.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Connections that may wait to be accepted; the system may allow fewer. Beyond it the system says nothing to a newcomer, who tries
/// again after a second.
const BACKLOG: u32 = 16_384;

/// Seconds of silence after which the system asks whether a client is still there.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// What all connections share.
#[derive(Debug)]
pub struct Shared {
    /// What they talk to.
    pub database: Arc<Database>,
    /// Who is connected.
    pub clients: Clients,
    /// Who may come in.
    pub passwords: Passwords,
    /// What encrypts connections, where somebody gave a certificate.
    pub tls: Option<Tls>,
    /// Who has not said yet who he is.
    pub door: Door,
    /// Who comes in from where and how.
    pub host_rules: Arc<HostRules>,
    /// Who has failed to prove a password.
    pub attempts: Attempts,
}

/// A server that listens and does not accept yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
    grace: Duration,
}

impl Server {
    /// Opens the port. Refuses an address that others can reach while nobody has a password.
    pub async fn bind(options: ServerOptions, database: Arc<Database>) -> Result<Server> {
        let tls = options.tls.as_ref().map(Tls::open).transpose()?;
        let passwords = Passwords::open(database.engine().clone()).await?;
        if let Some(password) = &options.password {
            passwords.set(password).await?;
        }
        database.refresh_rights();
        let host_rules = HostRules::open(options.hba.clone(), options.trust_loopback)?;
        let listener = listen(&options.listen).await?;
        let address = listener.local_addr().map_err(|error| io_error(&options.listen, error))?;
        let is_open = !is_loopback(address.ip()) || !options.trust_loopback;
        if is_open && !host_rules.has_file() && passwords.verifier(crate::USER).is_none() {
            return Err(no_password(address));
        }
        let clients = Clients::new(options.max_connections);
        let door = Door::new(options.max_connections + SPARE_GUESTS);
        let (host_rules, attempts) = (Arc::new(host_rules), Attempts::default());
        let shared = Shared { database, clients, passwords, tls, door, host_rules, attempts };
        Ok(Server { listener, shared: Arc::new(shared), grace: options.grace })
    }

    /// Where it listens.
    pub fn local_address(&self) -> SocketAddr {
        self.listener.local_addr().expect("a bound socket has an address")
    }

    /// The rules for hosts, to be read again when somebody asks for it.
    pub fn host_rules(&self) -> Arc<HostRules> {
        self.shared.host_rules.clone()
    }

    /// By which memory is got from those who have most.
    pub fn pressure(&self) -> Pressure {
        Pressure(self.shared.clone())
    }

    /// Serves until `stop` is ready; then cancels what runs and sends everybody away with 57P01.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let _asking = Asking::start(self.shared.database.clone());
        tokio::select! {
            () = self.accept_all() => {}
            () = stop => {}
        }
        let Server { listener, shared, grace, .. } = self;
        drop(listener);
        shared.clients.stop(StopLevel::Gentle);
        if !all_left(&shared.clients, grace).await {
            shared.clients.stop(StopLevel::Now);
            all_left(&shared.clients, Duration::from_secs(2)).await;
        }
    }

    async fn accept_all(&self) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => self.take_in(stream),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn take_in(&self, stream: TcpStream) {
        if let Err(error) = configure(&stream) {
            tracing::debug!(%error, "cannot configure a socket");
            return;
        }
        let shared = self.shared.clone();
        tokio::spawn(connection::serve(stream, shared));
    }
}

/// Gets memory from those who have most.
#[derive(Clone, Debug)]
pub struct Pressure(Arc<Shared>);

impl Pressure {
    /// Ends statements (53200) of the clients that have most, until they have `wanted` bytes together; who has less than `least` is
    /// left alone. Where that does not help within a second, their connections. Gives how many were ended.
    pub fn relieve(&self, wanted: usize, least: usize) -> usize {
        self.0.clients.relieve(wanted, least, Instant::now())
    }
}

fn configure(stream: &TcpStream) -> std::io::Result<()> {
    // An answer is one write: holding it back for more would only delay it.
    stream.set_nodelay(true)?;
    let keepalive = socket2::TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 6);
    socket2::SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

async fn listen(address: &str) -> Result<TcpListener> {
    let failed = |error| io_error(address, error);
    let mut last = std::io::Error::other("no such address");
    for found in tokio::net::lookup_host(address).await.map_err(failed)? {
        match listen_on(found) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(failed(last))
}

fn listen_on(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn io_error(address: &str, error: std::io::Error) -> Error {
    Error::new(SqlState::IoError, format!("cannot listen on {address}: {error}"))
}

fn no_password(address: SocketAddr) -> Error {
    let message = format!(
        "refusing to listen on {address}: clients there need a password, and role \"{}\" has none",
        crate::USER
    );
    let hint = "Give one with --password-file or the environment variable SHAREDDB_PASSWORD, \
                or listen on 127.0.0.1.";
    Error::new(SqlState::InvalidAuthorization, message).hint(hint)
}

async fn all_left(clients: &Clients, within: Duration) -> bool {
    let deadline = tokio::time::Instant::now() + within;
    while clients.count() > 0 {
        if tokio::time::Instant::now() >= deadline {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    true
}
