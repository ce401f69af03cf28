//! A server process under test.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use workloads::client::{PostgresClient, Result};

/// A running `shareddb serve`; killed without mercy when dropped.
pub struct Server {
    process: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Server {
    /// Starts one and waits until it serves.
    pub fn start(data: Option<&Path>) -> Server {
        Server::start_with(data, &[])
    }

    /// Starts one with more options and waits until it serves.
    pub fn start_with(data: Option<&Path>, options: &[&str]) -> Server {
        let mut server = Server::spawn_with(data, options);
        server.wait();
        server
    }

    /// Starts one without waiting: it may still be recovering.
    pub fn spawn(data: Option<&Path>) -> Server {
        Server::spawn_with(data, &[])
    }

    fn spawn_with(data: Option<&Path>, options: &[&str]) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        drop(listener);
        let mut command = Command::new(env!("CARGO_BIN_EXE_shareddb"));
        command.arg("serve").args(["--listen", &address.to_string()]).args(options);
        if let Some(data) = data {
            command.arg("--data").arg(data);
        }
        let log =
            std::env::var("SHAREDDB_TEST_LOG").map_or_else(|_| Stdio::null(), |_| Stdio::inherit());
        let process = command.stdout(Stdio::null()).stderr(log).spawn().expect("the program runs");
        Server { process, address }
    }

    /// Waits until it serves.
    pub fn wait(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(self.address).is_err() {
            let ended = self.process.try_wait().expect("it is our child");
            assert!(ended.is_none(), "the server ended: {ended:?}");
            assert!(Instant::now() < deadline, "the server does not answer");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        self.process.kill().expect("it is our child");
        self.process.wait().expect("it is our child");
    }

    /// `kill`, and waits until it has ended.
    pub fn terminate(&mut self) {
        let asked = Command::new("kill").arg(self.id().to_string()).status();
        assert!(asked.is_ok_and(|status| status.success()), "it is our child");
        self.process.wait().expect("it is our child");
    }

    /// A connection.
    pub fn connect(&self) -> Result<PostgresClient> {
        PostgresClient::connect(self.address, "shareddb", "shareddb")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
